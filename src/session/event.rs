//! Events, and the JSON that they are stored as.

use super::{ClockSetting, MatchResult, Micros, Player, ProposalKind, SeatStart, SecretHash, Spectators};
use crate::game::{Guards, Move, Seat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Something that happened to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was made.
    Created(Created),
    /// A move was played.
    MovePlayed {
        /// Who made it.
        #[serde(with = "seat")]
        seat: Seat,
        /// The move.
        #[serde(rename = "move", with = "move_text")]
        mv: Move,
        /// The position after it, as text. It follows from the move, and is kept so that a change of the rules or a damaged file is
        /// noticed, and so that the stored game can be read.
        position: String,
        /// Seeds that it captured.
        captured: u8,
        /// It was endless and therefore void.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        endless: bool,
    },
    /// A seat gave up.
    Resigned {
        /// Who.
        #[serde(with = "seat")]
        seat: Seat,
        /// The whole match, and not only the round.
        whole_match: bool,
    },
    /// A round ended.
    RoundEnded {
        /// Its number, from 1.
        round: u32,
        /// How.
        result: MatchResult,
    },
    /// The match ended.
    Ended {
        /// How.
        result: MatchResult,
    },
    /// A round began.
    RoundStarted {
        /// Its number, from 1.
        round: u32,
        /// Its first position, as text.
        position: String,
    },
    /// Something was proposed.
    Proposed {
        /// By whom.
        #[serde(with = "seat")]
        seat: Seat,
        /// What.
        kind: ProposalKind,
        /// Takeback: to which version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_version: Option<u32>,
    },
    /// A proposal was answered.
    Answered {
        /// By whom.
        #[serde(with = "seat")]
        seat: Seat,
        /// What was proposed.
        kind: ProposalKind,
        /// Whether it was agreed to.
        accept: bool,
    },
    /// A proposal was withdrawn.
    Withdrawn {
        /// By whom.
        #[serde(with = "seat")]
        seat: Seat,
        /// What was proposed.
        kind: ProposalKind,
    },
    /// Moves were taken back by agreement.
    TakenBack {
        /// The session's version that the round went back to.
        to_version: u32,
        /// The position there, as text.
        position: String,
    },
    /// A seat used up its time.
    TimedOut {
        /// Which.
        #[serde(with = "seat")]
        seat: Seat,
        /// When its time was out.
        deadline: Micros,
    },
    /// A rematch was agreed on.
    RematchMade {
        /// The new session.
        session_id: String,
    },
    /// A player took a seat.
    SeatClaimed {
        /// Which.
        #[serde(with = "seat")]
        seat: Seat,
        /// Who.
        player: Player,
        /// The player's token.
        token: SecretHash,
    },
    /// A seat's token was replaced.
    TokenRotated {
        /// Which seat's.
        #[serde(with = "seat")]
        seat: Seat,
        /// The new one.
        token: SecretHash,
    },
    /// A seat's token and join code were made void.
    TokenRevoked {
        /// Which seat's.
        #[serde(with = "seat")]
        seat: Seat,
    },
    /// The session is to be deleted, unless something else happens to it before.
    Expiring {
        /// When.
        at: Micros,
    },
}

/// How a session was set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The game's identifier.
    pub game: String,
    /// All options.
    pub options: BTreeMap<String, String>,
    /// Guards in force.
    pub guards: GuardLimits,
    /// The first position, as text.
    pub position: String,
    /// The caller's own marks.
    pub labels: BTreeMap<String, String>,
    /// The most rounds that are played.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rounds: u32,
    /// How time is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSetting>,
    /// The session that this one is the rematch of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_session_id: Option<String>,
    /// The seats about which something is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<SeatStart>,
    /// Who else may watch.
    #[serde(default, skip_serializing_if = "Spectators::is_default")]
    pub spectators: Spectators,
}

const fn one() -> u32 {
    1
}

// By reference, as serde calls it.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one(rounds: &u32) -> bool {
    *rounds == 1
}

/// [`Guards`] as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardLimits {
    /// Occurrences of one position.
    pub repetition: u32,
    /// Plies in a row without a capture.
    pub quiet: u32,
    /// Plies in all.
    pub max_plies: u32,
}

impl From<Guards> for GuardLimits {
    fn from(Guards { repetition, quiet, max_plies }: Guards) -> GuardLimits {
        GuardLimits { repetition, quiet, max_plies }
    }
}

impl From<GuardLimits> for Guards {
    fn from(GuardLimits { repetition, quiet, max_plies }: GuardLimits) -> Guards {
        Guards { repetition, quiet, max_plies }
    }
}

/// As JSON. The room that is taken at once is enough for nearly all events and views.
pub(super) fn to_json(data: &impl Serialize) -> String {
    let mut json = Vec::with_capacity(1_000);
    serde_json::to_writer(&mut json, data).expect("events and views are plain data");
    String::from_utf8(json).expect("JSON is text")
}

/// Whether a text stands in JSON as it is.
fn needs_no_escape(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}

/// A move as it is stored. One is written with every move that is played, and by serde it takes five times as long.
fn move_json(seat: Seat, mv: Move, position: &str, captured: u8, endless: bool) -> String {
    // Enough for nearly all, and little: of a row of moves all are in memory at once.
    let mut json = String::with_capacity(250);
    let (seat, endless) = (seat.letter(), if endless { r#","endless":true"# } else { "" });
    let written = write!(
        json,
        r#"{{"type":"move_played","seat":"{seat}","move":"{mv}","position":"{position}","captured":{captured}{endless}}}"#
    );
    written.expect("a string takes all");
    json
}

impl Event {
    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Event::MovePlayed { seat, mv, position, captured, endless } if needs_no_escape(position) => {
                move_json(*seat, *mv, position, *captured, *endless)
            }
            _ => to_json(self),
        }
    }

    /// From what was stored.
    ///
    /// # Errors
    /// When it is no event; the text is the reader's.
    pub fn from_json(json: &str) -> Result<Event, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    /// Who did it, if a seat did.
    #[must_use]
    pub const fn seat(&self) -> Option<Seat> {
        match self {
            Event::MovePlayed { seat, .. }
            | Event::Resigned { seat, .. }
            | Event::Proposed { seat, .. }
            | Event::Answered { seat, .. }
            | Event::Withdrawn { seat, .. }
            | Event::TimedOut { seat, .. }
            | Event::SeatClaimed { seat, .. } => Some(*seat),
            Event::Created(_)
            | Event::RoundEnded { .. }
            | Event::Ended { .. }
            | Event::RoundStarted { .. }
            | Event::TakenBack { .. }
            | Event::RematchMade { .. }
            | Event::TokenRotated { .. }
            | Event::TokenRevoked { .. }
            | Event::Expiring { .. } => None,
        }
    }
}

pub(super) mod seat {
    use crate::game::Seat;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(seat: &Seat, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(seat.letter())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seat, D::Error> {
        Seat::from_letter(char::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("an unknown seat"))
    }
}

pub(super) mod optional_seat {
    use crate::game::Seat;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(seat: &Option<Seat>, serializer: S) -> Result<S::Ok, S::Error> {
        match seat {
            Some(seat) => super::seat::serialize(seat, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Seat>, D::Error> {
        super::seat::deserialize(deserializer).map(Some)
    }
}

mod move_text {
    use crate::game::Move;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(mv: &Move, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(mv)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Move, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::PitSet;

    #[test]
    fn moves_are_written_as_serde_writes_them() {
        let moves = [Move::sow(3), Move::Sow { pit: 13, seeds: Some(2) }, Move::Offer(PitSet::of(1)), Move::Pass];
        let positions = ["ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow", "", "\"", "a\\b", "\u{7F}", "\n", "é"];
        for (mv, position) in moves.into_iter().flat_map(|mv| positions.map(|position| (mv, position.to_owned()))) {
            for (seat, captured, endless) in [(Seat::South, 0, false), (Seat::North, u8::MAX, true)] {
                let event = Event::MovePlayed { seat, mv, position: position.clone(), captured, endless };
                let json = serde_json::to_string(&event).expect("plain data");
                assert_eq!(event.to_json(), json);
                assert_eq!(Event::from_json(&json), Ok(event));
            }
        }
    }
}
