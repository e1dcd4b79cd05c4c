-- What this program makes in a database. What has been released is never changed; a change is a new file.
--
-- Texts that are compared or ordered are ordered by their bytes, whatever the database is set to.

CREATE TABLE meta (
    id         BIGINT PRIMARY KEY CHECK (id = 1),
    -- Cursors of the order of all changes bear it, so that one of another database is told apart.
    store_id   TEXT   NOT NULL,
    heartbeats BIGINT NOT NULL
);
INSERT INTO meta (id, store_id, heartbeats) VALUES (1, gen_random_uuid()::text, 0);

-- A deleted session stays as a row, so that its id is never used twice; what the order of all changes tells of it stays with it.
-- All indexes pass over those, except the one that is for them.
--
-- Sessions are found by the minute of their last change, so that one that is played fast moves in the index once a minute: a
-- change that touches no index is written beside the old row, for which the pages have some room.
CREATE TABLE sessions (
    session_id         TEXT COLLATE "C" PRIMARY KEY,
    game               TEXT COLLATE "C" NOT NULL,
    state              SMALLINT NOT NULL,
    created            BIGINT   NOT NULL,
    updated            BIGINT   NOT NULL,
    minute             BIGINT   NOT NULL,
    version            BIGINT   NOT NULL,
    labels             TEXT     NOT NULL,
    summary            TEXT     NOT NULL,
    south_player       TEXT COLLATE "C",
    north_player       TEXT COLLATE "C",
    expires            BIGINT,
    announced          BOOLEAN  NOT NULL,
    deadline           BIGINT,
    deleted            BIGINT,
    deleted_request_id TEXT COLLATE "C",
    deleted_digest     BYTEA,
    deleted_tx         BIGINT
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_age            ON sessions (created, session_id)               WHERE deleted IS NULL;
CREATE INDEX sessions_by_game           ON sessions (game, created, session_id)         WHERE deleted IS NULL;
CREATE INDEX sessions_by_state          ON sessions (state, created, session_id)        WHERE deleted IS NULL;
CREATE INDEX sessions_by_game_and_state ON sessions (game, state, created, session_id)  WHERE deleted IS NULL;
CREATE INDEX sessions_by_south          ON sessions (south_player, created, session_id) WHERE deleted IS NULL AND south_player IS NOT NULL;
CREATE INDEX sessions_by_north          ON sessions (north_player, created, session_id) WHERE deleted IS NULL AND north_player IS NOT NULL;
CREATE INDEX sessions_by_update         ON sessions (announced, state, minute, session_id) WHERE deleted IS NULL;
CREATE INDEX sessions_by_expiry         ON sessions (state, expires, session_id)        WHERE deleted IS NULL AND expires IS NOT NULL;
CREATE INDEX sessions_by_deletion       ON sessions (deleted_tx, session_id)            WHERE deleted IS NOT NULL;

-- Deadlines change with every move of a session that is played by the clock. Here, that moves one small row in one index, and not
-- a session in all of its indexes. Those of `sessions` count: one that differs from its session's is old and means nothing.
CREATE TABLE clocks (
    session_id TEXT COLLATE "C" PRIMARY KEY,
    deadline   BIGINT NOT NULL
);
CREATE INDEX clocks_by_deadline ON clocks (deadline, session_id);

CREATE TABLE labels (
    session_id TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    value      TEXT COLLATE "C" NOT NULL,
    created    BIGINT NOT NULL,
    PRIMARY KEY (session_id, name)
);
CREATE INDEX labels_by_value ON labels (name, value, created, session_id);

-- `first` marks the first event of a request, or of an append that had none. `tx` is the transaction that wrote the event, by which
-- all changes of the store are in one order.
CREATE TABLE events (
    session_id TEXT COLLATE "C" NOT NULL,
    seq        BIGINT  NOT NULL,
    time       BIGINT  NOT NULL,
    first      BOOLEAN NOT NULL,
    request_id TEXT COLLATE "C",
    digest     BYTEA,
    body       TEXT    NOT NULL,
    hash       BYTEA   NOT NULL,
    tx         BIGINT  NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    PRIMARY KEY (session_id, seq)
);
CREATE UNIQUE INDEX events_by_request ON events (session_id, request_id) WHERE first AND request_id IS NOT NULL;
CREATE INDEX events_by_change ON events (tx, session_id, seq);

-- What a request has made: sessions by their places in its batch, from 0.
CREATE TABLE creations (
    request_id TEXT COLLATE "C" NOT NULL,
    place      BIGINT NOT NULL,
    digest     BYTEA  NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (request_id, place)
);
