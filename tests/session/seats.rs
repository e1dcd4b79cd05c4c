//! Seats within a session: what can become of them, and how that is stored.

use mancala::game::{Game, Guards, Rules, Seat};
use mancala::session::{
    Claimant, Command, Created, Credential, Event, Player, Rejection, SeatCommand, SeatStart, SecretHash, Session, Spectators,
    check_name,
};
use std::collections::BTreeMap;

fn hash(number: u8) -> SecretHash {
    SecretHash::new([number; 32])
}

fn player(name: &str) -> Player {
    Player { reference: format!("ref-{name}"), display_name: name.to_owned() }
}

fn created(seats: Vec<SeatStart>) -> Created {
    let rules = Rules::new(Game::Gore);
    Created {
        game: "gore".to_owned(),
        options: rules.options().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        guards: Guards::of(Game::Gore).into(),
        position: rules.start().to_string(),
        labels: BTreeMap::new(),
        rounds: 1,
        clock: None,
        previous_session_id: None,
        seats,
        spectators: Spectators::default(),
    }
}

/// South has token 1; North is to be claimed by code 2.
fn session() -> Session {
    let south = SeatStart { seat: Seat::South, player: Some(player("Ana")), token: Some(hash(1)), join_code: None };
    let north = SeatStart { seat: Seat::North, player: None, token: None, join_code: Some(hash(2)) };
    Session::new("table".to_owned(), &created(vec![south, north]), 0).expect("a session")
}

fn apply(session: &mut Session, command: SeatCommand) -> Result<Event, Rejection> {
    let mut events = session.decide(&Command::Seat(command), 1, &mut ())?;
    let event = events.pop().expect("an event");
    assert!(events.is_empty(), "one event a command");
    // As it comes back from the store.
    let stored = Event::from_json(&event.to_json()).expect("an event");
    assert_eq!(stored, event);
    session.evolve(&stored, 1, &mut ()).expect("it follows");
    Ok(event)
}

fn claim(by: Claimant, token: u8) -> SeatCommand {
    SeatCommand::Claim { by, player: player("Ben"), token: hash(token) }
}

fn token(seat: Seat, number: u8) -> Credential {
    Credential::Token { seat, hash: hash(number) }
}

fn code(seat: Option<Seat>, number: u8) -> Credential {
    Credential::JoinCode { seat, hash: hash(number) }
}

#[test]
fn a_credential_opens_its_own_seat_alone() {
    let session = session();
    let accepts = |credential| session.seats().accept(&credential);
    assert!(accepts(Credential::Trusted));
    assert!(accepts(token(Seat::South, 1)));
    assert!(!accepts(token(Seat::North, 1)) && !accepts(token(Seat::South, 2)) && !accepts(token(Seat::North, 2)));
    assert!(accepts(code(None, 2)) && accepts(code(Some(Seat::North), 2)));
    assert!(!accepts(code(Some(Seat::South), 2)) && !accepts(code(None, 1)) && !accepts(code(None, 3)));
}

#[test]
fn a_code_claims_once_and_is_still_known() {
    let mut session = session();
    let north = Seat::North;
    let event = apply(&mut session, claim(Claimant::JoinCode(hash(2)), 3)).expect("a claim");
    assert_eq!(event, Event::SeatClaimed { seat: north, player: player("Ben"), token: hash(3) });
    assert_eq!(event.seat(), Some(north));
    assert_eq!(session.seats().of(north).player(), Some(&player("Ben")));
    assert!(session.seats().accept(&token(north, 3)) && session.seats().accept(&code(None, 2)));
    assert!(!session.seats().of(north).is_joinable());
    for by in [Claimant::JoinCode(hash(2)), Claimant::Trusted(north)] {
        assert_eq!(apply(&mut session, claim(by, 4)), Err(Rejection::SeatTaken { seat: north }));
    }
    assert_eq!(apply(&mut session, claim(Claimant::JoinCode(hash(9)), 4)), Err(Rejection::JoinCodeUnknown));
}

#[test]
fn a_rotation_makes_the_old_token_void_and_nothing_else() {
    let mut session = session();
    apply(&mut session, SeatCommand::Rotate { seat: Seat::South, token: hash(5) }).expect("a rotation");
    assert!(session.seats().accept(&token(Seat::South, 5)) && !session.seats().accept(&token(Seat::South, 1)));
    assert_eq!(session.seats().of(Seat::South).player(), Some(&player("Ana")));
    let nobody = SeatCommand::Rotate { seat: Seat::North, token: hash(6) };
    assert_eq!(apply(&mut session, nobody), Err(Rejection::SeatUnclaimed { seat: Seat::North }));
}

#[test]
fn a_revoked_seat_is_the_operators_to_give() {
    let mut session = session();
    for (seat, credential) in [(Seat::South, token(Seat::South, 1)), (Seat::North, code(None, 2))] {
        apply(&mut session, SeatCommand::Revoke { seat }).expect("a revocation");
        assert!(!session.seats().accept(&credential));
        assert_eq!(apply(&mut session, SeatCommand::Revoke { seat }), Err(Rejection::NothingToRevoke { seat }));
        apply(&mut session, claim(Claimant::Trusted(seat), 7)).expect("a claim");
        assert!(session.seats().accept(&token(seat, 7)));
        assert_eq!(session.seats().of(seat).player(), Some(&player("Ben")));
        apply(&mut session, SeatCommand::Revoke { seat }).expect("a revocation");
        apply(&mut session, SeatCommand::Rotate { seat, token: hash(8) }).expect("a rotation");
        assert_eq!(apply(&mut session, claim(Claimant::Trusted(seat), 9)), Err(Rejection::SeatTaken { seat }));
    }
}

#[test]
fn once_the_session_is_over_seats_are_not_claimed_but_tokens_go_on() {
    let mut session = session();
    let end = session.decide(&Command::Resign { seat: Some(Seat::South), whole_match: true }, 1, &mut ()).expect("the end");
    end.iter().for_each(|event| session.evolve(event, 1, &mut ()).expect("it follows"));
    let late = apply(&mut session, claim(Claimant::JoinCode(hash(2)), 3));
    assert_eq!(late, Err(Rejection::SessionOver { cause: "resignation" }));
    apply(&mut session, SeatCommand::Rotate { seat: Seat::South, token: hash(5) }).expect("a rotation");
    apply(&mut session, SeatCommand::Revoke { seat: Seat::South }).expect("a revocation");
}

#[test]
fn events_that_cannot_be_are_noticed() {
    let claimed = |seat| Event::SeatClaimed { seat, player: player("Eve"), token: hash(9) };
    let impossible =
        [claimed(Seat::South), Event::TokenRotated { seat: Seat::North, token: hash(9) }, Event::Created(created(Vec::new()))];
    for event in impossible {
        assert!(session().evolve(&event, 1, &mut ()).is_err(), "{event:?}");
    }
    let mut revoked = session();
    apply(&mut revoked, SeatCommand::Revoke { seat: Seat::South }).expect("a revocation");
    assert!(revoked.evolve(&Event::TokenRevoked { seat: Seat::South }, 1, &mut ()).is_err());
}

#[test]
fn what_was_stored_before_seats_were_kept_is_read_and_written_as_it_was() {
    let stored = r#"{"type":"created","game":"gore","options":{},"guards":{"repetition":3,"quiet":0,"max_plies":9},"position":"gore 7,7,7,7/7,7,7,7 0-0 S sow","labels":{}}"#;
    let event = Event::from_json(stored).expect("an event");
    assert_eq!(event.to_json(), stored);
}

#[test]
fn names_are_short_plain_text() {
    for good in ["", "Ana María", &"é".repeat(32), &"x".repeat(64)] {
        assert!(check_name(good).is_ok(), "{good:?}");
    }
    for bad in [&"x".repeat(65), &"é".repeat(33), "a\nb", "a\u{202E}b", "\u{E000}", "e\u{301}"] {
        assert!(check_name(bad).is_err(), "{bad:?}");
    }
}
