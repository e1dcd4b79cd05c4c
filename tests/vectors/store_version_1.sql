-- A store as the first version of its schema left it: one session of Goré, four events.
PRAGMA application_id = 1296974668;
PRAGMA user_version = 1;
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
INSERT INTO sessions VALUES(1,'game-1','gore',0,1767225600000000,1767225603000000,4,'{}','{"options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"gore 2,1,9,9/1,9,9,8 0-0 N sow","ply":3,"round":1}');
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
INSERT INTO events VALUES(1,1,1,1767225600000000,1,'make-1',X'67d5e8f0694f84732430f6dc0888d674057b7a5799a217c0634337657774e159','{"type":"created","game":"gore","options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"gore 6,6,6,6/6,6,6,6 0-0 S sow","labels":{}}');
INSERT INTO events VALUES(2,1,2,1767225601000000,1,'first',X'1a69d0803dab45e69838830d8acc1ff7769643676f43b255310fad2e4d0eaa5a','{"type":"move_played","seat":"S","move":"0","position":"gore 0,7,7,7/7,7,7,6 0-0 N sow","captured":0}');
INSERT INTO events VALUES(3,1,3,1767225602000000,1,NULL,NULL,'{"type":"move_played","seat":"N","move":"4","position":"gore 1,8,8,8/0,8,8,7 0-0 S sow","captured":0}');
INSERT INTO events VALUES(4,1,4,1767225603000000,1,'third',X'2b7d76ddf1e4934cb4e3f4fb0b41e5b5f96a022656256b000327fa054708e787','{"type":"move_played","seat":"S","move":"1","position":"gore 2,1,9,9/1,9,9,8 0-0 N sow","captured":0}');
CREATE TABLE creations (
    request_id TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,
    session_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO creations VALUES('make-1',X'67d5e8f0694f84732430f6dc0888d674057b7a5799a217c0634337657774e159','game-1');
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
