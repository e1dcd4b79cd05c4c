//! Handshakes that succeed, and those that don't.

use super::authority::{Authority, Files, connect};
use crate::listening::{Listening, check, closed, start, start_with, until};
use mancala::server::ServeError;
use mancala::wire::access::Access;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tonic_health::pb::health_client::HealthClient;

async fn encrypted(authority: &Authority) -> (Listening, Files) {
    let files = Files::new(&authority.issue(super::authority::NAME));
    let tls = files.settings(None);
    let server = start(|settings| {
        settings.tls = Some(tls);
        settings.connections.header_timeout = Duration::from_millis(300);
    })
    .await;
    (server, files)
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_served_and_another_refuses() {
    let authority = Authority::new();
    let (server, _files) = encrypted(&authority).await;
    let channel = connect(server.address, &authority, None).await.expect("a connection");
    check(&mut HealthClient::new(channel)).await.expect("an answer");

    connect(server.address, &Authority::new(), None).await.expect_err("another authority");
    until("it is counted", || server.counts.tls_failures.get() == 1).await;
    let foreign = Files::new(&authority.issue("another.example"));
    let tls = foreign.settings(None);
    let other = start(|settings| settings.tls = Some(tls)).await;
    connect(other.address, &authority, None).await.expect_err("another name");
}

#[tokio::test]
async fn a_plain_peer_of_an_encrypted_port_is_closed() {
    let (server, _files) = encrypted(&Authority::new()).await;
    let mut peer = server.peer().await;
    peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("it is taken");
    let said = closed(&mut peer).await;
    // A TLS alert, if anything.
    assert!(said.is_empty() || said[0] == 21, "{said:?}");
    assert_eq!(server.counts.tls_failures.get(), 1);
    assert_eq!(server.counts.silent.get(), 0);
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_closed() {
    let authority = Authority::new();
    let (server, _files) = encrypted(&authority).await;
    // Nothing, and the header of a record of which the rest does not come.
    for said in [&b""[..], &[22, 3, 1, 2, 0, 1]] {
        let before = server.counts.silent.get();
        let mut peer = server.peer().await;
        let start = Instant::now();
        peer.write_all(said).await.expect("it is taken");
        closed(&mut peer).await;
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(server.counts.silent.get(), before + 1);
    }
}

#[tokio::test]
async fn files_that_are_wrong_are_said() {
    let (one, other) = (Authority::new().issue("a.example"), Authority::new().issue("b.example"));
    let fault = async |change: &dyn Fn(&Files)| {
        let files = Files::new(&one);
        let tls = files.settings(Some(&Authority::new()));
        change(&files);
        match start_with(Access::open(), |settings| settings.tls = Some(tls)).await {
            Err(ServeError::Tls(error)) => error.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it runs"),
        }
    };
    let text = fault(&|files| std::fs::remove_file(files.path("server.key")).expect("a file")).await;
    assert!(text.contains("server.key can't be read"), "{text}");
    let text = fault(&|files| files.write("server.pem", &one.key)).await;
    assert!(text.contains("server.pem holds no certificate in PEM"), "{text}");
    let text = fault(&|files| files.write("server.key", "nothing")).await;
    assert!(text.contains("server.key holds no private key in PEM"), "{text}");
    let text = fault(&|files| files.write("server.key", &other.key)).await;
    assert!(text.contains("the certificate and its key can't be used"), "{text}");
    let text = fault(&|files| files.write("clients.pem", "")).await;
    assert!(text.contains("clients.pem holds no certificate in PEM"), "{text}");
}
