//! What clients ask for and what they are told: the words of the ledger.

use mancala::game::{Game, Rules, Seat};
use mancala::session::{ClockSetting, Command, EventHash, ProposalKind};

/// Something that a client asks of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Create,
    Play {
        seat: Option<Seat>,
        /// As text.
        mv: String,
    },
    Resign,
    Propose {
        kind: ProposalKind,
        to_version: Option<u32>,
    },
    Answer {
        kind: ProposalKind,
        accept: bool,
    },
    Delete,
    /// Read it as it is.
    Get,
    /// Read its events after a version.
    Events {
        after: u32,
    },
}

impl What {
    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        matches!(self, What::Get | What::Events { .. })
    }

    /// As the session layer's command, if it is one.
    pub fn command(&self) -> Option<Command> {
        Some(match *self {
            What::Play { seat, ref mv } => Command::Play { seat, mv: mv.parse().expect("moves are drawn by the rules") },
            What::Resign => Command::Resign { seat: None, whole_match: false },
            What::Propose { kind, to_version } => Command::Propose { seat: None, kind, to_version },
            What::Answer { kind, accept } => Command::Answer { seat: None, kind, accept },
            What::Create | What::Delete | What::Get | What::Events { .. } => return None,
        })
    }
}

/// A call, as it is sent once or more often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub session: String,
    /// Empty in reads.
    pub request: String,
    pub expected_version: Option<u32>,
    pub what: What,
}

impl Call {
    pub fn read(session: &str, what: What) -> Call {
        Call { session: session.to_owned(), request: String::new(), expected_version: None, what }
    }
}

/// What a reply tells of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// None: the reply to a deletion tells nothing.
    pub version: Option<u32>,
    /// As text, where the reply bears it.
    pub position: Option<String>,
    /// Of the event of that version, where the reply bears it.
    pub hash: Option<EventHash>,
    /// The reply says that the request was answered before.
    pub replayed: bool,
    /// Events that the reply bears.
    pub events: Vec<(u32, EventHash)>,
}

/// What a client knows of a call once it has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done(Seen),
    /// Nothing has changed, for this reason; some reasons name the session's version.
    Refused {
        reason: String,
        current: Option<u32>,
    },
    /// The server could not, and promises that nothing has changed. It says nothing of the session.
    Failed,
    /// It may have happened, may yet happen, or never.
    Unknown,
}

impl Outcome {
    pub fn refused(reason: &str) -> Outcome {
        Outcome::Refused { reason: reason.to_owned(), current: None }
    }

    /// The version that it shows.
    pub fn version(&self) -> Option<u32> {
        match self {
            Outcome::Done(seen) => seen.version,
            Outcome::Refused { current, .. } => *current,
            Outcome::Failed | Outcome::Unknown => None,
        }
    }
}

/// Events that are asked for at a time, the most that may be: nearly always all that there are.
pub const PAGE: usize = 1_000;

/// Rounds of a session: enough for it to outlast a test.
pub const ROUNDS: u32 = 100;

/// The rules of a session: its name ends with the number of its game.
pub fn rules_of(session: &str) -> Rules {
    let number: usize = session.rsplit('-').next().and_then(|number| number.parse().ok()).expect("names end with a number");
    Rules::new(Game::ALL[number % Game::ALL.len()])
}

/// How time is limited, in microseconds: mostly by so little that it is out now and then, and once so that a clock must be set for that.
pub const CLOCKS: [ClockSetting; 4] = [
    ClockSetting::PerMove { limit: 60_000 },
    ClockSetting::Total { main: 200_000, increment: 5_000 },
    ClockSetting::ByoYomi { main: 50_000, period: 40_000, periods: 2 },
    ClockSetting::PerMove { limit: 1_200_000_000 },
];

/// How time is limited in a session: its name says so by `c` and a number before that of its game. Others have no clock.
pub fn clock_of(session: &str) -> Option<ClockSetting> {
    let number: usize = session.rsplit('-').nth(1)?.strip_prefix('c')?.parse().ok()?;
    Some(CLOCKS[number % CLOCKS.len()])
}
