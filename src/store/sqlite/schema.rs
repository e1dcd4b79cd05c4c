//! The tables, and how a file of an older version becomes one of this version.

use rusqlite::Connection;

/// Marks the file as ours in its header: "MNCL".
pub(super) const APPLICATION_ID: i32 = 0x4D4E_434C;

/// One for every version of the schema: what makes a file of the version before into one of this version. What has been
/// released is never changed; a change is a new line.
const MIGRATIONS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];

/// The version that this program reads and writes.
pub(super) const VERSION: i32 = MIGRATIONS.len() as i32;

/// The version whose rows bear checksums.
pub(super) const FIRST_WITH_CHECKSUMS: i32 = 5;

// Events are keyed by the order of writing, so that their bodies are appended at the end of the file's tree whatever
// session they belong to; only the two narrow indexes are written all over. That is three times as fast as bodies keyed
// by session.
//
// Deleted sessions leave `sessions` for `tombstones`, so that lists and their indexes never meet them.
const VERSION_1: &str = "
CREATE TABLE meta (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    heartbeats INTEGER NOT NULL
) STRICT;
INSERT INTO meta (id, heartbeats) VALUES (1, 0);

CREATE TABLE sessions (
    key        INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL UNIQUE,
    game       TEXT    NOT NULL,
    state      INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    labels     TEXT    NOT NULL,
    summary    TEXT    NOT NULL
) STRICT;
CREATE INDEX sessions_by_age            ON sessions (created, session_id);
CREATE INDEX sessions_by_game           ON sessions (game, created, session_id);
CREATE INDEX sessions_by_state          ON sessions (state, created, session_id);
CREATE INDEX sessions_by_game_and_state ON sessions (game, state, created, session_id);

CREATE TABLE labels (
    name       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    session_id TEXT    NOT NULL,
    session    INTEGER NOT NULL,
    PRIMARY KEY (name, value, created, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    place      INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    time       INTEGER NOT NULL,
    first      INTEGER NOT NULL,
    request_id TEXT,
    digest     BLOB,
    body       TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_session ON events (session, seq);
CREATE UNIQUE INDEX events_by_request ON events (session, request_id) WHERE first = 1 AND request_id IS NOT NULL;

CREATE TABLE creations (
    request_id TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,
    session_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
    session_id TEXT PRIMARY KEY,
    deleted    INTEGER NOT NULL,
    request_id TEXT,
    digest     BLOB
) STRICT, WITHOUT ROWID;
";

// A player's sessions are found like a label's, whichever seat the player holds.
//
// Sessions by the minute of their last change: for lists of what has changed lately, and to find what is to expire. There,
// those whose end is announced are passed over; hence they are apart in the index. By the minute, so that a session that is
// played fast moves in the index once a minute and not with every event, which would cost a third of all writing.
const VERSION_2: &str = "
ALTER TABLE sessions ADD COLUMN south_player TEXT;
ALTER TABLE sessions ADD COLUMN north_player TEXT;
ALTER TABLE sessions ADD COLUMN expires      INTEGER;
ALTER TABLE sessions ADD COLUMN minute       INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET minute = updated / 60000000;
CREATE INDEX sessions_by_update ON sessions (state, expires IS NOT NULL, minute, session_id);
CREATE INDEX sessions_by_expiry ON sessions (state, expires, session_id) WHERE expires IS NOT NULL;

CREATE TABLE players (
    player     TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    session_id TEXT    NOT NULL,
    session    INTEGER NOT NULL,
    PRIMARY KEY (player, created, session_id)
) STRICT, WITHOUT ROWID;

-- What a request id of `creations` made beside that session, by its place in the batch.
CREATE TABLE batches (
    request_id TEXT    NOT NULL,
    place      INTEGER NOT NULL,
    session_id TEXT    NOT NULL,
    PRIMARY KEY (request_id, place)
) STRICT, WITHOUT ROWID;
";

// Events that are there keep NULL: adding a column changes no row, so that opening a file of a million sessions takes no longer for
// it. Their hashes are computed when they are read, and covered by the first one that is stored after them.
const VERSION_3: &str = "ALTER TABLE events ADD COLUMN hash BLOB;";

// Sessions whose clock runs are found by when it will have run out. Those of older files are once they are next changed.
const VERSION_4: &str = "
ALTER TABLE sessions ADD COLUMN deadline INTEGER;
CREATE INDEX sessions_by_deadline ON sessions (deadline, session_id) WHERE deadline IS NOT NULL;
";

// The others, of labels and players, can be made again from sessions, and are compared with them.
const VERSION_5: &str = "
ALTER TABLE sessions   ADD COLUMN checksum INTEGER;
ALTER TABLE events     ADD COLUMN checksum INTEGER;
ALTER TABLE creations  ADD COLUMN checksum INTEGER;
ALTER TABLE batches    ADD COLUMN checksum INTEGER;
ALTER TABLE tombstones ADD COLUMN checksum INTEGER;
";

/// A committed write that changes nothing of worth: it succeeds if writing succeeds.
pub(super) const HEARTBEAT: &str = "UPDATE meta SET heartbeats = heartbeats + 1 WHERE id = 1";

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing is in it.
    Empty,
    /// One of ours, of this version of the schema.
    Ours(i32),
    /// Something else's, with this application id.
    Foreign(i32),
}

/// Looks at what kind of database this is, without writing.
pub(super) fn kind(connection: &Connection) -> rusqlite::Result<Kind> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    if number("page_count")? == 0 {
        return Ok(Kind::Empty);
    }
    Ok(match number("application_id")? {
        APPLICATION_ID => Kind::Ours(number("user_version")?),
        other => Kind::Foreign(other),
    })
}

/// Brings a database from a version (0: empty) to [`VERSION`], each step in one transaction with its number.
pub(super) fn migrate(connection: &mut Connection, from: i32) -> rusqlite::Result<()> {
    for (version, sql) in (1..).zip(MIGRATIONS).filter(|(version, _)| *version > from) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}
