//! What an event says, as a phrase. The creation is said by the [header](super::header).

use super::time::{read_offset, write_offset};
use crate::game::Seat;
use crate::session::{Cause, Event, MatchResult, Micros, ProposalKind, SecretHash};

/// The phrase of an event; times are told from `origin` on.
pub(super) fn write(event: &Event, origin: Micros) -> String {
    match event {
        Event::Created(_) => "created".to_owned(),
        Event::MovePlayed { seat, mv, position, captured, endless } => {
            let captured = if *captured > 0 { format!(", captures {captured}") } else { String::new() };
            let endless = if *endless { ", endless" } else { "" };
            format!("{} plays {mv}{captured}{endless}: {position}", seat.letter())
        }
        Event::Resigned { seat, whole_match } => {
            format!("{} resigns the {}", seat.letter(), if *whole_match { "match" } else { "round" })
        }
        Event::RoundEnded { round, result } => format!("round {round} ends: {}", write_result(result)),
        Event::Ended { result } => format!("match ends: {}", write_result(result)),
        Event::RoundStarted { round, position } => format!("round {round} starts: {position}"),
        Event::Proposed { seat, kind, to_version } => {
            let to = to_version.map(|version| format!(" to {version}")).unwrap_or_default();
            format!("{} proposes {}{to}", seat.letter(), kind.name())
        }
        Event::Answered { seat, kind, accept } => {
            format!("{} {} {}", seat.letter(), if *accept { "accepts" } else { "declines" }, kind.name())
        }
        Event::Withdrawn { seat, kind } => format!("{} withdraws {}", seat.letter(), kind.name()),
        Event::TakenBack { to_version, position } => format!("taken back to {to_version}: {position}"),
        Event::TimedOut { seat, deadline } => {
            format!("{} is out of time at {}", seat.letter(), write_offset(origin, *deadline))
        }
        Event::RematchMade { session_id } => format!("rematch {session_id}"),
        Event::SeatClaimed { seat, player, token } => {
            // As in JSON: names may have blanks and quotes.
            let player = serde_json::to_string(player).expect("a player is plain data");
            format!("{} takes the seat as {player}, token {token}", seat.letter())
        }
        Event::TokenRotated { seat, token } => format!("{} gets the token {token}", seat.letter()),
        Event::TokenRevoked { seat } => format!("{} loses its token", seat.letter()),
        Event::Expiring { at } => format!("expires at {}", write_offset(origin, *at)),
    }
}

/// The event of a phrase, unless it is the creation; or what was expected.
pub(super) fn read(phrase: &str, origin: Micros) -> Result<Event, &'static str> {
    let (first, rest) = phrase.split_once(' ').ok_or(EVENT)?;
    match first {
        "round" => read_round(rest),
        "match" => Ok(Event::Ended { result: read_result(rest.strip_prefix("ends: ").ok_or(EVENT)?)? }),
        "taken" => {
            let (version, position) = rest.strip_prefix("back to ").and_then(|it| it.split_once(": ")).ok_or(EVENT)?;
            Ok(Event::TakenBack { to_version: number(version)?, position: position.to_owned() })
        }
        "expires" => {
            let at = rest.strip_prefix("at ").ok_or(EVENT)?;
            Ok(Event::Expiring { at: read_offset(origin, at).ok_or(OFFSET)? })
        }
        "rematch" => Ok(Event::RematchMade { session_id: rest.to_owned() }),
        "S" => read_deed(Seat::South, rest, origin),
        "N" => read_deed(Seat::North, rest, origin),
        _ => Err(EVENT),
    }
}

const EVENT: &str = "what happened, as \"S plays 2: POSITION\" or one of the other events";
const OFFSET: &str = "seconds since the creation, as +3.000000";
const KIND: &str = "draw, takeback, abort, end_match or rematch";
const RESULT: &str = "a result, as \"S wins 25-23 by no_seeds\" or \"draw 24-24 by agreement\"";

fn read_round(text: &str) -> Result<Event, &'static str> {
    let (round, what) = text.split_once(' ').ok_or(EVENT)?;
    let round = number(round)?;
    if let Some(position) = what.strip_prefix("starts: ") {
        return Ok(Event::RoundStarted { round, position: position.to_owned() });
    }
    Ok(Event::RoundEnded { round, result: read_result(what.strip_prefix("ends: ").ok_or(EVENT)?)? })
}

fn read_deed(seat: Seat, text: &str, origin: Micros) -> Result<Event, &'static str> {
    let (verb, object) = text.split_once(' ').ok_or(EVENT)?;
    match (verb, object) {
        ("plays", _) => read_move(seat, object),
        ("takes", _) => {
            let (player, token) = object.strip_prefix("the seat as ").and_then(|it| it.rsplit_once(", token ")).ok_or(EVENT)?;
            let player = serde_json::from_str(player).map_err(|_| "a player in JSON: reference and display_name")?;
            Ok(Event::SeatClaimed { seat, player, token: read_token(token)? })
        }
        ("gets", _) => Ok(Event::TokenRotated { seat, token: read_token(object.strip_prefix("the token ").ok_or(EVENT)?)? }),
        ("loses", "its token") => Ok(Event::TokenRevoked { seat }),
        ("resigns", "the round") => Ok(Event::Resigned { seat, whole_match: false }),
        ("resigns", "the match") => Ok(Event::Resigned { seat, whole_match: true }),
        ("proposes", _) => {
            let (kind, to_version) = match object.split_once(" to ") {
                Some((kind, version)) => (kind, Some(number(version)?)),
                None => (object, None),
            };
            Ok(Event::Proposed { seat, kind: read_kind(kind)?, to_version })
        }
        ("accepts", kind) => Ok(Event::Answered { seat, kind: read_kind(kind)?, accept: true }),
        ("declines", kind) => Ok(Event::Answered { seat, kind: read_kind(kind)?, accept: false }),
        ("withdraws", kind) => Ok(Event::Withdrawn { seat, kind: read_kind(kind)? }),
        ("is", _) => {
            let at = object.strip_prefix("out of time at ").ok_or(EVENT)?;
            let deadline = read_offset(origin, at).ok_or(OFFSET)?;
            Ok(Event::TimedOut { seat, deadline })
        }
        _ => Err(EVENT),
    }
}

fn read_move(seat: Seat, text: &str) -> Result<Event, &'static str> {
    let (played, position) = text.split_once(": ").ok_or("a move, then \": \" and the position after it")?;
    let (played, endless) = match played.strip_suffix(", endless") {
        Some(played) => (played, true),
        None => (played, false),
    };
    let (mv, captured) = match played.split_once(", captures ") {
        Some((mv, captured)) => (mv, u8::try_from(number(captured)?).map_err(|_| NUMBER)?),
        None => (played, 0),
    };
    let mv = mv.parse().map_err(|_| "a move, as 3, 13x2, 4+5>0:3,7:2, \"offer 1+2\", accept, decline or pass")?;
    Ok(Event::MovePlayed { seat, mv, position: position.to_owned(), captured, endless })
}

fn read_token(digits: &str) -> Result<SecretHash, &'static str> {
    SecretHash::from_hex(digits).ok_or("the 64 digits of the hash of a token")
}

fn read_kind(name: &str) -> Result<ProposalKind, &'static str> {
    ProposalKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(KIND)
}

const NUMBER: &str = "a number";

pub(super) fn number(text: &str) -> Result<u32, &'static str> {
    // What `parse` takes beyond digits, a sign, is not canonical.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| NUMBER) } else { Err(NUMBER) }
}

/// How a round or a match ended, such as `S wins 25-23 by no_seeds`.
pub(super) fn write_result(result: &MatchResult) -> String {
    let MatchResult { winner, cause, south, north, without_glory } = result;
    let who = winner.map_or_else(|| "draw".to_owned(), |seat| format!("{} wins", seat.letter()));
    let glory = if *without_glory { ", without glory" } else { "" };
    format!("{who} {south}-{north} by {}{glory}", cause.name())
}

fn read_result(text: &str) -> Result<MatchResult, &'static str> {
    let (text, without_glory) = match text.strip_suffix(", without glory") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (who_and_count, cause) = text.split_once(" by ").ok_or(RESULT)?;
    let (who, count) = who_and_count.rsplit_once(' ').ok_or(RESULT)?;
    let winner = match who {
        "S wins" => Some(Seat::South),
        "N wins" => Some(Seat::North),
        "draw" => None,
        _ => return Err(RESULT),
    };
    let (south, north) = count.split_once('-').ok_or(RESULT)?;
    let cause = Cause::from_name(cause).ok_or(RESULT)?;
    Ok(MatchResult { winner, cause, south: number(south)?, north: number(north)?, without_glory })
}
