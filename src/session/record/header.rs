//! The head of a text record: how the session was set up.

use super::phrase::number;
use super::time::{read_length, write_length};
use crate::session::{ClockSetting, Created, GuardLimits, SpectatorPolicy, Spectators};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The lines of the header that say how a session was set up.
pub(super) fn write(created: &Created) -> String {
    let Created { game, options, guards, position, labels, rounds, clock, previous_session_id, seats, spectators } = created;
    let GuardLimits { repetition, quiet, max_plies } = guards;
    let options = if options.is_empty() {
        "none".to_owned()
    } else {
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let clock = clock.as_ref().map_or_else(|| "none".to_owned(), write_clock);
    let mut lines = format!(
        "Game: {game}\nOptions: {options}\nGuards: repetition={repetition} quiet={quiet} max_plies={max_plies}\n\
         Rounds: {rounds}\nClock: {clock}\nStart: {position}\n"
    );
    for (key, value) in labels {
        // Quoted as in JSON: both may have blanks and quotes.
        let quoted = [key, value].map(|text| serde_json::to_string(text).expect("a string is JSON"));
        writeln!(lines, "Label: {} = {}", quoted[0], quoted[1]).expect("a string takes all");
    }
    if let Some(id) = previous_session_id {
        writeln!(lines, "Previous: {id}").expect("a string takes all");
    }
    for seat in seats {
        writeln!(lines, "Seat: {}", serde_json::to_string(seat).expect("a seat is plain data")).expect("a string takes all");
    }
    if *spectators != Spectators::default() {
        let Spectators { policy, delay_plies } = spectators;
        writeln!(lines, "Spectators: {}, {delay_plies} plies late", policy_name(*policy)).expect("a string takes all");
    }
    lines
}

/// Reads what [`write`] writes from lines that `next` gives if they begin so; or what was expected.
pub(super) fn read<'a>(mut next: impl FnMut(&'static str) -> Option<&'a str>) -> Result<Created, &'static str> {
    let game = next("Game: ").ok_or("Game: and the game's identifier")?.to_owned();
    let options = read_options(next("Options: ").ok_or(OPTIONS)?)?;
    let guards = read_guards(next("Guards: ").ok_or(GUARDS)?)?;
    let rounds = number(next("Rounds: ").ok_or("Rounds: and the most rounds that are played")?)?;
    let clock = read_clock(next("Clock: ").ok_or(CLOCK)?)?;
    let position = next("Start: ").ok_or("Start: and the first position")?.to_owned();
    let mut labels = BTreeMap::new();
    while let Some(label) = next("Label: ") {
        let (key, value) = read_label(label).ok_or(LABEL)?;
        labels.insert(key, value);
    }
    let previous_session_id = next("Previous: ").map(str::to_owned);
    let mut seats = Vec::new();
    while let Some(seat) = next("Seat: ") {
        seats.push(serde_json::from_str(seat).map_err(|_| SEAT)?);
    }
    let spectators = next("Spectators: ").map_or(Ok(Spectators::default()), read_spectators)?;
    Ok(Created { game, options, guards, position, labels, rounds, clock, previous_session_id, seats, spectators })
}

const fn policy_name(policy: SpectatorPolicy) -> &'static str {
    match policy {
        SpectatorPolicy::None => "none",
        SpectatorPolicy::Unlisted => "unlisted",
        SpectatorPolicy::Public => "public",
    }
}

fn read_spectators(text: &str) -> Result<Spectators, &'static str> {
    let (name, delay) = text.strip_suffix(" plies late").and_then(|it| it.split_once(", ")).ok_or(SPECTATORS)?;
    let policies = [SpectatorPolicy::None, SpectatorPolicy::Unlisted, SpectatorPolicy::Public];
    let policy = policies.into_iter().find(|&policy| policy_name(policy) == name).ok_or(SPECTATORS)?;
    Ok(Spectators { policy, delay_plies: number(delay)? })
}

const OPTIONS: &str = "Options: and all options as NAME=VALUE, or none";
const GUARDS: &str = "Guards: repetition=NUMBER quiet=NUMBER max_plies=NUMBER";
const CLOCK: &str =
    "Clock: none, or \"per_move SECONDS\", \"total SECONDS + SECONDS\" or \"byo_yomi SECONDS + NUMBER x SECONDS\"";
const SEAT: &str = "Seat: and in JSON the seat, its player and the hashes of its token and join code";
const SPECTATORS: &str = "Spectators: none, unlisted or public, and then \", NUMBER plies late\"";
const LABEL: &str = "Label: and key and value, each quoted as in JSON, with \" = \" between them";

fn read_options(text: &str) -> Result<BTreeMap<String, String>, &'static str> {
    if text == "none" {
        return Ok(BTreeMap::new());
    }
    let pairs = text.split(' ').map(|option| option.split_once('=').ok_or(OPTIONS));
    pairs.map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

fn read_guards(text: &str) -> Result<GuardLimits, &'static str> {
    let mut parts = text.split(' ');
    let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(GUARDS).and_then(number);
    Ok(GuardLimits { repetition: part("repetition=")?, quiet: part("quiet=")?, max_plies: part("max_plies=")? })
}

fn write_clock(clock: &ClockSetting) -> String {
    match clock {
        ClockSetting::PerMove { limit } => format!("per_move {}", write_length(*limit)),
        ClockSetting::Total { main, increment } => format!("total {} + {}", write_length(*main), write_length(*increment)),
        ClockSetting::ByoYomi { main, period, periods } => {
            format!("byo_yomi {} + {periods} x {}", write_length(*main), write_length(*period))
        }
    }
}

fn read_clock(text: &str) -> Result<Option<ClockSetting>, &'static str> {
    let length = |text: &str| read_length(text).ok_or(CLOCK);
    let words: Vec<_> = text.splitn(6, ' ').collect();
    Ok(Some(match words[..] {
        ["none"] => return Ok(None),
        ["per_move", limit] => ClockSetting::PerMove { limit: length(limit)? },
        ["total", main, "+", increment] => ClockSetting::Total { main: length(main)?, increment: length(increment)? },
        ["byo_yomi", main, "+", periods, "x", period] => {
            ClockSetting::ByoYomi { main: length(main)?, period: length(period)?, periods: number(periods)? }
        }
        _ => return Err(CLOCK),
    }))
}

fn read_label(text: &str) -> Option<(String, String)> {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let key = strings.next()?.ok()?;
    let value = text[strings.byte_offset()..].strip_prefix(" = ")?;
    Some((key, serde_json::from_str(value).ok()?))
}
