//! The program on a disk that fills up: it says so, goes on reading, recovers by itself, and loses nothing.

#![cfg(all(feature = "server", target_os = "linux"))]

#[path = "support/program.rs"]
mod program;
// Another test uses the rest of it.
#[allow(dead_code)]
#[path = "support/sandbox.rs"]
mod sandbox;

use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, event::Body};
use program::Program;
use sandbox::{mount_small_disk, with_own_mounts};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

const SERVICES: [&str; 3] = ["", "mancala.v1.RulesService", "mancala.v1.SessionService"];
const PATIENCE: Duration = Duration::from_secs(30);

/// A move as it is acknowledged and stored.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    version: u32,
    request_id: String,
    position: String,
}

/// A client that remembers what was acknowledged.
struct Player {
    sessions: SessionServiceClient<Channel>,
    health: HealthClient<Channel>,
    session_id: String,
    version: u32,
    /// Of each acknowledged move, and the position after it.
    acknowledged: Vec<Played>,
}

impl Player {
    async fn join(program: &Program) -> Player {
        let channel = program.channel().await;
        let mut sessions = SessionServiceClient::new(channel.clone());
        // Offers that are declined for ever, so that there is always another move.
        let guards = proto::Guards { repetition: Some(0), quiet: Some(0), max_plies: Some(0) };
        let request = proto::CreateSessionRequest {
            game: "gore".to_owned(),
            position: POSITION.to_owned(),
            guards: Some(guards),
            ..Default::default()
        };
        let made = sessions.create_session(request).await.expect("a session").into_inner().session.expect("a session");
        let (session_id, health) = (made.session_id, HealthClient::new(channel));
        Player { sessions, health, session_id, version: made.version, acknowledged: Vec::new() }
    }

    /// Plays one move, with the request id that a client would repeat.
    async fn play(&mut self) -> Result<(), Status> {
        let listed = proto::ListLegalMovesRequest { session_id: self.session_id.clone() };
        let mv = self.sessions.list_legal_moves(listed).await?.into_inner().moves.pop().expect("a legal move");
        let request_id = format!("move-{}", self.version);
        let request = proto::ApplyMoveRequest {
            session_id: self.session_id.clone(),
            r#move: Some(mv),
            expected_version: Some(self.version),
            request_id: request_id.clone(),
            ..Default::default()
        };
        let reply = self.sessions.apply_move(request).await?.into_inner();
        assert_eq!(reply.version, self.version + 1, "one move after the other");
        self.version = reply.version;
        self.acknowledged.push(Played { version: reply.version, request_id, position: reply.position });
        Ok(())
    }

    async fn stored(&mut self) -> Vec<Played> {
        let mut stored = Vec::new();
        let mut after_version = 0;
        loop {
            let request = proto::ListEventsRequest { session_id: self.session_id.clone(), after_version, ..Default::default() };
            let page = self.sessions.list_events(request).await.expect("reads go on").into_inner();
            after_version = page.events.last().map_or(after_version, |event| event.version);
            stored.extend(page.events.into_iter().filter_map(|event| match event.body {
                Some(Body::MovePlayed(played)) => {
                    Some(Played { version: event.version, request_id: event.request_id, position: played.position })
                }
                _ => None,
            }));
            if after_version == page.version {
                return stored;
            }
        }
    }

    async fn status(&mut self, service: &str) -> ServingStatus {
        let request = HealthCheckRequest { service: service.to_owned() };
        self.health.check(request).await.expect("health answers").into_inner().status()
    }

    /// Waits until health says this of a service.
    async fn until(&mut self, service: &str, expected: ServingStatus) {
        let request = HealthCheckRequest { service: service.to_owned() };
        let mut watch = self.health.watch(request).await.expect("a stream").into_inner();
        let becomes = async { while watch.message().await.expect("no error").expect("a message").status() != expected {} };
        tokio::time::timeout(PATIENCE, becomes).await.unwrap_or_else(|_| panic!("{service:?} did not become {expected:?}"));
    }
}

/// Both seats can pay for offers here, and the last legal move is always to offer, or to decline.
const POSITION: &str = "gore 1,0,0,0/0,3,0,0 22-22 S sow";

/// Takes all the room that is left.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).expect("a file");
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

#[test]
fn a_full_disk_is_told_and_survived() {
    with_own_mounts("a_full_disk_is_told_and_survived", || {
        let folder = TempDir::new().expect("a folder");
        let _mounted = mount_small_disk(folder.path(), 4096);
        let (store, ballast) = (folder.path().join("store.db"), folder.path().join("ballast"));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let program = Program::serve(&store);
            let mut player = Player::join(&program).await;
            for _ in 0..20 {
                player.play().await.expect("there is room");
            }
            for round in 0..2 {
                fill(&ballast);
                let refused = loop {
                    if let Err(status) = player.play().await {
                        break status;
                    }
                };
                let reason = refused.get_details_error_info().expect("a reason").reason;
                let told = (refused.code(), reason.as_str());
                assert_eq!(told, (Code::ResourceExhausted, "STORE_FULL"), "round {round}: {refused:?}");
                for service in SERVICES {
                    player.until(service, ServingStatus::NotServing).await;
                    assert_eq!(player.status(service).await, ServingStatus::NotServing);
                }
                assert_eq!(player.stored().await, player.acknowledged, "what was refused is absent");

                fs::remove_file(&ballast).expect("it is there");
                for service in SERVICES {
                    player.until(service, ServingStatus::Serving).await;
                    assert_eq!(player.status(service).await, ServingStatus::Serving);
                }
                for _ in 0..20 {
                    player.play().await.expect("there is room again");
                }
            }
            program.stop();

            let program = Program::serve(&store);
            player.sessions = SessionServiceClient::new(program.channel().await);
            assert_eq!(player.stored().await, player.acknowledged, "nothing is lost, nothing is there twice");
            assert!(player.acknowledged.len() >= 60);
            program.stop();
        });
    });
}
