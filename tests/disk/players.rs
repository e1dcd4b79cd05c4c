//! Players of a program, each in a session of its own, who go on whatever happens: what is refused or not answered in time is
//! repeated, with the same request id, until it is acknowledged.

use super::program::Program;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, event::Body};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

/// Far longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Both seats can pay for offers here, and the last legal move is always to offer, or to decline: the game never ends.
const POSITION: &str = "gore 1,0,0,0/0,3,0,0 22-22 S sow";

/// A move as it is acknowledged, and as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    version: u32,
    request_id: String,
    position: String,
}

/// A session and what was acknowledged of it.
#[derive(Debug, Clone)]
pub struct Table {
    pub session_id: String,
    pub acknowledged: Vec<Played>,
}

/// What the players met.
#[derive(Debug, Default)]
pub struct Met {
    /// Why requests were not acknowledged, and how often.
    pub refusals: BTreeMap<String, usize>,
    /// The longest that a call has taken.
    pub longest: Duration,
}

/// Plays at all tables until it is told to stop. Calls end when the program ends them: a deadline of the client's would only show
/// that clients keep to it.
pub async fn play(program: &Program, tables: Vec<Table>, stop: watch::Receiver<bool>) -> (Vec<Table>, Met) {
    let mut players = JoinSet::new();
    for mut table in tables {
        let (channel, stop) = (program.channel().await, stop.clone());
        players.spawn(async move {
            let mut met = Met::default();
            while !*stop.borrow() {
                table.play_one(&mut SessionServiceClient::new(channel.clone()), &mut met).await;
            }
            (table, met)
        });
    }
    let (mut tables, mut all) = (Vec::new(), Met::default());
    for (table, met) in players.join_all().await {
        tables.push(table);
        all.longest = all.longest.max(met.longest);
        for (reason, times) in met.refusals {
            *all.refusals.entry(reason).or_default() += times;
        }
    }
    (tables, all)
}

/// Makes new tables, with this clock for both seats if there is one.
pub async fn make_tables(program: &Program, tables: usize, clock: Option<proto::ClockSetting>) -> Vec<Table> {
    let mut sessions = SessionServiceClient::new(program.channel().await);
    let mut made = Vec::new();
    for _ in 0..tables {
        let guards = proto::Guards { repetition: Some(0), quiet: Some(0), max_plies: Some(0) };
        let request = proto::CreateSessionRequest {
            game: "gore".to_owned(),
            position: POSITION.to_owned(),
            guards: Some(guards),
            clock,
            ..Default::default()
        };
        let session = sessions.create_session(request).await.expect("a session").into_inner().session.expect("a session");
        made.push(Table { session_id: session.session_id, acknowledged: Vec::new() });
    }
    made
}

impl Table {
    fn version(&self) -> u32 {
        self.acknowledged.last().map_or(1, |last| last.version)
    }

    /// Plays one move, which is repeated until it is acknowledged.
    async fn play_one(&mut self, sessions: &mut SessionServiceClient<Channel>, met: &mut Met) {
        let begun = Instant::now();
        let listed = proto::ListLegalMovesRequest { session_id: self.session_id.clone() };
        let mv = loop {
            match timed(sessions.list_legal_moves(listed.clone()), met).await {
                Ok(listed) => break listed.into_inner().moves.pop().expect("a legal move"),
                Err(status) => met.refused(&status, begun),
            }
        };
        let request_id = format!("move-{}", self.version());
        let request = proto::ApplyMoveRequest {
            session_id: self.session_id.clone(),
            r#move: Some(mv),
            expected_version: Some(self.version()),
            request_id: request_id.clone(),
            ..Default::default()
        };
        loop {
            match timed(sessions.apply_move(request.clone()), met).await {
                Ok(reply) => {
                    let proto::ApplyMoveResponse { version, position, .. } = reply.into_inner();
                    assert_eq!(version, self.version() + 1, "one move after the other");
                    return self.acknowledged.push(Played { version, request_id, position });
                }
                Err(status) => met.refused(&status, begun),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What a program has stored must be what was acknowledged, and its times must never go back.
    pub async fn audit(&self, program: &Program) {
        let mut sessions = SessionServiceClient::new(program.channel().await);
        let (mut after_version, mut stored, mut time) = (0, Vec::new(), (0, 0));
        loop {
            let request = proto::ListEventsRequest { session_id: self.session_id.clone(), after_version, ..Default::default() };
            let page = sessions.list_events(request).await.expect("reads go on").into_inner();
            after_version = page.events.last().map_or(after_version, |event| event.version);
            for event in page.events {
                let now = event.time.map(|time| (time.seconds, time.nanos)).expect("a time");
                assert!(now >= time, "event {} of {} is older than the one before it", event.version, self.session_id);
                time = now;
                if let Some(Body::MovePlayed(played)) = event.body {
                    stored.push(Played { version: event.version, request_id: event.request_id, position: played.position });
                }
            }
            if after_version == page.version {
                break;
            }
        }
        assert_eq!(stored, self.acknowledged, "nothing is lost, nothing is there twice");
    }
}

impl Met {
    /// Takes in why a request was not acknowledged, which must be a reason to repeat it, though not for ever.
    fn refused(&mut self, status: &Status, begun: Instant) {
        let reason = status.get_details_error_info().map_or_else(|| format!("{:?}", status.code()), |info| info.reason);
        let passes = [Code::Unavailable, Code::ResourceExhausted, Code::DeadlineExceeded];
        assert!(passes.contains(&status.code()) && begun.elapsed() < PATIENCE, "{status:?}");
        *self.refusals.entry(reason).or_default() += 1;
    }
}

async fn timed<T>(call: impl Future<Output = Result<T, Status>>, met: &mut Met) -> Result<T, Status> {
    let begun = Instant::now();
    let answer = tokio::time::timeout(PATIENCE, call).await.expect("every call ends");
    met.longest = met.longest.max(begun.elapsed());
    answer
}

/// Waits until a program's health is this.
pub async fn until(program: &Program, expected: ServingStatus) {
    let mut health = HealthClient::new(program.channel().await);
    let mut watch = health.watch(HealthCheckRequest::default()).await.expect("a stream").into_inner();
    let becomes = async { while watch.message().await.expect("no error").expect("a message").status() != expected {} };
    tokio::time::timeout(PATIENCE, becomes).await.unwrap_or_else(|_| panic!("health did not become {expected:?}"));
}
