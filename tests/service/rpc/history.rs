//! A session as it was: at each version, event by event, and step by step.

use crate::app::{App, apply, body, refusal};
use mancala::game::Game;
use mancala::wire::proto::{self, event::Body, step::Kind};
use std::sync::Arc;
use tokio::task::JoinSet;

/// What steps change, as a client would keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Board {
    seeds: Vec<u32>,
    controllers: Vec<i32>,
    marked: Vec<bool>,
    banks: [u32; 2],
    to_act: i32,
}

const SOUTH: i32 = proto::Seat::South as i32;

impl Board {
    fn of(position: &proto::Position) -> Board {
        Board {
            seeds: position.pits.iter().map(|pit| pit.seeds).collect(),
            controllers: position.pits.iter().map(|pit| pit.controller).collect(),
            marked: position.pits.iter().map(|pit| pit.marked).collect(),
            banks: [position.south_bank, position.north_bank],
            to_act: position.to_act,
        }
    }

    fn bank(&mut self, seat: i32) -> &mut u32 {
        &mut self.banks[usize::from(seat != SOUTH)]
    }

    fn give(&mut self, pits: &[proto::Placement], seat: i32) {
        for pit in pits {
            self.seeds[pit.pit as usize] -= pit.seeds;
            *self.bank(seat) += pit.seeds;
        }
    }

    fn apply(&mut self, step: &proto::Step) {
        match step.kind.as_ref().expect("a kind") {
            Kind::Lift(lift) => {
                self.seeds[lift.pit as usize] -= lift.seeds;
                self.marked[lift.pit as usize] = false;
            }
            Kind::Drop(drop) => drop.pits.iter().for_each(|&pit| self.seeds[pit as usize] += 1),
            Kind::Capture(capture) => self.give(&capture.pits, capture.by),
            Kind::Place(place) => {
                for pit in &place.pits {
                    self.seeds[pit.pit as usize] += pit.seeds;
                    if place.from_bank != 0 {
                        *self.bank(place.from_bank) -= pit.seeds;
                    }
                }
            }
            Kind::Transfer(transfer) => transfer.pits.iter().for_each(|&pit| self.controllers[pit as usize] = transfer.to),
            Kind::Sweep(sweep) => {
                self.give(&sweep.south, SOUTH);
                self.give(&sweep.north, proto::Seat::North.into());
            }
            Kind::Void(proto::Void {}) => {}
            Kind::Mark(mark) => mark.pits.iter().for_each(|&pit| self.marked[pit as usize] = true),
            Kind::Turn(turn) => self.to_act = turn.seat,
        }
    }
}

/// Plays a random game and gives each move's reply, with its steps and position.
async fn play(app: &App, session_id: &str, seed: u32) -> Vec<proto::ApplyMoveResponse> {
    let mut replies: Vec<proto::ApplyMoveResponse> = Vec::new();
    while replies.last().is_none_or(|last| last.match_result.is_none()) {
        let sample = proto::SampleMovesRequest { session_id: session_id.to_owned(), count: 1, seed: seed + replies.len() as u32 };
        let mv = body(app.sessions().sample_moves(sample).await).moves.remove(0).text;
        let request = proto::ApplyMoveRequest { include_position: true, include_steps: true, ..apply(session_id, &mv) };
        replies.push(body(app.sessions().apply_move(request).await));
    }
    replies
}

async fn whole_game(app: &App, game: Game) {
    let guards = proto::Guards { max_plies: Some(80), ..Default::default() };
    let made =
        app.make(proto::CreateSessionRequest { game: game.id().to_owned(), guards: Some(guards), ..Default::default() }).await;
    let id = &made.session_id;
    let replies = play(app, id, 7).await;

    // The replies' steps lead from each position to the next.
    let mut board = Board::of(made.position.as_ref().expect("a position"));
    for reply in &replies {
        reply.steps.iter().for_each(|step| board.apply(step));
        let after = reply.full_position.as_ref().expect("asked for");
        if reply.match_result.is_some() {
            board.to_act = after.to_act;
        }
        assert_eq!(board, Board::of(after), "{}", reply.position);
    }

    // Events bear the same, in pages of whatever size.
    let events = app.events(id, 7, true).await;
    assert_eq!(events, app.events(id, 1_000, true).await);
    assert!(events.iter().map(|event| event.version).eq(1..=replies.len() as u32 + 3), "the creation, the moves, two ends");
    let Some(Body::Created(created)) = &events[0].body else { panic!("{:?}", events[0]) };
    assert_eq!(created.session, Some(made.clone()));
    for (event, reply) in events[1..].iter().zip(&replies) {
        let Some(Body::MovePlayed(played)) = &event.body else { panic!("{event:?}") };
        assert_eq!((&played.position, played.captured, played.endless), (&reply.position, reply.captured, reply.endless));
        assert_eq!(played.steps, reply.steps);
        assert_eq!(event.version, reply.version - if reply.match_result.is_some() { 2 } else { 0 });
    }
    assert!(app.events(id, 1_000, false).await.iter().all(|event| match &event.body {
        Some(Body::MovePlayed(played)) => played.steps.is_empty(),
        _ => true,
    }));

    // And each version can be read again.
    assert_eq!(app.session_at(id, 1).await, made);
    for event in &events {
        let then = app.session_at(id, event.version).await;
        assert_eq!((then.version, then.update_time), (event.version, event.time));
        if let Some(Body::MovePlayed(played)) = &event.body {
            assert_eq!(then.position.expect("a position").text, played.position);
            assert_eq!((then.ply, then.result), (event.version - 1, None));
        }
    }
    let last = app.session(id).await;
    assert_eq!(app.session_at(id, last.version).await, last);
    assert_eq!(last.result, replies.last().expect("a move").match_result);
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_games_are_told_by_their_events_and_steps() {
    let app = Arc::new(App::start().await);
    let mut games = JoinSet::new();
    for game in Game::ALL {
        let app = app.clone();
        games.spawn(async move { whole_game(&app, game).await });
    }
    games.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_has_not_come_to_is_ahead() {
    let app = App::start().await;
    let id = app.create("gore").await;
    app.play(&id, "0").await;
    assert_eq!(app.session_at(&id, 2).await.version, 2);
    let ahead = proto::GetSessionRequest { session_id: id.clone(), version: Some(3) };
    let ahead = refusal(app.sessions().get_session(ahead).await);
    assert_eq!((ahead.reason.as_str(), ahead.fact("asked_version"), ahead.fact("current_version")), ("VERSION_AHEAD", "3", "2"));

    let after = |after_version| proto::ListEventsRequest { session_id: id.clone(), after_version, ..Default::default() };
    let none = body(app.sessions().list_events(after(2)).await);
    assert_eq!((none.events.len(), none.version), (0, 2));
    for include_steps in [false, true] {
        let request = proto::ListEventsRequest { include_steps, ..after(3) };
        assert_eq!(refusal(app.sessions().list_events(request).await).reason, "VERSION_AHEAD");
    }
}
