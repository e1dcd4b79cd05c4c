//! A full file table.

use crate::listening::{closed, start, until};
use crate::sandbox::{again, assert_passed, inside};
use std::fs::File;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

#[test]
fn a_full_file_table_makes_the_server_pause_and_go_on() {
    let test = "connections::descriptors::a_full_file_table_makes_the_server_pause_and_go_on";
    if inside(test) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        return runtime.block_on(with_a_full_table());
    }
    assert_passed(test, &again(test, &["env"]).output().expect("this test again"));
}

async fn with_a_full_table() {
    rlimit::setrlimit(rlimit::Resource::NOFILE, 64, 64).expect("a limit");
    let server = start(|_| {}).await;
    let client = TcpSocket::new_v4().expect("a socket");
    let table: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!((1..64).contains(&table.len()));

    let mut client = client.connect(server.address).await.expect("the system takes it");
    until("accepting fails", || server.counts.back_offs.get() > 0).await;
    let before = server.counts.back_offs.get();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let pauses = server.counts.back_offs.get() - before;
    assert!((5..=20).contains(&pauses), "{pauses} pauses in a second");
    assert_eq!(server.counts.accepted.get(), 0);

    drop(table);
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("a request");
    assert!(closed(&mut client).await.starts_with(b"HTTP/1.1 426"));
}

#[test]
fn connections_are_as_many_as_descriptors_hold() {
    let test = "connections::descriptors::connections_are_as_many_as_descriptors_hold";
    if inside(test) {
        rlimit::setrlimit(rlimit::Resource::NOFILE, 300, 1_000).expect("a limit");
        assert_eq!(mancala::server::connections_that_fit(10_000), 1_000 - 256);
        assert_eq!(mancala::server::connections_that_fit(100), 100);
        assert_eq!(rlimit::getrlimit(rlimit::Resource::NOFILE).expect("a limit").0, 1_000, "it is raised");
        return;
    }
    assert_passed(test, &again(test, &["env"]).output().expect("this test again"));
}
