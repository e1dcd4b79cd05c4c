//! The machine's clock is set, back and forth by hours, while the program runs and while it does not.

use super::app::{App, START, apply, body};
use super::chance::{below, percent};
use super::form::{by_form, first_seed};
use super::players::{make_tables, play};
use super::power_cut::block_on;
use super::program::Program;
use super::support::sandbox::{build_preload, text};
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::service::{Retention, Swept};
use mancala::store::Store;
use mancala::wire::proto;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;

const DEADLINE: Duration = Duration::from_secs(5);
const HOUR: i64 = 3_600;

/// Five minutes for the rest of the game.
fn five_minutes() -> proto::ClockSetting {
    let main = Some(prost_types::Duration { seconds: 300, nanos: 0 });
    let total = proto::TotalTime { main, increment: Some(prost_types::Duration::default()) };
    proto::ClockSetting { kind: Some(proto::clock_setting::Kind::Total(total)) }
}

#[test]
fn whoever_sets_the_clock_changes_no_result() {
    let dice = &mut SeededDice::new(first_seed());
    let folder = TempDir::new().expect("a folder");
    let library = build_preload("jumping_clock", folder.path());
    let (store, ahead) = (folder.path().join("store.db"), folder.path().join("ahead"));
    let set_ahead = |hours: i64| fs::write(&ahead, (hours * HOUR).to_string()).expect("a file");
    let variables = [("LD_PRELOAD", text(&library)), ("CLOCK_AHEAD", text(&ahead))];
    block_on(async {
        // At every start it is earlier than before: time does not go back for sessions that are there.
        let runs = by_form(3, 20);
        let mut tables = Vec::new();
        for run in 0..runs {
            set_ahead(10 * (runs - run));
            let program = Program::serve_with(&store, &variables);
            if run == 0 {
                tables = make_tables(&program, 4, Some(five_minutes())).await;
                tables.extend(make_tables(&program, 4, None).await);
            }
            let before: usize = tables.iter().map(|table| table.acknowledged.len()).sum();
            let (stop, stopped) = watch::channel(false);
            let jumps = async {
                for _ in 0..10 {
                    set_ahead(dice.below(200) as i64 - 100);
                    tokio::time::sleep(Duration::from_millis(10 + below(dice, 50) as u64)).await;
                }
                stop.send_replace(true);
            };
            // Nobody runs out of time: that would be SESSION_OVER, at which players give up.
            let ((after, met), ()) = tokio::join!(play(&program, tables, DEADLINE, stopped), jumps);
            tables = after;
            let moves = tables.iter().map(|table| table.acknowledged.len()).sum::<usize>() - before;
            report!("run {run}: {moves} moves, refusals {:?}", met.refusals);
            assert!(moves >= tables.len() && met.refusals.is_empty(), "{met:?}");
            for table in &tables {
                table.audit(&program).await;
            }
            program.stop();
        }
    });
}

const HOURS: Duration = Duration::from_secs(3_600);

/// What nothing has happened to for ten hours is announced, and deleted two hours later.
const RETENTION: Retention = Retention {
    finished: Some(HOURS.saturating_mul(10)),
    aborted: Some(HOURS.saturating_mul(10)),
    abandoned: Some(HOURS.saturating_mul(10)),
    notice: HOURS.saturating_mul(2),
};

/// Sessions that are played, left alone, announced to expire and deleted, by a clock that shows anything.
#[tokio::test(flavor = "multi_thread")]
async fn no_session_expires_before_its_announced_time() {
    let dice = &mut SeededDice::new(first_seed());
    let app = App::start().await;
    let mut sessions = Vec::new();
    let mut all = Swept::default();
    for round in 0..by_form(300, 5_000) as i64 {
        // It goes on by an hour at a time, on the whole: no session's time goes back, and at the latest that the clock shows it ends.
        let now = START + (round + dice.below(80) as i64 - 40) * HOUR * 1_000_000;
        app.clock.set(now);
        if sessions.len() < 8 {
            sessions.push(app.create("ayoayo").await);
        }
        let played = sessions[below(dice, sessions.len())].clone();
        if percent(dice, 50) {
            let mv = app.legal_moves(&played).await.pop();
            if let Some(mv) = mv {
                body(app.sessions().apply_move(apply(&played, &mv)).await);
                assert_eq!(app.store.head(&played).await.expect("head").expect("the session").expires, None, "it goes on");
            }
        }
        let mut announced = Vec::new();
        for session_id in &sessions {
            announced.push(app.store.head(session_id).await.expect("head").expect("the session").expires);
        }
        let swept = app.service.sweep(&RETENTION).await.expect("a sweep");
        all = Swept { announced: all.announced + swept.announced, deleted: all.deleted + swept.deleted };
        for (session_id, announced) in std::mem::take(&mut sessions).into_iter().zip(announced) {
            if app.store.head(&session_id).await.expect("head").is_some() {
                sessions.push(session_id);
            } else {
                assert!(announced.is_some_and(|announced| announced <= now), "{session_id} was deleted before {announced:?}");
            }
        }
        for session_id in &sessions {
            let events = app.store.read(session_id, 0, usize::MAX).await.expect("a read").expect("the session");
            assert!(events.is_sorted_by_key(|event| event.time), "the times of {session_id} go back");
        }
    }
    report!("{all:?}");
    assert!(all.announced > all.deleted && all.deleted > 0, "{all:?}");
}
