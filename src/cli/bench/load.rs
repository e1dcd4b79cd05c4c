//! The callers: one task for each call in flight.

use super::mix::{Call, Mix};
use super::operator::Bearer;
use super::pace::Pace;
use super::plan::Plan;
use super::player::{Player, creation};
use super::stream::Streamer;
use super::tally::{Fault, Tally, lock};
use crate::cli::Failure;
use crate::cli::peer::with_causes;
use crate::game::Rules;
use crate::random::SeededDice;
use crate::wire::proto;
use crate::wire::proto::session_service_client::SessionServiceClient;
use futures_util::future::try_join_all;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// A call that has no answer by then has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// A caller waits so long after a failure, so that a server that is down is not asked as fast as it can be refused.
pub const PAUSE: Duration = Duration::from_millis(100);

/// A client of sessions whose calls bear what the plan says.
pub type SessionClient = SessionServiceClient<InterceptedService<Channel, Bearer>>;

/// Callers that are about to begin.
pub struct Load {
    callers: Vec<Caller>,
    /// In their place, where moves go over streams.
    streamers: Vec<Streamer>,
    rate: Option<u32>,
}

impl Load {
    pub async fn connect(plan: &Plan) -> Result<Load, Failure> {
        let endpoint = plan.endpoint.clone().connect_timeout(PATIENCE).timeout(PATIENCE);
        let mut channels = Vec::new();
        for _ in 0..plan.connections {
            channels.push(endpoint.connect().await.map_err(|error| {
                Failure::run(format!(
                    "no server answers at {}: {}. Start one with `mancala serve`, or say where it is with --address",
                    plan.address,
                    with_causes(&error)
                ))
            })?);
        }
        let (callers, streamers) = if plan.stream { (0, plan.connections) } else { (plan.concurrency, 0) };
        let callers = (0..callers).zip(channels.iter().cycle());
        let streamers = (0..streamers).zip(&channels);
        Ok(Load {
            callers: callers.map(|(number, channel)| Caller::new(number, channel.clone(), plan)).collect(),
            streamers: streamers.map(|(number, channel)| Streamer::new(number, channel.clone(), plan)).collect(),
            rate: plan.rate,
        })
    }

    /// Makes the first sessions, which is not measured.
    pub async fn make_sessions(&mut self) -> Result<(), Failure> {
        let callers = try_join_all(self.callers.iter_mut().map(Caller::make_sessions));
        let streamers = try_join_all(self.streamers.iter_mut().map(Streamer::make_sessions));
        let made = futures_util::future::try_join(callers, streamers).await;
        made.map(drop).map_err(|Fault { code, reason }| {
            // In token mode only operators make sessions.
            let advice = match &*reason {
                "TOKEN_MISSING" => "give an operator's key by --operator-key-file",
                "TOKEN_INVALID" => "the key is not one of the server's operators",
                _ => "its log may say why",
            };
            Failure::run(format!("the server makes no sessions: CreateSession failed with {code} {reason}; {advice}"))
        })
    }

    /// Begins.
    pub fn start(self) -> Running {
        let pace = Pace::start(self.rate);
        let tally = Arc::new(Mutex::new(Tally::new()));
        let mut callers = JoinSet::new();
        for caller in self.callers {
            callers.spawn(caller.work(pace.clone(), tally.clone()));
        }
        for streamer in self.streamers {
            callers.spawn(streamer.work(pace.clone(), tally.clone()));
        }
        Running { pace, tally, callers }
    }
}

/// Callers at work.
pub struct Running {
    pace: Pace,
    tally: Arc<Mutex<Tally>>,
    callers: JoinSet<()>,
}

impl Running {
    /// Calls made, and how many of them failed.
    pub fn so_far(&self) -> (u64, u64) {
        lock(&self.tally).totals()
    }

    /// Begins no more calls. Returns how many were due by the rate and not begun.
    pub fn stop(&self) -> u64 {
        self.pace.stop()
    }

    /// Waits for the calls that have begun.
    pub async fn finish(mut self) -> Result<Tally, Failure> {
        while let Some(ended) = self.callers.join_next().await {
            ended.map_err(Failure::run)?;
        }
        Ok(std::mem::replace(&mut *lock(&self.tally), Tally::new()))
    }
}

/// Makes one call at a time, on sessions of its own in turn.
struct Caller {
    sessions: SessionClient,
    health: HealthClient<Channel>,
    /// Rules to play by, and the game in play; none: to be made.
    players: Vec<(Rules, Option<Player>)>,
    turn: usize,
    mix: Mix,
    dice: SeededDice,
    checked: bool,
    label: String,
}

impl Caller {
    fn new(number: u32, channel: Channel, plan: &Plan) -> Caller {
        let count = if plan.mix.needs_sessions() { plan.sessions } else { 0 };
        let own = (0..count).filter(|session| session % plan.concurrency == number);
        let rules = |session: u32| Rules::new(plan.games[session as usize % plan.games.len()]);
        Caller {
            sessions: SessionServiceClient::with_interceptor(channel.clone(), plan.bearer.clone()),
            health: HealthClient::new(channel),
            players: own.map(|session| (rules(session), None)).collect(),
            turn: 0,
            mix: plan.mix.clone(),
            dice: SeededDice::new(plan.seed.wrapping_add(number.into())),
            checked: plan.checked,
            label: plan.label.clone(),
        }
    }

    async fn make_sessions(&mut self) -> Result<(), Fault> {
        for turn in 0..self.players.len() {
            self.turn = turn;
            self.create().await?;
        }
        Ok(())
    }

    async fn work(mut self, pace: Pace, tally: Arc<Mutex<Tally>>) {
        while let Some(from) = pace.next().await {
            let call = self.choose();
            let outcome = self.call(call).await;
            let failed = outcome.is_err();
            lock(&tally).count(call, from.elapsed(), outcome);
            if failed {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// The next call: by the mix, unless the session whose turn it is must be made first.
    fn choose(&mut self) -> Call {
        let call = self.mix.draw(&mut self.dice);
        if call == Call::Health {
            return call;
        }
        self.turn = (self.turn + 1) % self.players.len();
        let playable = self.players[self.turn].1.as_ref().is_some_and(|player| !player.is_over());
        if playable { call } else { Call::Create }
    }

    async fn call(&mut self, call: Call) -> Result<(), Fault> {
        match call {
            Call::Create => self.create().await,
            Call::Health => {
                self.health.check(HealthCheckRequest::default()).await?;
                Ok(())
            }
            Call::Legal => {
                let session_id = self.session_id();
                self.sessions.list_legal_moves(proto::ListLegalMovesRequest { session_id }).await?;
                Ok(())
            }
            Call::Get => {
                let session_id = self.session_id();
                self.sessions.get_session(proto::GetSessionRequest { session_id, version: None }).await?;
                Ok(())
            }
            Call::Apply => {
                // After a failure it is not known where the session stands: it is given up.
                let mut player = self.players[self.turn].1.take().expect("chosen because it can be played");
                let (request, right) = player.play(&mut self.dice);
                let answer = self.sessions.apply_move(request).await?;
                if self.checked {
                    right.check(answer.get_ref())?;
                }
                self.players[self.turn].1 = Some(player);
                Ok(())
            }
        }
    }

    fn session_id(&self) -> String {
        self.players[self.turn].1.as_ref().expect("chosen because it can be played").session_id()
    }

    /// Makes the session whose turn it is.
    async fn create(&mut self) -> Result<(), Fault> {
        let rules = self.players[self.turn].0;
        let answer = self.sessions.create_session(creation(rules, &self.label)).await?.into_inner();
        self.players[self.turn].1 = Some(Player::new(answer.session, rules)?);
        Ok(())
    }
}
