//! Certificates that are renewed while the server runs.

use super::authority::{Authority, Files, NAME, connect};
use crate::listening::{Listening, check, start, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tonic_health::pb::health_client::HealthClient;

async fn encrypted(files: &Files) -> Listening {
    let tls = files.settings(None);
    start(|settings| settings.tls = Some(tls)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_certificates_are_swapped() {
    let authority = Arc::new(Authority::new());
    let files = Files::new(&authority.issue(NAME));
    let server = encrypted(&files).await;
    let (over, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // One keeps its connection, the others take a new one for each call.
    let callers: Vec<_> = (0..4)
        .map(|number| {
            let (address, authority, over, calls) = (server.address, authority.clone(), over.clone(), calls.clone());
            tokio::spawn(async move {
                let mut kept = HealthClient::new(connect(address, &authority, None).await.expect("a connection"));
                while !over.load(Ordering::Relaxed) {
                    if number > 0 {
                        kept = HealthClient::new(connect(address, &authority, None).await.expect("a connection"));
                    }
                    check(&mut kept).await.expect("an answer");
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    until("calls are made", || calls.load(Ordering::Relaxed) > 4).await;
    for number in 1..=5 {
        let renewed = authority.issue(NAME);
        // The files are not replaced together; what doesn't fit is not taken over.
        files.write("server.pem", &renewed.certificate);
        files.write("server.key", &renewed.key);
        until("it is taken over", || server.counts.tls_reloads.get() == number).await;
        let before = calls.load(Ordering::Relaxed);
        until("calls go on", || calls.load(Ordering::Relaxed) > before + 20).await;
    }
    over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no failed call");
    }
    assert_eq!(server.counts.tls_failures.get(), 0);
}

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_open_ones_stay() {
    let (old, new) = (Authority::new(), Authority::new());
    let files = Files::new(&old.issue(NAME));
    let server = encrypted(&files).await;
    let mut kept = HealthClient::new(connect(server.address, &old, None).await.expect("a connection"));
    check(&mut kept).await.expect("an answer");
    let renewed = new.issue(NAME);
    files.write("server.key", &renewed.key);
    files.write("server.pem", &renewed.certificate);
    until("it is taken over", || server.counts.tls_reloads.get() == 1).await;
    connect(server.address, &old, None).await.expect_err("the old authority");
    connect(server.address, &new, None).await.expect("the new authority");
    check(&mut kept).await.expect("an answer on the open connection");
}

#[tokio::test]
async fn a_bad_one_changes_nothing_and_a_good_one_after_it_is_taken() {
    let authority = Authority::new();
    let good = authority.issue(NAME);
    let files = Files::new(&good);
    let server = encrypted(&files).await;
    let failures = &server.counts.tls_reload_failures;
    for (bad, number) in ["", "nonsense", &Authority::new().issue(NAME).certificate, &good.key].into_iter().zip(1..) {
        files.write("server.pem", bad);
        until("it is looked at", || failures.get() == number).await;
        connect(server.address, &authority, None).await.expect("the old one stays");
    }
    std::fs::remove_file(files.path("server.key")).expect("a file");
    until("it is looked at", || failures.get() == 5).await;
    connect(server.address, &authority, None).await.expect("the old one stays");
    assert_eq!(server.counts.tls_reloads.get(), 0);

    let renewed = authority.issue(NAME);
    files.write("server.pem", &renewed.certificate);
    files.write("server.key", &renewed.key);
    until("it is taken over", || server.counts.tls_reloads.get() == 1).await;
    connect(server.address, &authority, None).await.expect("a connection");
}
