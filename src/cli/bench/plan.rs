//! What is to be done: the flags, and whether they make sense together.

use super::mix::Mix;
use super::operator::{Bearer, OperatorArgs};
use crate::cli::Failure;
use crate::cli::peer::{Peer, PeerArgs};
use crate::config::duration;
use crate::game::Game;
use std::net::SocketAddr;
use std::time::Duration;
use tonic::transport::Endpoint;

/// Longer than anyone means.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Loads a running server with calls along random legal games, and prints calls per second and latencies.
///
/// The sessions that it makes bear a label "bench" and stay on the server. Ctrl-C ends it early, with the report.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub peer: PeerArgs,
    #[command(flatten)]
    operator: OperatorArgs,
    /// Calls in flight
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrency: u32,
    /// Connections that the calls share
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    connections: u32,
    /// How long to go on
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// Calls per second in all; 0: as many as are answered. With a rate, latency is counted from the time at which a call was
    /// due, so that a server that stalls is not asked less
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    rate: u32,
    /// Sessions that are played at a time, each replaced when it is over [default: as many as --concurrency]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sessions: Option<u32>,
    /// Games that they are of, in turn [default: all]
    #[arg(long, value_name = "GAME,...", value_delimiter = ',', value_parser = game)]
    games: Vec<Game>,
    /// Calls that are made, with how often each: apply (ApplyMove), legal (ListLegalMoves), get (GetSession), health
    #[arg(long, value_name = "CALL=N,...", default_value = "apply=1")]
    calls: Mix,
    /// Make the moves as commands of a Play stream for each connection. A session may then have several on their way, as many as
    /// --concurrency is more than --sessions
    #[arg(long, conflicts_with = "calls")]
    stream: bool,
    /// Seed of the moves
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Take whatever answers moves for right: for a server that knows no rules, to be compared with
    #[arg(long)]
    unchecked: bool,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    pub address: SocketAddr,
    /// How to connect to it.
    pub endpoint: Endpoint,
    /// What calls bear.
    pub bearer: Bearer,
    pub concurrency: u32,
    pub connections: u32,
    pub duration: Duration,
    /// Calls per second; none: as many as are answered.
    pub rate: Option<u32>,
    /// At least as many as calls in flight, so that no two calls in flight are about the same session; of streams, as many as streams.
    pub sessions: u32,
    pub games: Vec<Game>,
    pub mix: Mix,
    /// Whether moves are commands of streams.
    pub stream: bool,
    pub seed: u64,
    /// Whether answers to moves are held against the rules.
    pub checked: bool,
    /// Unique to this run; the sessions that it makes bear it.
    pub label: String,
}

impl Args {
    /// Sees whether the flags make sense together.
    pub fn plan(self) -> Result<Plan, Failure> {
        let Args { concurrency, connections, sessions, mut games, .. } = self;
        if connections > concurrency {
            return Err(Failure::usage(format!(
                "--connections {connections} is more than --concurrency {concurrency}: a connection without calls measures nothing"
            )));
        }
        let Peer { address, endpoint } = self.peer.peer()?;
        let bearer = self.operator.bearer()?;
        let sessions = sessions.unwrap_or(concurrency);
        if self.stream && !(connections..=concurrency).contains(&sessions) {
            return Err(Failure::usage(format!(
                "--sessions {sessions} with --stream is a number from --connections to --concurrency, here {connections} to {concurrency}"
            )));
        }
        if sessions < concurrency && !self.stream {
            return Err(Failure::usage(format!(
                "--sessions {sessions} is fewer than --concurrency {concurrency}: each call in flight needs a session of its own"
            )));
        }
        if games.is_empty() {
            games = Game::ALL.to_vec();
        }
        Ok(Plan {
            address,
            endpoint,
            bearer,
            concurrency,
            connections,
            duration: self.duration,
            rate: Some(self.rate).filter(|&rate| rate > 0),
            sessions,
            games,
            mix: self.calls,
            stream: self.stream,
            seed: self.seed,
            checked: !self.unchecked,
            label: uuid::Uuid::now_v7().to_string(),
        })
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let expected = "a time such as 500ms, 30s, 5m or 1h, more than 0 and at most 24h";
    duration::parse(text).filter(|time| !time.is_zero() && *time <= LONGEST).ok_or_else(|| expected.to_owned())
}

fn game(id: &str) -> Result<Game, String> {
    Game::from_id(id).ok_or_else(|| format!("one of {}", Game::ALL.map(Game::id).join(", ")))
}
