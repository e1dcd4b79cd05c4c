//! A watcher of one session that watches again wherever it is cut off, and writes down what it is told.

use crate::audit::WatchLog;
use crate::door::Cut;
use crate::player::Servers;
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// See the module.
pub struct Watcher {
    pub servers: Arc<dyn Servers>,
    pub session: String,
    pub after: u32,
    pub dice: SeededDice,
    /// The last version of the session once nothing more happens, 0 if it is gone; none before.
    pub last: watch::Receiver<Option<u32>>,
    /// Once nothing more happens it must have everything after so long.
    pub patience: Duration,
}

/// A watch without a sign of life for so long is given up.
const SILENCE: Duration = Duration::from_secs(5);

impl Watcher {
    pub async fn watch(mut self) -> WatchLog {
        let (session, after) = (self.session.clone(), self.after);
        let mut log = WatchLog { session, after, events: Vec::new(), to_the_end: false };
        let mut end = None;
        loop {
            let last = *self.last.borrow();
            if let Some(last) = last {
                let end = *end.get_or_insert_with(|| Instant::now() + self.patience);
                log.to_the_end = at(&log) >= last;
                if log.to_the_end || Instant::now() > end {
                    return log;
                }
            }
            self.watch_once(&mut log).await;
            tokio::time::sleep(Duration::from_millis(1 + self.dice.below(10))).await;
        }
    }

    /// Until it is cut off or leaves by itself.
    async fn watch_once(&mut self, log: &mut WatchLog) {
        let door = self.servers.any(&mut self.dice).await;
        let Ok(mut eye) = door.watch(&self.session, at(log)).await else { return };
        for _ in 0..1 + self.dice.below(20) {
            match timeout(SILENCE, eye.next()).await {
                Ok(Ok(events)) => log.events.extend(events),
                // It may be that it is not made yet.
                Ok(Err(Cut::Broken | Cut::Gone)) | Err(_) => return,
            }
            if self.last.borrow().is_some_and(|last| at(log) >= last) {
                return;
            }
        }
    }
}

/// It has everything up to here.
fn at(log: &WatchLog) -> u32 {
    log.events.last().map_or(log.after, |(version, _)| *version)
}
