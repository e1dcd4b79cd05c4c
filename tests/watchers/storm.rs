//! Random watchers, followers and movers, with the server coming and going and sessions deleted: everybody sees exactly what is stored.

use crate::app::PATIENCE;
use crate::follower::{Followed, Follower};
use crate::form::first_seed;
use crate::long_form;
use crate::mover::Mover;
use crate::place::{Host, Place};
use crate::player::Player;
use crate::seen::{Stored, check, objections_to_damage};
use crate::truth::Truth;
use crate::watcher::{Ends, Seen, Watcher};
use mancala::game::{Dice, Game};
use mancala::random::SeededDice;
use mancala::wire::proto::session_service_client::SessionServiceClient;
use mancala::wire::proto::{self, Event};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tonic::transport::Channel;

type Client = SessionServiceClient<Channel>;

/// How much there is of it.
struct Size {
    sessions: usize,
    movers: u64,
    players: u64,
    watchers: u64,
    followers: u64,
    restarts: u32,
    /// Changes between two restarts.
    between: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_watcher_sees_exactly_what_is_stored() {
    let size = match long_form() {
        false => Size { sessions: 10, movers: 4, players: 2, watchers: 30, followers: 5, restarts: 3, between: 120 },
        true => Size { sessions: 60, movers: 8, players: 4, watchers: 100, followers: 10, restarts: 40, between: 500 },
    };
    storm(Host::here().await, &size).await;
}

/// As above, but of the built program, which is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_watcher_sees_exactly_what_is_stored_by_a_program_that_is_killed() {
    let size = Size {
        sessions: if long_form() { 30 } else { 10 },
        movers: 4,
        players: 2,
        watchers: 20,
        followers: 4,
        restarts: if long_form() { 40 } else { 2 },
        between: if long_form() { 300 } else { 80 },
    };
    storm(Host::program(), &size).await;
}

async fn storm(mut host: Host, size: &Size) {
    let seed = first_seed();
    let truth = Truth::new();
    let (moves, place) = Place::new(&host);
    let sessions = Arc::new(make_sessions(&place, &truth, size.sessions).await);
    let stop = Arc::new(AtomicBool::new(false));
    let mut played = JoinSet::new();
    for number in 0..size.movers + size.players {
        let (place, truth, sessions, stop) = (place.clone(), truth.clone(), sessions.clone(), stop.clone());
        let dice = SeededDice::for_game(seed, number);
        if number < size.movers {
            played.spawn(Mover { place, truth, sessions, dice, stop }.run());
        } else {
            played.spawn(Player { place, truth, sessions, dice, stop, moves: HashMap::new() }.run());
        }
    }
    let mut watched = JoinSet::new();
    for number in 0..size.watchers {
        let mut dice = SeededDice::for_game(seed, 1_000 + number);
        let session_id = sessions[number as usize % sessions.len()].clone();
        let (place, truth) = (place.clone(), truth.clone());
        let begin = dice.below(size.between as u64 * u64::from(size.restarts)) as usize;
        let (by_play, include_steps) = (dice.below(4) == 0, dice.below(2) == 0);
        watched.spawn(async move {
            // Half of them begin later.
            while number % 2 == 0 && truth.changes() < begin {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Watcher { place, truth, session_id, dice, include_steps, by_play }.run().await
        });
    }
    let mut followed = JoinSet::new();
    for number in 0..size.followers {
        let (place, truth, sessions) = (place.clone(), truth.clone(), sessions.clone());
        let dice = SeededDice::for_game(seed, 2_000 + number);
        let game = if number % 2 == 0 { String::new() } else { Game::ALL[number as usize % 5].id().to_owned() };
        let follower = Follower { place, truth, dice, game, from_start: number % 3 != 2 };
        followed.spawn(async move { follower.run(&sessions).await });
    }

    for restart in 0..=size.restarts {
        let until = truth.changes() + size.between;
        let patience = Instant::now() + PATIENCE;
        while truth.changes() < until {
            assert!(Instant::now() < patience, "nobody plays any more");
            host.tick();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // One after the other, as long as there are enough left.
        let doomed = &sessions[restart as usize % sessions.len()];
        if restart % 2 == 0 && (restart as usize) < sessions.len() / 3 {
            delete(&place, &truth, doomed).await;
        }
        if restart < size.restarts {
            moves.send_replace(None);
            host = host.restart().await;
            moves.send_replace(Some(host.endpoint()));
        }
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(done) = played.join_next().await {
        done.expect("a mover's end");
    }
    let stored = read_all(&place, &sessions, &truth).await;
    truth.finish(stored.iter().map(|(id, events)| (id.clone(), events[0].len() as u32)).collect());

    let mut sum = Sum::default();
    let mut damaged = false;
    while let Some(seen) = watched.join_next().await {
        let seen = seen.expect("a watcher's end");
        sum.add(&seen);
        check_seen(&place, &seen, &stored, &truth).await;
        damaged = damaged || check_on_damage(&seen, &stored, &truth);
    }
    let mut again = 0;
    while let Some(followed) = followed.join_next().await {
        let followed = followed.expect("a follower's end");
        again += followed.copy.again;
        check_followed(&followed, &stored, &truth);
    }
    assert!(again > 0, "some events were told twice");
    report!("{} changes acknowledged, {sum:?}, {again} events told again to followers", truth.changes());
    assert!(damaged, "no watcher has seen enough for the checker to be checked on it");
    assert!(sum.dropped > 0 && sum.stopped + sum.broken > 0, "{sum:?}");
}

/// What all watchers have seen.
#[derive(Debug, Default)]
struct Sum {
    messages: usize,
    events: u64,
    snapshots: usize,
    deleted: u32,
    dropped: u32,
    aged: u32,
    stopped: u32,
    broken: u32,
}

impl Sum {
    fn add(&mut self, seen: &Seen) {
        let Ends { dropped, aged, stopped, broken } = seen.ends;
        self.messages += seen.messages.len();
        self.events += seen.messages.iter().map(|message| message.events.len() as u64).sum::<u64>();
        self.snapshots += seen.messages.iter().filter(|message| message.session.is_some()).count();
        self.deleted += u32::from(seen.deleted);
        self.dropped += dropped;
        self.aged += aged;
        self.stopped += stopped;
        self.broken += broken;
    }
}

async fn client(place: &Place) -> Client {
    Client::new(place.clone().connect().await).max_decoding_message_size(64 << 20)
}

async fn make_sessions(place: &Place, truth: &Truth, count: usize) -> Vec<String> {
    let mut client = client(place).await;
    let mut sessions = Vec::new();
    for number in 0..count {
        let session_id = format!("storm-{number}");
        let game = Game::ALL[number % 5].id().to_owned();
        let request = proto::CreateSessionRequest { game, session_id: session_id.clone(), rounds: 100, ..Default::default() };
        client.create_session(request).await.expect("a session");
        truth.changed(&session_id, 1);
        sessions.push(session_id);
    }
    sessions
}

async fn delete(place: &Place, truth: &Truth, session_id: &str) {
    truth.delete(session_id);
    let request = proto::DeleteSessionRequest { session_id: session_id.to_owned(), ..Default::default() };
    client(place).await.delete_session(request).await.expect("deleted");
}

/// The events of all sessions that are there, without and with steps.
type AllStored = BTreeMap<String, [Vec<Event>; 2]>;

async fn read_all(place: &Place, sessions: &[String], truth: &Truth) -> AllStored {
    let mut client = client(place).await;
    let mut all = AllStored::new();
    for session_id in sessions.iter().filter(|id| !truth.is_deleted(id)) {
        let mut both = [Vec::new(), Vec::new()];
        for (events, include_steps) in both.iter_mut().zip([false, true]) {
            read(&mut client, session_id, include_steps, events).await;
        }
        all.insert(session_id.clone(), both);
    }
    all
}

async fn read(client: &mut Client, session_id: &str, include_steps: bool, events: &mut Vec<Event>) {
    loop {
        let after_version = events.len() as u32;
        let request =
            proto::ListEventsRequest { session_id: session_id.to_owned(), after_version, page_size: 1_000, include_steps };
        let page = client.list_events(request).await.expect("events").into_inner();
        events.extend(page.events);
        if events.len() as u32 == page.version {
            return;
        }
    }
}

async fn check_seen(place: &Place, seen: &Seen, stored: &AllStored, truth: &Truth) {
    let Some(both) = stored.get(&seen.session_id) else {
        assert!(seen.deleted, "{} is gone, and its watcher was not told", seen.session_id);
        let versions: Vec<_> = seen.messages.iter().flat_map(|message| &message.events).map(|event| event.version).collect();
        let due: Vec<_> = (seen.start + 1..).take(versions.len()).collect();
        return assert_eq!(versions, due, "{}", seen.session_id);
    };
    let ends = truth.ends(&seen.session_id);
    let stored = Stored { events: &both[usize::from(seen.include_steps)], ends: &ends };
    if let Err(objection) = check(seen.start, &seen.messages, &stored) {
        panic!("{} after {}: {objection}", seen.session_id, seen.start);
    }
    let mut client = client(place).await;
    for session in seen.messages.iter().filter_map(|message| message.session.as_ref()) {
        let request = proto::GetSessionRequest { session_id: seen.session_id.clone(), version: Some(session.version) };
        let then = client.get_session(request).await.expect("a session").into_inner();
        assert_eq!(then.session.as_ref(), Some(session), "a snapshot is the session as it was");
    }
}

/// Whether this one has seen enough for all damages; if so each must be objected to.
fn check_on_damage(seen: &Seen, stored: &AllStored, truth: &Truth) -> bool {
    let Some(both) = stored.get(&seen.session_id) else { return false };
    let ends = truth.ends(&seen.session_id);
    let several = seen.messages.iter().any(|message| message.events.len() > 1);
    let change = seen.messages.iter().flat_map(|message| &message.events).any(|event| !ends.contains(&event.version));
    let enough = several && change;
    if enough {
        let stored = Stored { events: &both[usize::from(seen.include_steps)], ends: &ends };
        assert_eq!(objections_to_damage(seen.start, &seen.messages, &stored).len(), 10);
    }
    enough
}

fn check_followed(followed: &Followed, stored: &AllStored, truth: &Truth) {
    let Followed { game, copy, begun } = followed;
    for (id, [events, _]) in stored.iter().filter(|(_, both)| game.is_empty() || *game == game_of(&both[0])) {
        let Some((start, known)) = copy.known.get(id) else {
            assert!(!copy.from_start && events.len() as u32 <= begun[id], "nothing is known of {id}");
            continue;
        };
        assert!(*start <= begun[id], "{id}: told from {start} on, but it was at {} when the watch began", begun[id]);
        assert_eq!(*known, events[*start as usize..], "{id}");
    }
    let gone = copy.known.keys().filter(|id| !stored.contains_key(*id)).collect::<Vec<_>>();
    assert!(gone.is_empty(), "{gone:?} are gone, and it was not told");
    for (id, end) in &copy.ends {
        assert!(truth.is_deleted(id) || truth.ends(id).contains(end), "{id}: {end} is amid a change");
    }
}

fn game_of(events: &[Event]) -> String {
    match &events[0].body {
        Some(proto::event::Body::Created(created)) => created.session.as_ref().expect("a session").game.clone(),
        other => panic!("{other:?} makes no session"),
    }
}
