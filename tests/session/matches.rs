//! Matches of several rounds against the vectors: every round's start, moves, end and points, and the match's result.

use mancala::game::{BySeat, Game, Guards, Rules, Seat};
use mancala::session::{Command, Created, Event, Session};
use serde_json::Value;

const VECTORS: &str = include_str!("../vectors/matches.jsonl");

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn pair(value: &Value) -> BySeat<u32> {
    let number = |place: usize| u32::try_from(value[place].as_u64().expect("a number")).expect("a small one");
    BySeat::new(number(0), number(1))
}

fn new_match(game: Game, rounds: u32) -> Session {
    let rules = Rules::new(game);
    let created = Created {
        game: game.id().to_owned(),
        options: rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        guards: Guards::OFF.into(),
        position: rules.start().to_string(),
        labels: Default::default(),
        rounds,
        clock: None,
        previous_session_id: None,
        seats: Vec::new(),
        spectators: Default::default(),
    };
    Session::new("vectors".to_owned(), &created, 0).expect("the start of a match")
}

/// Plays a move, and gives the events that it brought about.
fn play(session: &mut Session, mv: &str) -> Vec<Event> {
    let command = Command::Play { seat: None, mv: mv.parse().expect("a move") };
    let events = session.decide(&command, 0, &mut ()).unwrap_or_else(|why| panic!("{mv} in {}: {why}", session.position()));
    for event in &events {
        let stored = Event::from_json(&event.to_json()).expect("an event can be read again");
        assert_eq!(stored, *event);
        session.evolve(&stored, 0, &mut ()).expect("what was decided follows");
    }
    events
}

#[test]
fn matches_go_as_recorded() {
    let mut played = 0;
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).expect("a JSON object a line");
        let id = text(&vector["id"]);
        let game = Game::from_id(id.split("-m").next().expect("a game")).expect("a game");
        let rounds = u32::try_from(vector["rounds"].as_u64().expect("rounds")).expect("few rounds");
        let mut session = new_match(game, rounds);
        for (number, round) in (1..).zip(vector["played"].as_array().expect("rounds")) {
            assert_eq!(session.position().to_string(), text(&round["start"]), "{id}, round {number}");
            assert_eq!(session.round(), number);
            let before = session.points();
            let moves = round["moves"].as_array().expect("moves");
            let last = moves.iter().map(|mv| play(&mut session, text(mv))).last().expect("a move");
            let Event::MovePlayed { position, .. } = &last[0] else { panic!("{last:?}") };
            assert_eq!(position, text(&round["end"]), "{id}, round {number}");
            assert!(matches!(last[1], Event::RoundEnded { round, .. } if round == number), "{last:?}");
            let (after, points) = (session.points(), pair(&round["points"]));
            for seat in Seat::BOTH {
                assert_eq!(after[seat] - before[seat], points[seat], "{id}, round {number}, {seat}");
            }
        }
        let result = session.result().expect("the match has ended");
        let counted = pair(if vector["points"].is_null() { &vector["holding"] } else { &vector["points"] });
        assert_eq!((result.south, result.north), (counted[Seat::South], counted[Seat::North]), "{id}");
        assert_eq!(result.winner.map(|seat| seat.letter().to_string()).as_deref(), vector["winner"].as_str(), "{id}");
        assert_eq!(result.cause.name(), "rounds_played", "{id}");
        played += 1;
    }
    assert_eq!(played, 20);
}

#[test]
fn a_seat_that_cannot_fill_a_pit_loses_the_match() {
    let mut session = new_match(Game::AliGuliMane, 9);
    let mut random = mancala::random::SeededDice::new(7);
    let mut ended = None;
    for _ in 0..200 {
        while session.result().is_none() {
            let mv = session.rules().sample(session.position(), &mut random).expect("a move");
            play(&mut session, &mv.to_string());
        }
        let result = *session.result().expect("an end");
        if result.cause.name() == "cannot_fill" {
            ended = Some(result);
            break;
        }
        session = new_match(Game::AliGuliMane, 9);
    }
    let result = ended.expect("one match of two hundred ends so");
    let poorer = if result.south < result.north { Seat::South } else { Seat::North };
    assert_eq!(result.winner, Some(poorer.other()));
    assert!(result.south.min(result.north) < 5);
    assert_eq!(result.south + result.north, 70);
}
