//! Hints between the servers of one database, by `NOTIFY` and `LISTEN`: sent after the commit and apart from it, since a notification
//! within a write would have all writes wait for one another.

use super::sql;
use super::tls::{Connector, OnMessage, Opened};
use crate::store::{Heard, Hearing, Hint};
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Client};

/// Sessions that may wait to be told of. What comes beyond them is dropped.
const WAITING: usize = 10_000;
/// Sessions and bytes of one message. The server takes no message of 8,000 bytes.
const HINTS: usize = 100;
const BYTES: usize = 7_900;
/// Least time between messages.
const EVERY: Duration = Duration::from_millis(5);
/// What may wait to be heard.
const HEARD: usize = 1_024;
/// Before a connection that broke is made anew, and for it to be made.
const PAUSE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the listener's connection is tried, so that one that has died without a word is found out.
const TRIED_EVERY: Duration = Duration::from_secs(5);

/// What is to be told and what is heard.
pub(super) struct Hints {
    /// Tells our own messages apart.
    instance: String,
    waiting: Mutex<HashMap<String, u32>>,
    something: Notify,
    heard: broadcast::Sender<Heard>,
}

impl Hints {
    pub fn new() -> Hints {
        let mut bytes = [0; 8];
        // Without chance we would hear ourselves, which does no harm.
        let _ = getrandom::fill(&mut bytes);
        let instance = format!("{:016x}", u64::from_le_bytes(bytes));
        Hints { instance, waiting: Mutex::default(), something: Notify::new(), heard: broadcast::Sender::new(HEARD) }
    }

    /// Queues a hint. Of one session the last version is told, or that it has changed in another way.
    pub fn tell(&self, session_id: &str, version: u32) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = waiting.get_mut(session_id) {
            *told = if *told == 0 || version == 0 { 0 } else { version.max(*told) };
        } else if waiting.len() < WAITING {
            waiting.insert(session_id.to_owned(), version);
        }
        drop(waiting);
        self.something.notify_one();
    }

    pub fn hear(&self) -> Hearing {
        self.heard.subscribe()
    }

    /// Sends what is queued, for ever. What can't be sent is lost: those who wait look by themselves.
    pub async fn send(self: Arc<Self>, connector: Connector) {
        // A notification that is lost in a crash is no loss.
        let connector = connector.with_options("-c synchronous_commit=off");
        let mut client: Option<Client> = None;
        loop {
            self.something.notified().await;
            let next = Instant::now() + EVERY;
            let waiting = mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            for message in messages(&self.instance, waiting) {
                let sent = match &client {
                    Some(client) if !client.is_closed() => timeout(PATIENCE, client.query(sql::TELL, &[&message])).await,
                    _ => match timeout(PATIENCE, connector.open(None)).await {
                        Ok(Ok(opened)) => timeout(PATIENCE, client.insert(opened.client).query(sql::TELL, &[&message])).await,
                        _ => break,
                    },
                };
                if !matches!(sent, Ok(Ok(_))) {
                    client = None;
                    break;
                }
                sleep(EVERY).await;
            }
            sleep_until(next).await;
        }
    }

    /// Listens, for ever.
    pub async fn listen(self: Arc<Self>, connector: Connector) {
        let of_messages = self.clone();
        let on_message: OnMessage = Arc::new(move |message| {
            if let AsyncMessage::Notification(notification) = message
                && let Some(hints) = hints_of(notification.payload(), &of_messages.instance)
            {
                of_messages.say(Heard::Hints(hints.into()));
            }
        });
        loop {
            if let Ok(Ok(Opened { client, task, place: _ })) = timeout(PATIENCE, connector.open(Some(on_message.clone()))).await
                && matches!(timeout(PATIENCE, client.batch_execute(sql::HEAR)).await, Ok(Ok(())))
            {
                self.say(Heard::Connected);
                let ended = async { drop(task.await) };
                tokio::select! {
                    () = ended => {}
                    () = answers_no_more(&client) => {}
                }
                self.say(Heard::Lost);
            }
            sleep(PAUSE).await;
        }
    }

    fn say(&self, heard: Heard) {
        // If nobody listens there is nothing to be heard.
        let _ = self.heard.send(heard);
    }
}

/// Waits until a connection does not answer in time.
async fn answers_no_more(client: &Client) {
    loop {
        sleep(TRIED_EVERY).await;
        if !matches!(timeout(PATIENCE, client.check_connection()).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Messages that tell all of this: who tells it, then a version and an id on a line each.
fn messages(instance: &str, waiting: HashMap<String, u32>) -> Vec<String> {
    let mut messages: Vec<(String, usize)> = Vec::new();
    for (session_id, version) in waiting {
        let line = format!("\n{version} {session_id}");
        // An id of this kind is of no session that anyone watches.
        if instance.len() + line.len() > BYTES || session_id.contains(['\n', '\0']) {
            continue;
        }
        match messages.last_mut() {
            Some((message, hints)) if *hints < HINTS && message.len() + line.len() <= BYTES => {
                message.push_str(&line);
                *hints += 1;
            }
            _ => messages.push((format!("{instance}{line}"), 1)),
        }
    }
    messages.into_iter().map(|(message, _)| message).collect()
}

/// The hints of a message; none of our own.
fn hints_of(message: &str, instance: &str) -> Option<Vec<Hint>> {
    let mut lines = message.lines();
    if lines.next()? == instance {
        return None;
    }
    let hint = |line: &str| {
        let (version, session_id) = line.split_once(' ')?;
        Some(Hint { session_id: session_id.to_owned(), version: version.parse().ok()? })
    };
    Some(lines.filter_map(hint).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(messages: &[String], instance: &str) -> HashMap<String, u32> {
        let hints = messages.iter().filter_map(|message| hints_of(message, instance)).flatten();
        hints.map(|hint| (hint.session_id, hint.version)).collect()
    }

    #[test]
    fn messages_are_small_and_tell_all() {
        let waiting: HashMap<String, u32> = (0..1_000).map(|n| (format!("{n}{}", "x".repeat(n % 300)), n as u32)).collect();
        let messages = messages("one", waiting.clone());
        assert!(messages.iter().all(|message| message.len() < 8_000 && message.lines().count() <= HINTS + 1));
        assert_eq!(hints(&messages, "two"), waiting);
        assert_eq!(hints(&messages, "one"), HashMap::new(), "nobody hears themself");
    }

    #[test]
    fn what_can_not_be_told_is_left_out() {
        let waiting = HashMap::from([("a\nb".into(), 1), ("x".repeat(8_000), 1), ("a b".into(), 2)]);
        assert_eq!(hints(&messages("one", waiting), "two"), HashMap::from([("a b".to_owned(), 2)]));
        assert_eq!(hints_of("two\nno hint\n1 x", "one"), Some(vec![Hint { session_id: "x".into(), version: 1 }]));
    }

    #[test]
    fn the_last_of_a_session_is_told_and_no_more_than_has_room() {
        let told = Hints::new();
        for (id, version) in [("a", 1), ("a", 3), ("a", 2), ("b", 1), ("b", 0), ("b", 2)] {
            told.tell(id, version);
        }
        let waiting = || told.waiting.lock().expect("no panic").clone();
        assert_eq!(waiting(), HashMap::from([("a".to_owned(), 3), ("b".to_owned(), 0)]));
        for n in 0..2 * WAITING {
            told.tell(&format!("{n}"), 1);
        }
        assert_eq!(waiting().len(), WAITING);
    }
}
