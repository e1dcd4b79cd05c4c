//! The heads of sessions that were lately written, so that the next write to one need not look it up.
//!
//! They are what the writer's own transaction sees: of what was committed, and of what is under way. Nobody else writes while a
//! server has the file; if somebody does all the same, the file says so when the next transaction begins.

use super::checksum::{self, SESSION_IS_SOUND, expect_sound};
use crate::store::{Micros, Players};
use lru::LruCache;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};
use std::num::NonZeroUsize;
use std::sync::LazyLock;

/// Heads that are kept, each of some hundred bytes, or two thousand with as many labels as there may be.
const KEPT: NonZeroUsize = NonZeroUsize::new(8_192).expect("more than none");

/// A session as its row is, but for its id and its summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub key: i64,
    pub game: String,
    pub created: Micros,
    pub version: u32,
    /// As they are stored.
    pub labels: String,
    pub players: Players,
    pub indexed: Indexed,
}

/// What changes of a session that it is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Indexed {
    pub state: i64,
    pub expires: Option<Micros>,
    pub deadline: Option<Micros>,
    /// Of its last change.
    pub minute: i64,
}

impl Known {
    /// The checksum of its row when it was last changed at this time.
    ///
    /// It is computed from here and not from the row: so a row that has been damaged since it was read is not made sound by it.
    pub fn checksum(&self, session_id: &str, updated: Micros, summary: &str) -> i64 {
        let number = |number: Option<Micros>| number.map_or(ValueRef::Null, ValueRef::Integer);
        let [south, north] = &self.players;
        let Indexed { state, expires, deadline, minute } = self.indexed;
        checksum::of([
            session_id.into(),
            self.game.as_str().into(),
            ValueRef::Integer(state),
            ValueRef::Integer(self.created),
            ValueRef::Integer(updated),
            ValueRef::Integer(i64::from(self.version)),
            self.labels.as_str().into(),
            summary.into(),
            south.as_deref().into(),
            north.as_deref().into(),
            number(expires),
            number(deadline),
            ValueRef::Integer(minute),
        ])
    }
}

/// Written once: it is asked for with many writes.
static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT key, game, created, version, labels, south_player, north_player, state, expires, deadline, minute, {SESSION_IS_SOUND}
         FROM sessions WHERE session_id = ?1",
    )
});

/// Reads a session's row.
pub(super) fn read(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<Known>> {
    connection
        .prepare_cached(&FIND)?
        .query_row([session_id], |row| {
            expect_sound(row, 11)?;
            Ok(Known {
                key: row.get(0)?,
                game: row.get(1)?,
                created: row.get(2)?,
                version: row.get(3)?,
                labels: row.get(4)?,
                players: [row.get(5)?, row.get(6)?],
                indexed: Indexed { state: row.get(7)?, expires: row.get(8)?, deadline: row.get(9)?, minute: row.get(10)? },
            })
        })
        .optional()
}

/// What the writer knows without reading.
pub(super) struct Heads {
    lately: LruCache<String, Known>,
    /// SQLite's count of what others have committed, when this was last compared with the file.
    others: Option<i64>,
}

impl Default for Heads {
    fn default() -> Heads {
        Heads { lately: LruCache::new(KEPT), others: None }
    }
}

impl Heads {
    /// To be called when a transaction has begun: forgets all if somebody else has written to the file.
    pub fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let others = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.others.replace(others) != Some(others) {
            self.lately.clear();
        }
        Ok(())
    }

    /// To be called when writes are undone, or may be: forgets all, since some of it is of those.
    pub fn undo(&mut self) {
        self.lately.clear();
    }

    /// A session, which is read if it is not known. Whoever then changes its row changes it here too, or forgets it.
    pub fn find(&mut self, connection: &Connection, session_id: &str) -> rusqlite::Result<Option<&mut Known>> {
        if !self.lately.contains(session_id) {
            let Some(known) = read(connection, session_id)? else { return Ok(None) };
            self.lately.put(session_id.to_owned(), known);
        }
        Ok(self.lately.get_mut(session_id))
    }

    /// Of a session that is deleted.
    pub fn forget(&mut self, session_id: &str) {
        self.lately.pop(session_id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::Condition;
    use super::super::errors::Failure;
    use super::super::queue::Queue;
    use super::super::writer::Writer;
    use super::super::writes::{append, create, delete};
    use super::super::{Options, open, reads};
    use super::*;
    use crate::store::{Append, Appended, Create, Created, Delete, Deleted, EventHash, Head, State, StoreError, StoreMetrics};
    use std::sync::Arc;
    use tempfile::TempDir;

    fn creation(session_id: &str) -> Create {
        let head = Head {
            session_id: session_id.into(),
            game: "gore".into(),
            labels: [("a".to_owned(), "1".to_owned())].into(),
            created: 1,
            updated: 1,
            state: State::Active,
            version: 1,
            players: [Some("ana".into()), None],
            expires: None,
            deadline: None,
            summary: "new".into(),
        };
        Create { head, events: vec!["made".into()], request: None }
    }

    /// Moves all that can move.
    fn addition(session_id: &str, version: u32) -> Append {
        Append {
            session_id: session_id.into(),
            expected_version: version,
            time: i64::from(version) * 60_000_000,
            request: None,
            events: vec!["moved".into()],
            hashes: vec![EventHash::START],
            state: if version == 3 { State::Finished } else { State::Active },
            players: [Some("ana".into()), Some(format!("ben{version}"))],
            expires: (version == 3).then_some(9),
            deadline: (version == 2).then_some(8),
            summary: format!("at {version}"),
        }
    }

    fn writer(folder: &TempDir) -> Connection {
        open::open(&folder.path().join("store.db"), &Options::default()).expect("a store").writer
    }

    fn queue(folder: &TempDir) -> Queue {
        let opened = open::open(&folder.path().join("store.db"), &Options::default()).expect("a store");
        let condition = Arc::new(Condition::writable());
        let make = |inbox| Writer {
            connection: opened.writer,
            inbox,
            condition: condition.clone(),
            retry_every: Options::default().retry_every,
            metrics: StoreMetrics::default(),
            lock: opened.lock,
        };
        Queue::start(condition.clone(), make).expect("a thread")
    }

    #[test]
    fn what_is_known_is_what_would_be_read() {
        let folder = TempDir::new().expect("a folder");
        let connection = writer(&folder);
        let heads = &mut Heads::default();
        assert_eq!(heads.find(&connection, "s").expect("no fault"), None);
        assert_eq!(create(&connection, &creation("s")).expect("no fault"), Created::Done);
        for version in 1..6 {
            let end = append(&connection, heads, &addition("s", version)).expect("no fault");
            assert_eq!(end, Appended::Done, "version {version}");
            let known = heads.find(&connection, "s").expect("no fault").cloned();
            assert_eq!(known, read(&connection, "s").expect("it is sound"), "after version {version}");
            let head = reads::head(&connection, "s").expect("it is sound").expect("the session");
            assert_eq!((head.version, head.summary), (version + 1, format!("at {version}")));
        }
        assert_eq!(append(&connection, heads, &addition("s", 5)).expect("no fault"), Appended::Conflict);
        assert_eq!(append(&connection, heads, &addition("t", 5)).expect("no fault"), Appended::NotFound);
    }

    /// A session that is deleted is not known any more, nor is the next one that gets its key taken for it.
    #[test]
    fn what_is_deleted_is_forgotten() {
        let folder = TempDir::new().expect("a folder");
        let connection = writer(&folder);
        let heads = &mut Heads::default();
        create(&connection, &creation("s")).expect("no fault");
        append(&connection, heads, &addition("s", 1)).expect("no fault");
        let deletion = Delete { session_id: "s".into(), expected_version: Some(2), request: None, time: 5 };
        assert_eq!(delete(&connection, heads, &deletion).expect("no fault"), Deleted::Done);
        create(&connection, &creation("t")).expect("no fault");
        assert_eq!(append(&connection, heads, &addition("s", 2)).expect("no fault"), Appended::NotFound);
        assert_eq!(append(&connection, heads, &addition("t", 1)).expect("no fault"), Appended::Done);
    }

    /// The next append to a session whose row was damaged after it was read must not make a checksum that fits.
    #[test]
    fn damage_is_not_made_sound() {
        let folder = TempDir::new().expect("a folder");
        let connection = writer(&folder);
        for change in ["labels = '{}'", "game = 'ayoayo'", "created = 2", "south_player = 'eva'", "expires = 1", "minute = 7"] {
            let heads = &mut Heads::default();
            create(&connection, &creation(change)).expect("no fault");
            append(&connection, heads, &addition(change, 1)).expect("no fault");
            assert_eq!(connection.execute(&format!("UPDATE sessions SET {change} WHERE session_id = ?1"), [change]), Ok(1));
            // Nothing but the version moves, so that what was changed is not written anew.
            let same = Append { expected_version: 2, ..addition(change, 1) };
            append(&connection, heads, &same).expect("its row is not read");
            let head = reads::head(&connection, change);
            assert!(matches!(head, Err(Failure::Rows(_))), "{change}: {head:?}");
        }
    }

    #[tokio::test]
    async fn what_is_undone_is_forgotten() {
        let folder = TempDir::new().expect("a folder");
        let queue = queue(&folder);
        queue.write(|connection| create(connection, &creation("s"))).await.expect("a session");
        for version in 1..4 {
            // A batch, or one after the other: it comes to the same.
            let (undone, done) = tokio::join!(
                queue.change(move |connection, heads| {
                    append(connection, heads, &addition("s", version))?;
                    Err::<(), _>(Failure::Rows("on purpose".into()))
                }),
                queue.change(move |connection, heads| append(connection, heads, &addition("s", version)))
            );
            assert_eq!((undone, done), (Err(StoreError::Damaged("on purpose".into())), Ok(Appended::Done)));
        }
        let count = |connection: &Connection| {
            Ok::<i64, Failure>(connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?)
        };
        assert_eq!(queue.write(count).await, Ok(4));
        queue.close().await;
    }

    #[tokio::test]
    async fn what_others_write_is_seen() {
        let folder = TempDir::new().expect("a folder");
        let queue = queue(&folder);
        queue.write(|connection| create(connection, &creation("s"))).await.expect("a session");
        assert_eq!(queue.change(|connection, heads| append(connection, heads, &addition("s", 1))).await, Ok(Appended::Done));
        let shell = Connection::open(folder.path().join("store.db")).expect("the store");
        assert_eq!(shell.execute("UPDATE sessions SET version = 7, checksum = NULL", []), Ok(1));
        let conflict = queue.change(|connection, heads| append(connection, heads, &addition("s", 2))).await;
        assert_eq!(conflict, Ok(Appended::Conflict), "the version is another one by now");
        queue.close().await;
    }
}
