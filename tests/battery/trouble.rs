//! What happens to the servers of a schedule and to what they stand on, drawn, as long as clients play.

use crate::fault::Fault;
use crate::fleet::Fleet;
use crate::ledger::Ledger;
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// What happens to servers, whatever they stand on.
const OF_SERVERS: [Fault; 3] = [Fault::Killed, Fault::CutOff, Fault::ClockSet];
/// The furthest that a clock is set, in microseconds: little, so that clocks of players go on, or by so much that they are out.
const JUMPS: [u64; 2] = [200_000, 3_600_000_000];

/// Whether clients have stopped to play.
pub type Over = AtomicBool;

impl Fleet {
    /// What happens to servers, one after the other.
    pub async fn trouble_servers(&self, ledger: &Ledger, over: &Over) {
        let dice = &mut SeededDice::for_game(self.plan.seed, 3);
        for _ in 0..self.plan.events {
            sleep(Duration::from_millis(dice.below(80))).await;
            if over.load(Ordering::SeqCst) {
                return;
            }
            let fault = OF_SERVERS[dice.below(3) as usize];
            let place = dice.below(self.plan.servers as u64) as usize;
            let lasts = Duration::from_millis(dice.below(60));
            let furthest = JUMPS[dice.below(2) as usize];
            let jump = dice.below(2 * furthest) as i64 - furthest as i64;
            ledger.note(&format!("server {place}: {fault:?} for {lasts:?} or by {jump} us"));
            match fault {
                Fault::Killed => self.restart([place], sleep(lasts)).await,
                Fault::CutOff => {
                    self.cut(place, true);
                    sleep(lasts).await;
                    self.cut(place, false);
                }
                Fault::ClockSet => self.set_clock(place, jump),
                other => panic!("{other:?} is none of theirs"),
            }
            self.faults.note(fault);
        }
    }

    /// What happens to what they stand on.
    pub async fn trouble_ground(&self, ledger: &Ledger, over: &Over) {
        let dice = &mut SeededDice::for_game(self.plan.seed, 6);
        let mut before = Vec::new();
        for _ in 0..self.plan.outages {
            sleep(Duration::from_millis(dice.below(120))).await;
            if over.load(Ordering::SeqCst) {
                return;
            }
            let faults = self.ground.faults();
            let stops = faults.contains(&Fault::Stopped);
            // Where it may stop, all servers may stop with it.
            let faults = if stops { [&faults[..], &[Fault::PowerCut]].concat() } else { faults };
            if faults.is_empty() {
                return;
            }
            let fault = draw(&faults, &mut before, dice);
            let lasts = Duration::from_millis(5 + dice.below(60));
            ledger.note(&format!("{fault:?} for {lasts:?}"));
            if fault == Fault::PowerCut {
                self.restart(0..self.plan.servers, self.ground.suffer(Fault::Stopped, lasts, dice)).await;
                self.faults.note(fault);
            } else {
                self.ground.suffer(fault, lasts, dice).await;
            }
        }
    }

    /// Kills servers, and starts others in their places after something else has happened.
    async fn restart(&self, places: impl IntoIterator<Item = usize> + Clone, meanwhile: impl Future<Output = ()>) {
        for place in places.clone() {
            self.kill(place).await;
        }
        meanwhile.await;
        for place in places {
            self.start_server(place).await;
        }
    }
}

/// One of those that have happened least before. There may be few.
fn draw(faults: &[Fault], before: &mut Vec<Fault>, dice: &mut SeededDice) -> Fault {
    let times = |fault: &Fault| before.iter().filter(|other| *other == fault).count();
    let least = faults.iter().map(times).min();
    let rare: Vec<_> = faults.iter().filter(|fault| Some(times(fault)) == least).copied().collect();
    let fault = rare[dice.below(rare.len() as u64) as usize];
    before.push(fault);
    fault
}
