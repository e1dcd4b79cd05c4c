//! Callers that go away, that come at once, and more sessions than are kept in memory: the store and what is answered agree.

use crate::app::{App, START, apply, body, refusal};
use mancala::game::{Game, Guards, Record, Rules};
use mancala::random::SeededDice;
use mancala::wire::proto;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_go_away_leave_no_doubt() {
    let mut app = App::start().await;
    let mut ids = vec![app.create("hoyito3").await];
    let mut acknowledged = Vec::new();
    for n in 0..200_u64 {
        let id = ids.last().expect("a session").clone();
        let Some(mv) = app.legal_moves(&id).await.pop() else {
            ids.push(app.create("hoyito3").await);
            continue;
        };
        let request = proto::ApplyMoveRequest { request_id: format!("r{n}"), ..apply(&id, &mv) };
        let mut sessions = app.sessions();
        let call = tokio::time::timeout(Duration::from_micros(n % 30 * 100), sessions.apply_move(request.clone()));
        // Whether the caller left before the request, the change or the answer: asked again it is done, and once.
        drop(call.await);
        if n % 3 == 0 {
            // Refused only if a call that nobody waits for any more has changed the session meanwhile.
            match app.sessions().apply_move(request.clone()).await {
                Ok(reply) => acknowledged.push((id, request.request_id, reply.into_inner().version)),
                refused => assert_eq!(refusal(refused).code, Code::FailedPrecondition),
            }
        }
    }
    let mut shown = Vec::new();
    for id in &ids {
        let session = app.session(id).await;
        let events = app.events(id, 100, false).await;
        assert!(events.iter().map(|event| event.version).eq(1..=session.version), "dense");
        for (_, request_id, version) in acknowledged.iter().filter(|(of, _, _)| of == id) {
            let event = events.iter().rfind(|event| event.request_id == *request_id).expect("what was acknowledged");
            assert_eq!(event.version, *version);
        }
        let mut requests: Vec<_> = events.iter().map(|event| &event.request_id).filter(|id| !id.is_empty()).collect();
        requests.dedup();
        let all = requests.len();
        requests.sort();
        requests.dedup();
        assert_eq!(requests.len(), all, "each request once");
        let mut moves = events.iter().filter_map(|event| match &event.body {
            Some(proto::event::Body::MovePlayed(played)) => Some(played.position.clone()),
            _ => None,
        });
        assert_eq!(moves.next_back(), session.position.as_ref().map(|position| position.text.clone()));
        shown.push(session);
    }
    assert!(acknowledged.len() > 40, "{}", acknowledged.len());
    app = app.restart().await;
    for session in shown {
        assert_eq!(app.session(&session.session_id).await, session, "memory and store agree");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_movers_one_wins_a_version() {
    let app = Arc::new(App::start().await);
    let id = app.create("gore").await;
    for version in 1..=5 {
        let moves = app.legal_moves(&id).await;
        let mut movers = JoinSet::new();
        for n in 0..20 {
            let request = proto::ApplyMoveRequest {
                expected_version: Some(version),
                request_id: format!("v{version}n{n}"),
                ..apply(&id, &moves[n % moves.len()])
            };
            let app = app.clone();
            movers.spawn(async move { app.sessions().apply_move(request).await });
        }
        let (won, lost): (Vec<_>, Vec<_>) = movers.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 19));
        for lost in lost {
            let lost = refusal(lost);
            assert_eq!(lost.reason, "STALE_VERSION");
            assert_eq!(lost.fact("current_version"), (version + 1).to_string());
        }
    }
    assert_eq!(app.session(&id).await.version, 6);
}

/// Plays a whole random game, each move compared with the rules in this process.
async fn play_random_game(app: &App, game: Game, seed: u64) {
    let guards = Guards { max_plies: 60, ..Guards::of(game) };
    let limits = proto::Guards { repetition: None, quiet: None, max_plies: Some(60) };
    let session =
        app.make(proto::CreateSessionRequest { game: game.id().to_owned(), guards: Some(limits), ..Default::default() }).await;
    let rules = Rules::new(game);
    let mut record = Record::new(rules, guards, rules.start());
    let mut dice = SeededDice::new(seed);
    while let Some(mv) = rules.sample(record.position(), &mut dice) {
        let ply = record.play(mv, &mut ()).expect("a drawn move is legal");
        let request = proto::ApplyMoveRequest {
            expected_version: Some(record.moves().len() as u32),
            ..apply(&session.session_id, &mv.to_string())
        };
        let reply = body(app.sessions().apply_move(request).await);
        assert_eq!(reply.position, record.position().to_string());
        assert_eq!(reply.captured, u32::from(ply.captured));
        assert_eq!(reply.match_result.is_some(), record.position().is_over());
    }
    let ended = app.session(&session.session_id).await;
    assert_eq!(ended.state, i32::from(proto::SessionState::Finished));
    assert_eq!(ended.position.expect("a position").text, record.position().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_push_each_other_out_of_memory_are_played_right() {
    let app = Arc::new(App::with_cache(1).await);
    let mut games = JoinSet::new();
    for (seed, game) in (0..).zip(Game::ALL) {
        let app = app.clone();
        games.spawn(async move { play_random_game(&app, game, seed).await });
    }
    games.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn movers_of_one_session_that_is_pushed_out_of_memory_lose_nothing() {
    let app = Arc::new(App::with_cache(1).await);
    let (id, other) = (app.create("gore").await, app.create("gore").await);
    let mut calls = JoinSet::new();
    for n in 0..40 {
        let (app, id, other) = (app.clone(), id.clone(), other.clone());
        calls.spawn(async move {
            app.session(&other).await;
            let request = proto::ApplyMoveRequest { request_id: format!("n{n}"), ..apply(&id, &(n % 8).to_string()) };
            app.sessions().apply_move(request).await.map(|reply| reply.into_inner().version).map_err(|status| status.code())
        });
    }
    let answers = calls.join_all().await;
    let mut versions: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).copied().collect();
    versions.sort_unstable();
    let session = app.session(&id).await;
    let each_once = versions.len() > 1 && versions.into_iter().eq(2..=session.version);
    assert!(each_once, "each version was one caller's: {answers:?}; {session:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_does_not_turn_events_round() {
    let app = App::start().await;
    let ten_years = 10 * 365 * 86_400 * 1_000_000;
    let id = app.create("gore").await;
    app.clock.advance(5_000_000);
    app.play(&id, "0").await;
    app.clock.set(START - ten_years);
    app.play(&id, "5").await;
    app.clock.set(START + 7_250_000);
    app.play(&id, "2").await;
    let times: Vec<_> = app.events(&id, 2, false).await.into_iter().map(|event| event.time.expect("a time")).collect();
    let seconds = START / 1_000_000;
    let expected = [(0, 0), (5, 0), (5, 0), (7, 250_000_000)].map(|(after, nanos)| (seconds + after, nanos));
    assert!(times.iter().map(|time| (time.seconds, time.nanos)).eq(expected), "{times:?}");
    let session = app.session(&id).await;
    assert_eq!((session.create_time, session.update_time), (Some(times[0]), Some(times[3])));
}
