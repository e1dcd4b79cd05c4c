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
use tonic::Request;

/// The program's limit on a call.
const DEADLINE: Duration = Duration::from_secs(1);
const LIMITED: (&str, &str) = ("MANCALA_SERVER__REQUEST_TIMEOUT", "1s");

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
    let slow = [("LD_PRELOAD", text(&library)), ("SLOW_FSYNC", text(&milliseconds)), LIMITED];
    let program = Program::serve_with(&store, &slow);
    block_on(async {
        let mut tables = make_tables(&program, 8, None).await;
        for _ in 0..by_form(1, 20) {
            let (stop, stopped) = watch::channel(false);
            let slow = async {
                for (each, length) in SLOW {
                    fs::write(&milliseconds, each.to_string()).expect("a file");
                    tokio::time::sleep(length).await;
                    // Those who only read don't wait for those who write, who by now may have to wait for ten seconds.
                    let mut sessions = SessionServiceClient::new(program.channel().await);
                    let mut list = Request::new(ListSessionsRequest::default());
                    list.set_timeout(by_form(Duration::from_secs(6), Duration::from_secs(2)));
                    let listed = sessions.list_sessions(list).await.expect("a list in time");
                    assert_eq!(listed.into_inner().sessions.len(), 8);
                }
                fs::remove_file(&milliseconds).expect("it is there");
                stop.send_replace(true);
            };
            let (played, ()) = tokio::join!(play(&program, tables, stopped), slow);
            let (after, met) = played;
            tables = after;
            report!("refusals {:?}, the longest call took {:?}", met.refusals, met.longest);
            assert!(met.longest <= DEADLINE + by_form(Duration::from_secs(2), Duration::from_millis(100)), "{met:?}");
            assert_eq!(Vec::from_iter(met.refusals.keys()), ["DEADLINE_EXCEEDED"], "it was slow, and nothing else");
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
