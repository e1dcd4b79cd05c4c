//! A random schedule: some servers of one store, clients and watchers, and what happens to them, all drawn from a seed; and what the
//! auditor and the search for an order say of it.

use crate::audit::{Logs, WatchLog, audit, is_time_out};
use crate::call::{CLOCKS, Outcome};
use crate::fault::{Counts, Fault, Faults};
use crate::fleet::{Fleet, Only};
use crate::ground::Ground;
use crate::ledger::{Entry, Ledger};
use crate::machine::is_linear;
use crate::plan::{Found, Plan, Tally};
use crate::player::{Memory, Player};
use crate::watcher::Watcher;
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Carries a plan out over a ground that is empty.
pub async fn run(plan: &Plan, ground: Arc<dyn Ground>, faults: Faults, ledger: &Arc<Ledger>) -> Found {
    let fleet = Fleet::start(plan, ground.clone(), faults.clone()).await;
    let sessions: Arc<Vec<_>> = {
        let mut dice = SeededDice::for_game(plan.seed, 2);
        Arc::new((0..plan.sessions).map(|number| name(number, &mut dice)).collect())
    };
    let (last, players) = (watch::Sender::new(None), spawn_players(plan, &fleet, ledger, &sessions));
    let watchers = spawn_watchers(plan, &fleet, &sessions, &last);
    let over = AtomicBool::new(false);
    let played = async {
        players.join_all().await;
        over.store(true, Ordering::SeqCst);
    };
    tokio::join!(played, fleet.trouble_servers(ledger, &over), fleet.trouble_ground(ledger, &over));
    ground.calm();
    fleet.rest();
    // Whoever asks now is told what is stored in the end.
    sleep(ground.settles()).await;
    let logs = read_logs(&*ground.store(0).await, &sessions).await;
    last.send_replace(Some(logs.values().map(|log| log.as_ref().map_or(0, |log| log.len() as u32)).collect()));
    let watched = watchers.join_all().await;
    fleet.end();
    judge(ledger.entries(), &logs, &watched, faults.counts())
}

/// The name of a session, which says its game and, of every other one, its clock.
fn name(number: usize, dice: &mut SeededDice) -> String {
    let clock = if dice.below(2) == 0 { format!("c{}-", dice.below(CLOCKS.len() as u64)) } else { String::new() };
    format!("session-{number}-{clock}{}", dice.below(5))
}

fn spawn_players(plan: &Plan, fleet: &Arc<Fleet>, ledger: &Arc<Ledger>, sessions: &Arc<Vec<String>>) -> JoinSet<()> {
    let mut players = JoinSet::new();
    for number in 0..plan.clients {
        let player = Player {
            number,
            servers: fleet.clone(),
            ledger: ledger.clone(),
            sessions: sessions.clone(),
            dice: SeededDice::for_game(plan.seed, 100 + u64::from(number)),
            patience: plan.patience,
            pause: plan.pause,
            deletions: plan.deletions,
            memory: Memory::default(),
        };
        let calls = plan.calls;
        let to_make = if number == 0 { sessions.to_vec() } else { Vec::new() };
        players.spawn(player.play(to_make, move |done| done < calls));
    }
    players
}

/// The last version of each session.
type Last = watch::Sender<Option<Vec<u32>>>;

fn spawn_watchers(plan: &Plan, fleet: &Arc<Fleet>, sessions: &Arc<Vec<String>>, last: &Last) -> JoinSet<WatchLog> {
    let mut watchers = JoinSet::new();
    // One of a session at a server: the order in which several would be woken is none that a seed determines.
    for number in 0..plan.watchers.min(plan.servers * plan.sessions) {
        let mut dice = SeededDice::for_game(plan.seed, 1_000 + number as u64);
        let place = number % plan.sessions;
        let servers = Arc::new(Only { fleet: fleet.clone(), place: number / plan.sessions });
        let after = dice.below(2) as u32;
        let (mut all, this) = (last.subscribe(), watch::Sender::new(None));
        let last = this.subscribe();
        tokio::spawn(async move {
            // It fails when the schedule is given up.
            let version = all.wait_for(Option::is_some).await.map(|all| all.as_ref().map(|all| all[place]));
            this.send_replace(version.unwrap_or_default());
            this.closed().await;
        });
        let session = sessions[place].clone();
        let patience = Duration::from_secs(3);
        watchers.spawn(Watcher { servers, session, after, dice, last, patience }.watch());
    }
    watchers
}

/// All that is stored of these sessions.
pub async fn read_logs(store: &dyn Store, sessions: &[String]) -> Logs {
    let mut logs = Logs::new();
    for session in sessions {
        logs.insert(session.clone(), store.read(session, 0, 100_000).await.expect("the store can be read"));
    }
    logs
}

/// What all checks say.
pub fn judge(entries: Vec<Entry>, logs: &Logs, watched: &[WatchLog], faults: Counts) -> Found {
    let entries = &excused(entries, faults.get(&Fault::BitFlipped).copied().unwrap_or_default());
    let objections = audit(entries, logs, watched);
    let disorder = logs.iter().filter_map(|(session, log)| {
        let time_outs: Vec<_> = log.iter().flatten().filter(|event| is_time_out(event)).map(|event| event.seq).collect();
        let linear = is_linear(entries.iter().filter(|entry| entry.call.session == *session), &time_outs);
        Some((session.clone(), linear.err()?))
    });
    let disorder = disorder.collect();
    let count = |is: fn(&Outcome) -> bool| entries.iter().filter(|entry| is(entry.outcome())).count();
    let tally = Tally {
        calls: entries.len(),
        acknowledged: count(|outcome| matches!(outcome, Outcome::Done(_))),
        repeated: count(|outcome| matches!(outcome, Outcome::Done(seen) if seen.replayed)),
        refused: count(|outcome| matches!(outcome, Outcome::Refused { .. })),
        unknown: count(|outcome| *outcome == Outcome::Unknown),
        events: logs.values().flatten().map(Vec::len).sum(),
        watched: watched.iter().map(|watch| watch.events.len()).sum(),
        timed_out: logs.values().flatten().flatten().filter(|event| is_time_out(event)).count(),
        faults,
    };
    Found { objections, disorder, tally, trace: format!("{entries:#?} {watched:#?}") }
}

/// A call that met what was damaged on its way from the store is refused, and says nothing of the session; so are no more than there
/// were such damages.
fn excused(entries: Vec<Entry>, flipped: u64) -> Vec<Entry> {
    let met = |outcome: &Outcome| matches!(outcome, Outcome::Refused { reason, .. } if reason == "SESSION_DAMAGED");
    if entries.iter().filter(|entry| met(entry.outcome())).count() as u64 > flipped {
        return entries;
    }
    let excuse = |outcome: Outcome| if met(&outcome) { Outcome::Failed } else { outcome };
    entries.into_iter().map(|entry| Entry { ended: entry.ended.map(|(at, outcome)| (at, excuse(outcome))), ..entry }).collect()
}
