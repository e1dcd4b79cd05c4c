//! Records: what is written is read, what was changed is named, and nothing that is read is a panic.

use crate::histories::{History, MADE, any_created, any_history};
use mancala::game::{Game, Rules};
use mancala::random::SeededDice;
use mancala::session::record::{self, Aspect, Format, MAX_LINE, MAX_RECORD, Record, Wrong};
use mancala::session::{Command, Event};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

fn kind(event: &Event) -> String {
    let json: serde_json::Value = serde_json::from_str(&event.to_json()).expect("events are JSON");
    json["type"].as_str().expect("a type").to_owned()
}

fn check(document: &str) -> Result<record::Checked, Wrong> {
    record::check(document, None, || false)
}

/// The line that a fault names, from 1.
fn named_line(wrong: &Wrong) -> usize {
    match wrong {
        Wrong::Unreadable(fault) => fault.line,
        Wrong::Differs { line, .. } => line.expect("texts have lines"),
    }
}

fn cases() -> ProptestConfig {
    let long = std::env::var("MANCALA_TEST_LONG").is_ok_and(|value| value == "1");
    ProptestConfig { cases: if long { 5_000 } else { 250 }, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn both_forms_tell_the_same_and_every_kind_of_event_can_be_told() {
    let mut kinds = BTreeSet::new();
    for game in Game::ALL {
        for seed in 0..60 {
            let history = any_history(game, seed, 150);
            let record = history.record();
            kinds.extend(record.events.iter().map(|recorded| kind(&recorded.event)));
            let (text, json) = (record.write(Format::Text), record.write(Format::Json));
            assert_eq!(record::read(&text).as_ref(), Ok(&record), "{text}");
            assert_eq!(record::read(&json).as_ref(), Ok(&record), "{json}");
            assert_eq!(record::read(&text).expect("a record").write(Format::Json), json);
            assert_eq!(record::read(&json).expect("a record").write(Format::Text), text);
            for document in [&text, &json] {
                let checked = check(document).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
                assert_eq!(checked.session.position(), history.session.position());
                assert_eq!(checked.session.result(), history.session.result());
                assert_eq!(checked.session.points(), history.session.points());
                assert_eq!(checked.session.deadline(), history.session.deadline());
                assert_eq!(Some(checked.session.head_hash()), record.head_hash);
                assert_eq!(checked.hashes.len(), record.events.len());
            }
        }
    }
    let all = [
        "answered",
        "created",
        "ended",
        "expiring",
        "move_played",
        "proposed",
        "rematch_made",
        "resigned",
        "round_ended",
        "round_started",
        "seat_claimed",
        "taken_back",
        "timed_out",
        "token_revoked",
        "token_rotated",
        "withdrawn",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// What one form has room for, the other has too. Found by fuzzing.
#[test]
fn a_line_of_an_event_is_as_long_in_both_forms() {
    let mut record = any_history(Game::Kiothi, 11, 60).record();
    let is_move = |event: &Event| matches!(event, Event::MovePlayed { .. });
    let place = record.events.iter().position(|recorded| is_move(&recorded.event)).expect("a move");
    let length =
        record.write(Format::Text).lines().filter(|line| line.contains(" plays ")).map(str::len).next().expect("its line");
    for (longer, fits) in [(MAX_LINE - length, true), (MAX_LINE - length + 1, false)] {
        let mut long = record.clone();
        let Event::MovePlayed { position, .. } = &mut long.events[place].event else { unreachable!("it is a move") };
        position.push_str(&"x".repeat(longer));
        for format in [Format::Text, Format::Json] {
            let read = record::read(&long.write(format));
            assert_eq!(read.is_ok(), fits, "{format:?}, {longer} bytes longer: {read:?}");
            if fits {
                assert_eq!(read.as_ref(), Ok(&long));
            }
        }
    }
    let Event::MovePlayed { position, .. } = &mut record.events[place].event else { unreachable!("it is a move") };
    position.push_str(&"x".repeat(MAX_LINE));
    let fault = record::read(&record.write(Format::Json)).expect_err("too long");
    assert_eq!(
        fault.to_string(),
        format!("line 1: expected event {} to be at most 1024 bytes long as a line of text", place + 1)
    );
}

#[test]
fn another_id_changes_nothing_but_the_id() {
    for game in Game::ALL {
        let history = any_history(game, 3, 150);
        let text = history.record().write(Format::Text);
        let checked = record::check(&text, Some("elsewhere-2"), || false).expect("it is right");
        assert_eq!(checked.session.id(), "elsewhere-2");
        let moved = Record { session_id: "elsewhere-2".to_owned(), ..checked.record };
        let again = moved.write(Format::Text);
        assert_eq!(again, text.replacen("Session: played-1", "Session: elsewhere-2", 1));
        assert!(check(&again).is_ok(), "{again}");
    }
}

#[test]
fn without_hashes_a_record_is_right_too_but_not_with_some() {
    let record = any_history(Game::Gore, 1, 40).record();
    let mut bare = record.clone();
    bare.head_hash = None;
    bare.events.iter_mut().for_each(|recorded| recorded.short_hash = None);
    for format in [Format::Text, Format::Json] {
        let document = bare.write(format);
        let checked = check(&document).expect("it is right");
        assert_eq!(Some(checked.session.head_hash()), record.head_hash, "hashes follow all the same");
        assert_eq!(checked.record, bare);
        for (head, short) in [(record.head_hash, None), (None, record.events[4].short_hash.clone())] {
            let mut mixed = bare.clone();
            mixed.head_hash = head;
            mixed.events[4].short_hash = short;
            let wrong = check(&mixed.write(format)).expect_err("some hashes");
            assert!(matches!(&wrong, Wrong::Differs { difference, .. } if difference.aspect == Aspect::Hash), "{wrong}");
        }
    }
}

/// A record of a few commands and the line of its first event.
fn sample() -> (Vec<String>, usize) {
    let text = any_history(Game::Kiothi, 11, 60).record().write(Format::Text);
    let lines: Vec<_> = text.split('\n').map(str::to_owned).collect();
    let first = lines.iter().position(|line| line.starts_with("1 +0.000000")).expect("the first event");
    (lines, first)
}

#[test]
fn what_is_wrong_is_said() {
    let (lines, first) = sample();
    let with = |place: usize, line: &str| {
        let mut lines = lines.clone();
        lines[place] = line.to_owned();
        check(&lines.join("\n")).expect_err("it was changed").to_string()
    };
    assert_eq!(
        with(0, "Mancala record 2"),
        "line 1: expected the title \"Mancala record 1\": is this a record, and of this version?"
    );
    assert_eq!(
        with(2, "Game: go"),
        format!("line {}: event 1: its set-up differs: expected a game that can be played, found unknown game", first + 1)
    );
    assert_eq!(
        with(first, "1 +0.000001 created"),
        format!("line {}: expected the first event, created, at +0.000000", first + 1)
    );
    assert_eq!(
        with(first + 1, "2 soon"),
        format!("line {}: expected a time in seconds since the creation, as +3.000000", first + 2)
    );
    assert_eq!(with(first + 1, ""), format!("line {}: expected Result: and how the match ended, or *", first + 3));
    let long = "x".repeat(MAX_LINE + 1);
    assert_eq!(with(first + 1, &long), format!("line {}: expected a line of at most {MAX_LINE} bytes", first + 2));
    let crlf = lines.join("\r\n");
    assert!(check(&crlf).expect_err("other line ends").to_string().starts_with("line 1: expected the title"));
    let result = lines.iter().position(|line| line.starts_with("Result: ")).expect("a result");
    assert_eq!(with(result, "Result: S wins 99-0 by no_seeds"), format!("line {}: expected \"{}\"", result + 1, lines[result]));
}

#[test]
fn a_forged_history_with_right_hashes_is_told_by_the_rules() {
    let mut history = any_history(Game::Ayoayo, 5, 30);
    while history.session.result().is_none() {
        history.apply(&Command::Resign { seat: None, whole_match: false }, None);
    }
    let record = history.record();
    let place = record.events.iter().rposition(|recorded| matches!(recorded.event, Event::Ended { .. })).expect("an end");
    let forge = |change: &dyn Fn(&mut Record)| {
        let mut forged = record.clone();
        change(&mut forged);
        let mut head = mancala::session::EventHash::START;
        for recorded in &mut forged.events {
            head = head.then(recorded.version, recorded.time, recorded.request_id.as_deref(), &recorded.event.to_json());
            recorded.short_hash = Some(head.short());
        }
        forged.head_hash = Some(head);
        match check(&forged.write(Format::Json)).expect_err("it is forged") {
            Wrong::Differs { difference, .. } => (difference.event as usize, difference.aspect),
            Wrong::Unreadable(fault) => panic!("{fault}"),
        }
    };
    let other_winner = forge(&|forged| {
        if let Event::Ended { result } = &mut forged.events[place].event {
            result.winner = result.winner.map(mancala::game::Seat::other);
            result.south += 1;
        }
    });
    assert_eq!(other_winner, (place + 1, Aspect::Event));
    let no_end = forge(&|forged| forged.events.truncate(place));
    assert_eq!(no_end, (place + 1, Aspect::Event));
    let back = forge(&|forged| forged.events[3].time = MADE - 1);
    assert_eq!(back, (4, Aspect::Time));
    let twice = forge(&|forged| {
        for recorded in &mut forged.events[1..=2] {
            recorded.request_id = Some("again".to_owned());
        }
    });
    assert_eq!(twice.1, Aspect::RequestId);
    let rounds = forge(&|forged| {
        if let Event::Created(created) = &mut forged.events[0].event {
            created.rounds = 101;
        }
    });
    assert_eq!(rounds, (1, Aspect::SetUp));
}

#[test]
fn a_record_is_read_up_to_its_limits() {
    let record = History::begin(any_created(Game::Gore, &mut SeededDice::new(1)), None).record();
    let json = record.write(Format::Json);
    let fill = |bytes: usize| format!("{}{json}", " ".repeat(bytes - json.len()));
    assert_eq!(record::read(&fill(MAX_RECORD)).as_ref(), Ok(&record));
    let fault = record::read(&fill(MAX_RECORD + 1)).expect_err("too long");
    assert_eq!(fault.to_string(), format!("line 1: expected a record of at most {MAX_RECORD} bytes"));
}

#[test]
fn json_that_text_cannot_tell_is_refused() {
    let json = any_history(Game::Gore, 2, 10).record().write(Format::Json);
    for (from, to, line) in [
        ("\"format\":\"mancala-record\"", "\"format\":\"other\"", 1),
        ("\"version\":1,\"session_id\"", "\"version\":2,\"session_id\"", 1),
        ("\"session_id\":\"played-1\"", "\"session_id\":\"two\\nlines\"", 1),
        ("\"version\":2,", "\"version\":2,\"extra\":0,", 3),
        ("N sow\"", "N sow\\n3 +0.0\"", 0),
    ] {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json, "{from}");
        let fault = record::read(&changed).expect_err(from);
        assert!(line == 0 || fault.line == line, "{fault}");
    }
    let no_events = "{\"format\":\"mancala-record\",\"version\":1,\"session_id\":\"game\",\"events\":[]}";
    assert!(record::read(no_events).is_err());
}

#[test]
fn bodies_that_are_stored_are_written_again_as_they_are() {
    // The hash of an event covers its body as it is stored, so that a body which reads back as another one breaks chains.
    for body in [
        r#"{"type":"created","game":"gore","options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"p","labels":{"k":"v"}}"#,
        r#"{"type":"created","game":"gore","options":{"a":"b"},"guards":{"repetition":0,"quiet":0,"max_plies":0},"position":"p","labels":{},"rounds":3,"clock":{"kind":"byo_yomi","main":1,"period":2,"periods":3},"previous_session_id":"game"}"#,
        r#"{"type":"move_played","seat":"S","move":"0","position":"p","captured":0}"#,
        r#"{"type":"move_played","seat":"N","move":"13x2","position":"p","captured":4,"endless":true}"#,
        r#"{"type":"resigned","seat":"S","whole_match":true}"#,
        r#"{"type":"round_ended","round":1,"result":{"winner":"S","cause":"resignation","south":1,"north":2}}"#,
        r#"{"type":"ended","result":{"cause":"agreement","south":1,"north":2}}"#,
        r#"{"type":"ended","result":{"winner":"N","cause":"cannot_feed","south":1,"north":2,"without_glory":true}}"#,
        r#"{"type":"round_started","round":2,"position":"p"}"#,
        r#"{"type":"proposed","seat":"S","kind":"draw"}"#,
        r#"{"type":"proposed","seat":"S","kind":"takeback","to_version":3}"#,
        r#"{"type":"answered","seat":"N","kind":"end_match","accept":true}"#,
        r#"{"type":"withdrawn","seat":"N","kind":"rematch"}"#,
        r#"{"type":"taken_back","to_version":3,"position":"p"}"#,
        r#"{"type":"timed_out","seat":"N","deadline":5}"#,
        r#"{"type":"rematch_made","session_id":"game"}"#,
        r#"{"type":"expiring","at":5}"#,
        r#"{"type":"token_revoked","seat":"S"}"#,
        r#"{"type":"token_rotated","seat":"S","token":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}"#,
        r#"{"type":"seat_claimed","seat":"N","player":{},"token":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}"#,
        r#"{"type":"seat_claimed","seat":"N","player":{"reference":"r","display_name":"n"},"token":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}"#,
        r#"{"type":"created","game":"gore","options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"p","labels":{},"seats":[{"seat":"S","player":{"reference":"r"}},{"seat":"N","join_code":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}],"spectators":{"policy":"public","delay_plies":3}}"#,
    ] {
        assert_eq!(Event::from_json(body).expect(body).to_json(), body);
    }
}

/// What is done to a record.
#[derive(Debug, Clone)]
enum Tampering {
    Character { at: f64, new: char },
    Drop { at: f64 },
    Repeat { at: f64 },
    Swap { first: f64, second: f64 },
}

fn any_tampering() -> impl Strategy<Value = Tampering> {
    let new = prop_oneof![select("0123456789abcdefSN +-:,#[]./x*^\n".chars().collect::<Vec<_>>()), any::<char>(),];
    prop_oneof![
        6 => (0.0..1.0, new).prop_map(|(at, new)| Tampering::Character { at, new }),
        1 => (0.0..1.0).prop_map(|at| Tampering::Drop { at }),
        1 => (0.0..1.0).prop_map(|at| Tampering::Repeat { at }),
        1 => (0.0..1.0, 0.0..1.0).prop_map(|(first, second)| Tampering::Swap { first, second }),
    ]
}

fn place(at: f64, of: usize) -> usize {
    ((at * of as f64) as usize).min(of - 1)
}

/// The text after it, and the first line that it concerns, from 1.
fn tamper(text: &str, tampering: &Tampering) -> (String, usize) {
    let mut lines: Vec<_> = text.split('\n').collect();
    let first = lines.iter().position(|line| line.starts_with("1 +0.000000")).expect("the first event");
    let events = lines[first..].iter().position(|line| line.is_empty()).expect("the end of the events");
    let event = |at: f64| first + place(at, events);
    let line = match *tampering {
        Tampering::Character { at, new } => {
            let mut chars: Vec<_> = text.chars().collect();
            let at = place(at, chars.len());
            let line = chars[..at].iter().filter(|&&c| c == '\n').count();
            chars[at] = new;
            return (chars.into_iter().collect(), line + 1);
        }
        Tampering::Drop { at } => {
            lines.remove(event(at));
            event(at)
        }
        Tampering::Repeat { at } => {
            lines.insert(event(at), lines[event(at)]);
            event(at) + 1
        }
        Tampering::Swap { first, second } => {
            lines.swap(event(first), event(second));
            event(first).min(event(second))
        }
    };
    (lines.join("\n"), line + 1)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whatever_is_changed_is_named(
        game in select(Game::ALL.to_vec()), seed in 0..500u64, commands in 1..60u32, tampering in any_tampering(),
    ) {
        let text = any_history(game, seed, commands).record().write(Format::Text);
        let (changed, line) = tamper(&text, &tampering);
        // The session's name may be another one: nothing depends on it.
        prop_assume!(changed != text && line != 2);
        let wrong = check(&changed).expect_err("it was changed");
        let lines: Vec<_> = text.split('\n').collect();
        let first = lines.iter().position(|line| line.starts_with("1 +0.000000")).expect("the first event") + 1;
        let last = first + lines[first..].iter().position(|line| line.is_empty()).expect("the end of the events");
        let named = named_line(&wrong);
        if line < first {
            prop_assert!(named <= first + 1, "the header belongs to the first event: {}", wrong);
        } else if line >= last {
            prop_assert!(named + 2 >= last, "the end: {}", wrong);
        } else {
            // A line that has become empty is the end of the events: what comes after it is what is wrong.
            let emptied = changed.split('\n').nth(line - 1).is_some_and(|line| line.trim().is_empty());
            let expected = if emptied { line + 1 } else { line };
            // One that is cut in two may be an event up to the cut, and then its rest is none.
            let cut = matches!(tampering, Tampering::Character { new: '\n', .. });
            prop_assert!(named == expected || cut && named == line + 1, "{}: {}\n{}", wrong, lines[line - 1], changed);
        }
    }

    #[test]
    fn whatever_is_read_is_no_panic(
        game in select(Game::ALL.to_vec()), seed in 0..100u64, json in any::<bool>(),
        changes in prop::collection::vec((0.0..1.0, 0..12usize, "[ -~\n\\PC]{0,6}"), 0..6),
    ) {
        let format = if json { Format::Json } else { Format::Text };
        let mut document = any_history(game, seed, 12).record().write(format);
        for (at, length, new) in changes {
            let from = document.floor_char_boundary(place(at, document.len() + 1));
            let to = document.floor_char_boundary((from + length).min(document.len())).max(from);
            document.replace_range(from..to, &new);
        }
        if let Ok(read) = record::read(&document) {
            // Whatever is read can be told in both forms.
            for format in [Format::Text, Format::Json] {
                prop_assert_eq!(record::read(&read.write(format)), Ok(read.clone()));
            }
        }
        let _ = check(&document);
    }

    #[test]
    fn any_text_at_all_is_judged(text in "\\PC{0,200}") {
        prop_assert!(record::read(&text).is_err());
    }
}

#[test]
fn the_example_of_the_description_is_right() {
    // Its hashes were computed by another program from what the description says.
    let page = include_str!("../../docs/record.md");
    let example = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let checked = check(example).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(checked.session.version(), 8);
    let json = checked.record.write(Format::Json);
    for line in page.lines().filter(|line| line.starts_with("{\"") && !line.contains("...")) {
        assert!(json.contains(line), "{line}");
    }
}

#[test]
fn options_of_the_game_are_all_there() {
    // What the set-up asks of a record is what the service writes.
    for game in Game::ALL {
        let created = any_created(game, &mut SeededDice::new(9));
        assert_eq!(created.options.len(), Rules::new(game).option_specs().len());
    }
}

#[test]
fn what_is_cut_off_is_missed_in_the_line_after_the_last() {
    let text = any_history(Game::Gore, 3, 12).record().write(Format::Text);
    let lines: Vec<_> = text.split('\n').collect();
    assert!(lines.len() > 18, "{text}");
    for kept in 1..lines.len() - 1 {
        let fault = record::read(&lines[..kept].join("\n")).expect_err("a part of a record");
        assert!((kept..=kept + 1).contains(&fault.line), "after {kept} lines: {fault}");
    }
}

/// An id that one form has no room for could not be written in it.
#[test]
fn ids_are_as_long_in_both_forms() {
    let mut record = any_history(Game::Gore, 3, 12).record();
    for (bytes, fits) in [(64, true), (65, false)] {
        let id = "r".repeat(bytes);
        record.events.last_mut().expect("an event").request_id = Some(id.clone());
        assert_eq!(record::read(&record.write(Format::Text)).is_ok(), fits, "request id of {bytes} bytes as text");
        assert_eq!(record::read(&record.write(Format::Json)).is_ok(), fits, "request id of {bytes} bytes as JSON");
        let renamed = Record { session_id: id, events: record.events[..1].to_vec(), head_hash: None };
        assert_eq!(record::read(&renamed.write(Format::Text)).is_ok(), fits, "session id of {bytes} bytes as text");
        assert_eq!(record::read(&renamed.write(Format::Json)).is_ok(), fits, "session id of {bytes} bytes as JSON");
    }
}
