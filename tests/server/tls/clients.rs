//! Clients that show certificates.

use super::authority::{Authority, Files, Issued, NAME, connect};
use crate::listening::{Listening, PATIENCE, check, start_with, until};
use mancala::service::{Secret, Sessions, SystemClock};
use mancala::store::sqlite::{Options, SqliteStore};
use mancala::wire::access::Access;
use mancala::wire::proto::VerifyRecordRequest;
use mancala::wire::proto::rules_service_client::RulesServiceClient;
use std::collections::BTreeMap;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

struct Guarded {
    servers: Authority,
    clients: Authority,
    server: Listening,
    key: String,
    _files: (Files, TempDir),
}

/// A server in token mode that asks for certificates; ops.example is an operator's.
async fn guarded(optional: bool) -> Guarded {
    let (servers, clients) = (Authority::new(), Authority::new());
    let files = Files::new(&servers.issue(NAME));
    let mut tls = files.settings(Some(&clients));
    tls.client_optional = optional;
    tls.operators = vec!["ops.example".to_owned()];
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("games.db"), Options::default()).expect("a store");
    let sessions = Sessions::new(Arc::new(store), Arc::new(SystemClock::default()), 8);
    let secret = Secret::new_token();
    let access = Access::tokens(BTreeMap::from([("ops".to_owned(), secret.hash())]), sessions);
    let server = start_with(access, |settings| settings.tls = Some(tls)).await.expect("a server");
    Guarded { servers, clients, server, key: secret.operator_key("ops"), _files: (files, folder) }
}

impl Guarded {
    async fn channel(&self, shown: Option<&Issued>) -> Result<Channel, tonic::transport::Error> {
        connect(self.server.address, &self.servers, shown).await
    }

    /// What a client with this certificate gets for an operator's call.
    async fn operate(&self, shown: Option<&Issued>, token: Option<&str>) -> Result<(), Status> {
        let mut rules = RulesServiceClient::new(self.channel(shown).await.expect("a connection"));
        let mut request = Request::new(VerifyRecordRequest::default());
        if let Some(token) = token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a value"));
        }
        rules.verify_record(request).await.map(|_| ())
    }
}

fn reason(answer: Result<(), Status>) -> String {
    answer.map_or_else(|status| status.get_details_error_info().expect("a reason").reason, |()| "OK".to_owned())
}

/// Whether a client with this certificate is served at all. In TLS 1.3 it learns only by its first call that it is not.
async fn is_served(guarded: &Guarded, shown: Option<&Issued>) -> bool {
    let Ok(channel) = guarded.channel(shown).await else { return false };
    timeout(PATIENCE, check(&mut HealthClient::new(channel))).await.expect("an end in time").is_ok()
}

#[tokio::test]
async fn certificates_are_required_and_of_that_authority() {
    let guarded = guarded(false).await;
    assert!(is_served(&guarded, Some(&guarded.clients.issue("anyone.example"))).await);
    assert_eq!(guarded.server.counts.tls_failures.get(), 0);
    assert!(!is_served(&guarded, None).await, "no certificate");
    assert!(!is_served(&guarded, Some(&Authority::new().issue("ops.example"))).await, "one of another authority");
    assert!(!is_served(&guarded, Some(&guarded.servers.issue("ops.example"))).await, "one of the server's authority");
    // A client may try more than once.
    until("they are counted", || guarded.server.counts.tls_failures.get() >= 3).await;
}

#[tokio::test]
async fn where_they_are_optional_a_wrong_one_is_still_refused() {
    let guarded = guarded(true).await;
    assert!(is_served(&guarded, None).await);
    assert!(is_served(&guarded, Some(&guarded.clients.issue("anyone.example"))).await);
    assert!(!is_served(&guarded, Some(&Authority::new().issue("ops.example"))).await);
}

#[tokio::test]
async fn a_certificate_of_an_operators_name_is_an_operators() {
    let guarded = guarded(true).await;
    let operator = guarded.clients.issue("ops.example");
    assert_eq!(reason(guarded.operate(Some(&operator), None).await), "OK");
    for other in ["anyone.example", "sub.ops.example", "ops.example.evil.example"] {
        let answer = guarded.operate(Some(&guarded.clients.issue(other)), None).await;
        assert_eq!(reason(answer), "TOKEN_MISSING", "{other}");
    }
    assert_eq!(reason(guarded.operate(None, None).await), "TOKEN_MISSING");
    // A token is looked at all the same.
    assert_eq!(reason(guarded.operate(None, Some(&guarded.key)).await), "OK");
    assert_eq!(reason(guarded.operate(Some(&operator), Some("nonsense")).await), "TOKEN_MALFORMED");
}
