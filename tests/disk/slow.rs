//! A disk that is slow, or stands still. Calls end in time all the same, and what was not answered in time happens once.

use super::form::by_form;
use super::players::{make_tables, play};
use super::power_cut::block_on;
use super::program::Program;
use super::support::sandbox::{build_preload, text};
use mancala::wire::proto::ListSessionsRequest;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;

const DEADLINE: Duration = Duration::from_millis(500);

/// How long fsync takes, and how long it is so slow.
const SLOW: [(u64, Duration); 4] = [
    (100, Duration::from_millis(1_000)),
    (300, Duration::from_millis(1_000)),
    (1_000, Duration::from_millis(2_500)),
    (10_000, Duration::from_millis(1_000)),
];

#[test]
fn calls_end_in_time_and_nothing_is_doubled() {
    let folder = TempDir::new().expect("a folder");
    let library = build_preload("slow_fsync", folder.path());
    let (store, milliseconds) = (folder.path().join("store.db"), folder.path().join("milliseconds"));
    let program = Program::serve_with(&store, &[("LD_PRELOAD", text(&library)), ("SLOW_FSYNC", text(&milliseconds))]);
    block_on(async {
        let mut tables = make_tables(&program, 8, None).await;
        for _ in 0..by_form(1, 20) {
            let (stop, stopped) = watch::channel(false);
            let slow = async {
                for (each, length) in SLOW {
                    fs::write(&milliseconds, each.to_string()).expect("a file");
                    tokio::time::sleep(length).await;
                    // Those who only read don't wait for those who write.
                    let mut sessions = SessionServiceClient::new(program.channel().await);
                    let list = sessions.list_sessions(ListSessionsRequest::default());
                    let listed = tokio::time::timeout(Duration::from_secs(2), list).await.expect("a list in time");
                    assert_eq!(listed.expect("a list").into_inner().sessions.len(), 8);
                }
                fs::remove_file(&milliseconds).expect("it is there");
                stop.send_replace(true);
            };
            let (played, ()) = tokio::join!(play(&program, tables, DEADLINE, stopped), slow);
            let (after, met) = played;
            tables = after;
            report!("refusals {:?}, calls ended {:?} after their deadline at most", met.refusals, met.beyond);
            assert!(met.beyond <= by_form(Duration::from_millis(500), Duration::from_millis(100)), "{met:?}");
            assert!(met.refusals.contains_key("DEADLINE_EXCEEDED"), "it was slow: {met:?}");
            for table in &tables {
                table.audit(&program).await;
            }
        }
        program.stop();
        let program = Program::serve(&store);
        for table in &tables {
            table.audit(&program).await;
        }
        program.stop();
    });
}
