//! `mancala backup` while the store is written: what was acknowledged before is in it, and a server runs on it.

use super::filled::{add_long, fails, folder_with_store, succeeds};
use super::form::by_form;
use super::program::Program;
use super::support::sandbox::text;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, CreateSessionRequest};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::transport::Channel;

type Client = SessionServiceClient<Channel>;

/// Versions of sessions that were acknowledged.
type Acknowledged = Arc<Mutex<BTreeMap<String, u32>>>;

/// Plays random games until it is told to stop, and notes what was acknowledged.
async fn play(mut client: Client, seed: u32, acknowledged: Acknowledged, stop: Arc<AtomicBool>) {
    for game in 0.. {
        let session_id = format!("live-{seed}-{game}");
        let request = CreateSessionRequest { game: "ayoayo".into(), session_id: session_id.clone(), ..Default::default() };
        client.create_session(request).await.expect("a session");
        acknowledged.lock().expect("no panic").insert(session_id.clone(), 1);
        for ply in 0..40 {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            let sample = proto::SampleMovesRequest { session_id: session_id.clone(), count: 1, seed: seed * 100 + ply };
            let Some(mv) = client.sample_moves(sample).await.expect("moves").into_inner().moves.pop() else { break };
            let request = proto::ApplyMoveRequest { session_id: session_id.clone(), r#move: Some(mv), ..Default::default() };
            let version = client.apply_move(request).await.expect("a move").into_inner().version;
            acknowledged.lock().expect("no panic").insert(session_id.clone(), version);
        }
    }
}

async fn version(client: &mut Client, session_id: &str) -> u32 {
    let request = proto::GetSessionRequest { session_id: session_id.to_owned(), version: None };
    client.get_session(request).await.expect("it is there").into_inner().session.expect("the session").version
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().expect("a name")).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_in_a_backup_of_a_store_that_is_written() {
    let (folder, path) = folder_with_store(100).await;
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).expect("a folder");
    let server = Program::serve(&path);
    let channel = server.channel().await;
    let (acknowledged, stop) = (Acknowledged::default(), Arc::new(AtomicBool::new(false)));
    let mut players = JoinSet::new();
    for seed in 0..8 {
        players.spawn(play(Client::new(channel.clone()), seed, acknowledged.clone(), stop.clone()));
    }
    let mut taken = Vec::new();
    let backups_taken = by_form(2, 50);
    for n in 0..backups_taken {
        // Each has more in it than the one before.
        let before = taken.last().map_or(0, |(_, before): &(_, BTreeMap<String, u32>)| before.values().sum());
        let expected = loop {
            let now = acknowledged.lock().expect("no panic").clone();
            if now.values().sum::<u32>() > before + 50 {
                break now;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let to = backups.join(format!("{n}.db"));
        let (from, file) = (path.clone(), to.clone());
        let said = tokio::task::spawn_blocking(move || succeeds(&["backup", "--store", text(&from), "--to", text(&file)]));
        let said = said.await.expect("no panic");
        assert!(said.starts_with("ok: ") && said.contains("checked"), "{said}");
        taken.push((to, expected));
    }
    stop.store(true, Ordering::SeqCst);
    players.join_all().await;
    server.stop();
    assert_eq!(names(&backups).len(), backups_taken, "nothing is left beside them");

    for (backup, expected) in taken {
        assert!(succeeds(&["verify", "--store", text(&backup)]).starts_with("ok: "));
        let server = Program::serve(&backup);
        let mut client = Client::new(server.channel().await);
        for (session_id, acknowledged) in expected {
            assert!(version(&mut client, &session_id).await >= acknowledged, "{session_id} was at {acknowledged}");
        }
        client.create_session(CreateSessionRequest { game: "gore".into(), ..Default::default() }).await.expect("it is written");
        server.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_for_its_owner_and_of_what_lies_in_the_log() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = folder_with_store(20).await;
    let to = folder.path().join("backup.db");
    // A server that was killed leaves its log beside the file.
    let server = Program::serve(&path);
    let mut client = Client::new(server.channel().await);
    let request = CreateSessionRequest { game: "gore".into(), session_id: "in-log".into(), ..Default::default() };
    client.create_session(request).await.expect("a session");
    drop(server);
    assert!(folder.path().join("store.db-wal").metadata().expect("a log").len() > 0);
    succeeds(&["backup", "--store", text(&path), "--to", text(&to)]);
    assert_eq!(to.metadata().expect("the backup").permissions().mode() & 0o777, 0o600);
    let count = "SELECT count(*) FROM sessions WHERE session_id = 'in-log'";
    let backup = Connection::open(&to).expect("the backup");
    assert_eq!(backup.query_row(count, [], |row| row.get(0)), Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_gives_no_backup() {
    let (folder, path) = folder_with_store(0).await;
    add_long(&path, "long", 500).await;
    let to = folder.path().join("backup.db");
    std::fs::write(&to, "what was there before").expect("a file");
    let mut bytes = std::fs::read(&path).expect("the store");
    // The header stays, and so do the pages with the tables' names.
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    std::fs::write(&path, bytes).expect("damaged");
    let said = fails(&["backup", "--store", text(&path), "--to", text(&to), "--overwrite"], 1);
    assert!(said.contains("is damaged") && said.contains("restore an older backup"), "{said}");
    assert_eq!(std::fs::read_to_string(&to).expect("the file"), "what was there before");
    assert!(names(folder.path()).iter().all(|name| !name.ends_with(".partial")));
}
