-- An empty store as the first version of its schema made it.
PRAGMA application_id = 1296974668;
PRAGMA user_version = 1;
PRAGMA journal_mode = wal;
BEGIN TRANSACTION;
CREATE TABLE meta (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    heartbeats INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES(1,1);
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
CREATE INDEX sessions_by_age            ON sessions (created, session_id);
CREATE INDEX sessions_by_game           ON sessions (game, created, session_id);
CREATE INDEX sessions_by_state          ON sessions (state, created, session_id);
CREATE INDEX sessions_by_game_and_state ON sessions (game, state, created, session_id);
CREATE UNIQUE INDEX events_by_session ON events (session, seq);
CREATE UNIQUE INDEX events_by_request ON events (session, request_id) WHERE first = 1 AND request_id IS NOT NULL;
COMMIT;
