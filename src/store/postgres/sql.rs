//! The statements whose text is always the same. Lists are put together in [`super::walk`].
//!
//! All but those of the last part are in the subset that `docs/portable-sql.md` writes down. Every write is one statement, which
//! commits by itself.

/// The columns that make a head, of the table `s`.
pub(super) const HEAD: &str = "s.session_id, s.game, s.state, s.created, s.updated, s.version, s.labels, s.summary, \
     s.south_player, s.north_player, s.expires, s.deadline";

/// Makes sessions with everything that belongs to them, all or none.
pub(super) const CREATE: &str = "
WITH made AS (
    INSERT INTO sessions (session_id, game, state, created, updated, minute, version, labels, summary,
                          south_player, north_player, expires, announced, deadline)
    SELECT n.session_id, n.game, n.state, n.created, n.updated, n.minute, n.version, n.labels, n.summary,
           n.south_player, n.north_player, n.expires, n.expires IS NOT NULL, n.deadline
    FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],
                $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bigint[])
         AS n(session_id, game, state, created, updated, minute, version, labels, summary, south_player, north_player, expires, deadline)
    RETURNING session_id
), added AS (
    INSERT INTO events (session_id, seq, time, first, request_id, digest, body, hash)
    SELECT n.session_id, n.seq, n.time, n.first, n.request_id, n.digest, n.body, n.hash
    FROM unnest($14::text[], $15::bigint[], $16::bigint[], $17::boolean[], $18::text[], $19::bytea[], $20::text[], $21::bytea[])
         AS n(session_id, seq, time, first, request_id, digest, body, hash)
), labelled AS (
    INSERT INTO labels (session_id, name, value, created)
    SELECT n.session_id, n.name, n.value, n.created
    FROM unnest($22::text[], $23::text[], $24::text[], $25::bigint[]) AS n(session_id, name, value, created)
), timed AS (
    INSERT INTO clocks (session_id, deadline)
    SELECT n.session_id, n.deadline FROM unnest($1::text[], $13::bigint[]) AS n(session_id, deadline) WHERE n.deadline IS NOT NULL
), noted AS (
    INSERT INTO creations (request_id, place, digest, session_id)
    SELECT $26::text, n.place, $27::bytea, n.session_id
    FROM unnest($28::bigint[], $1::text[]) AS n(place, session_id) WHERE $26::text IS NOT NULL
)
SELECT count(*) FROM made";

/// Adds events to a session if it has the version that is expected: then it gives one row.
macro_rules! append {
    ($timed:expr) => {
        concat!(
            "
WITH changed AS (
    UPDATE sessions SET version = $3, updated = $4, minute = $5, state = $6, south_player = $7, north_player = $8,
                        expires = $9, announced = ($9::bigint IS NOT NULL), deadline = $10, summary = $11
    WHERE session_id = $1 AND version = $2 AND deleted IS NULL
    RETURNING session_id
), added AS (
    INSERT INTO events (session_id, seq, time, first, request_id, digest, body, hash)
    SELECT c.session_id, n.seq, $4, n.seq = $2 + 1, $12, $13, n.body, n.hash
    FROM changed c CROSS JOIN unnest($14::bigint[], $15::text[], $16::bytea[]) AS n(seq, body, hash)
), timed AS (\n    ",
            $timed,
            "\n)\nSELECT session_id FROM changed"
        )
    };
}

/// A clock runs after it.
pub(super) const APPEND_WITH_CLOCK: &str = append!(
    "INSERT INTO clocks (session_id, deadline) SELECT c.session_id, $10::bigint FROM changed c
    ON CONFLICT (session_id) DO UPDATE SET deadline = excluded.deadline"
);

/// No clock runs after it; the deadline is then NULL.
pub(super) const APPEND: &str = append!("DELETE FROM clocks WHERE session_id IN (SELECT session_id FROM changed)");

/// The same for several sessions, each of which gives a row if it has the version that is expected. Their clocks run, or none of them
/// does. They are locked in the order of their ids, so that two servers that add to the same ones do not wait for each other.
pub(super) fn append_group(with_clocks: bool) -> String {
    let timed = if with_clocks {
        "INSERT INTO clocks (session_id, deadline) SELECT c.session_id, n.deadline FROM changed c JOIN wanted n ON n.session_id = c.session_id
    ON CONFLICT (session_id) DO UPDATE SET deadline = excluded.deadline"
    } else {
        "DELETE FROM clocks WHERE session_id IN (SELECT session_id FROM changed)"
    };
    format!(
        "
WITH wanted AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::smallint[], $7::text[], $8::text[],
                         $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bytea[])
        AS n(session_id, expected, version, time, minute, state, south_player, north_player, expires, deadline, summary, request_id, digest)
), locked AS (
    SELECT s.session_id FROM sessions s JOIN wanted n ON n.session_id = s.session_id
    WHERE s.version = n.expected AND s.deleted IS NULL ORDER BY s.session_id FOR UPDATE OF s
), changed AS (
    UPDATE sessions s SET version = n.version, updated = n.time, minute = n.minute, state = n.state, south_player = n.south_player,
                          north_player = n.north_player, expires = n.expires, announced = (n.expires IS NOT NULL),
                          deadline = n.deadline, summary = n.summary
    FROM wanted n JOIN locked l ON l.session_id = n.session_id
    WHERE s.session_id = n.session_id AND s.version = n.expected AND s.deleted IS NULL
    RETURNING s.session_id
), added AS (
    INSERT INTO events (session_id, seq, time, first, request_id, digest, body, hash)
    SELECT c.session_id, e.seq, n.time, e.seq = n.expected + 1, n.request_id, n.digest, e.body, e.hash
    FROM changed c JOIN wanted n ON n.session_id = c.session_id
        JOIN unnest($14::text[], $15::bigint[], $16::text[], $17::bytea[]) AS e(session_id, seq, body, hash)
            ON e.session_id = c.session_id
), timed AS (
    {timed}
)
SELECT session_id FROM changed"
    )
}

/// Where a session stands, with the hash of one of its events if it has that one.
pub(super) const STANDING: &str = "
SELECT s.version, s.created, s.deleted, s.deleted_request_id, s.deleted_digest, e.hash
FROM sessions s LEFT JOIN events e ON e.session_id = s.session_id AND e.seq = $2
WHERE s.session_id = $1";

/// A write that changes nothing of worth: it succeeds if writing succeeds, and what was committed before it is then as durable as it.
pub(super) const HEARTBEAT: &str = "UPDATE meta SET heartbeats = heartbeats + 1 WHERE id = 1 RETURNING heartbeats";

/// What a request has made.
pub(super) const CREATIONS: &str = "
SELECT c.request_id, c.digest, c.session_id, s.deleted IS NOT NULL
FROM creations c LEFT JOIN sessions s ON s.session_id = c.session_id
WHERE c.request_id = $1 ORDER BY c.place LIMIT $2";

/// Which of these ids are taken.
pub(super) const TAKEN: &str = "SELECT session_id FROM sessions WHERE session_id = ANY($1)";

/// Events of a session; one row without an event if there are none that are asked for.
pub(super) const EVENTS: &str = "
SELECT s.version, e.seq, e.time, e.request_id, e.digest, e.body, e.hash
FROM sessions s
LEFT JOIN (SELECT seq, time, request_id, digest, body, hash FROM events
           WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) e ON true
WHERE s.session_id = $1 AND s.deleted IS NULL
ORDER BY e.seq";

/// The versions of these sessions.
pub(super) const VERSIONS: &str = "SELECT session_id, version FROM sessions WHERE session_id = ANY($1) AND deleted IS NULL";

/// Sessions to announce the end of. State, minute of the end, minute and id of the place, time of the end, limit.
pub(super) const IDLE: &str = "
SELECT session_id, version, updated FROM sessions
WHERE deleted IS NULL AND announced = false AND state = $1 AND minute <= $2 AND (minute, session_id) > ($3, $4) AND updated <= $5
ORDER BY minute, session_id LIMIT $6";

/// Sessions to delete.
pub(super) const DUE: &str = "
SELECT session_id, version, updated FROM sessions
WHERE deleted IS NULL AND expires IS NOT NULL AND state = $1 AND expires <= $2 ORDER BY expires, session_id LIMIT $3";

/// Sessions whose clock has run out. Each is looked up by itself: the planner can't know how few differ from their sessions.
pub(super) const OVERDUE: &str = "
SELECT c.session_id, c.deadline FROM clocks c
WHERE c.deadline < $1 AND (c.deadline, c.session_id) > ($2, $3)
  AND coalesce((SELECT s.deadline = c.deadline FROM sessions s WHERE s.session_id = c.session_id AND s.deleted IS NULL), false)
ORDER BY c.deadline, c.session_id LIMIT $4";

/// How many sessions are in each state.
pub(super) const CENSUS: &str = "SELECT state, count(*) FROM sessions WHERE deleted IS NULL GROUP BY state";

/// The heads of these sessions.
pub(super) fn heads() -> String {
    format!("SELECT {HEAD} FROM sessions s WHERE s.session_id = ANY($1) AND s.deleted IS NULL")
}

// What is not in the portable subset: the order of all changes, which is that of Postgres's transactions; what servers tell each other;
// and questions about the server itself.

/// The transaction that is under way. `events.tx` has it as its default.
const TX: &str = "pg_current_xact_id()::text::bigint";

/// The first transaction that may still be under way: all before it are in the tables, or will never be.
const HORIZON: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

/// Deletes a session of this version: then it gives one row.
///
/// The version is compared with the one that this statement sees, too. Where it has waited for a writer, it sees the events as they were
/// before that one's, and would leave the new ones behind.
pub(super) fn delete() -> String {
    format!(
        "
WITH gone AS (
    UPDATE sessions SET deleted = $3, deleted_request_id = $4, deleted_digest = $5, deleted_tx = {TX}, summary = ''
    WHERE session_id = $1 AND version = $2 AND deleted IS NULL
      AND version = (SELECT seen.version FROM sessions seen WHERE seen.session_id = $1)
    RETURNING session_id
), cleared AS (
    DELETE FROM events WHERE session_id IN (SELECT session_id FROM gone)
), unlabelled AS (
    DELETE FROM labels WHERE session_id IN (SELECT session_id FROM gone)
), stopped AS (
    DELETE FROM clocks WHERE session_id IN (SELECT session_id FROM gone)
)
SELECT session_id FROM gone"
    )
}

/// Where the order of all changes ends: the store, the horizon, the last change before it, and the last change of all.
pub(super) fn end_of_changes() -> String {
    format!(
        "
SELECT m.store_id, {HORIZON}, last.tx, last.session_id, last.seq,
       (SELECT max(tx) FROM events), (SELECT max(deleted_tx) FROM sessions WHERE deleted IS NOT NULL)
FROM meta m LEFT JOIN (
    SELECT both_kinds.tx, both_kinds.session_id, both_kinds.seq FROM (
        (SELECT tx, session_id, seq FROM events WHERE tx < {HORIZON} ORDER BY tx DESC, session_id DESC, seq DESC LIMIT 1)
        UNION ALL
        (SELECT deleted_tx AS tx, session_id, 0 AS seq FROM sessions WHERE deleted IS NOT NULL AND deleted_tx < {HORIZON}
         ORDER BY deleted_tx DESC, session_id DESC LIMIT 1)
    ) both_kinds ORDER BY both_kinds.tx DESC, both_kinds.session_id DESC, both_kinds.seq DESC LIMIT 1
) last ON true"
    )
}

/// Changes after a place (transaction, session, event), with the sessions as they are. One row without a change if there are none.
pub(super) fn changes() -> String {
    format!(
        "
SELECT m.store_id, {HORIZON}, (SELECT max(tx) FROM events), (SELECT max(deleted_tx) FROM sessions WHERE deleted IS NOT NULL),
       c.tx, c.seq, c.deletion, c.time, c.request_id, c.digest, c.body, c.hash, c.first, s.deleted IS NOT NULL, {HEAD}
FROM meta m LEFT JOIN (
    SELECT * FROM (
        (SELECT tx, session_id, seq, false AS deletion, time, request_id, digest, body, hash, first FROM events
         WHERE tx < {HORIZON} AND (tx, session_id, seq) > ($1, $2, $3) ORDER BY tx, session_id, seq LIMIT $4)
        UNION ALL
        (SELECT deleted_tx AS tx, session_id, 0 AS seq, true AS deletion, deleted AS time, NULL AS request_id, NULL AS digest,
                '' AS body, NULL AS hash, true AS first FROM sessions
         WHERE deleted IS NOT NULL AND deleted_tx < {HORIZON} AND (deleted_tx, session_id) > ($1, $2)
         ORDER BY deleted_tx, session_id LIMIT $4)
    ) both_kinds ORDER BY tx, session_id, seq LIMIT $4
) c ON true LEFT JOIN sessions s ON s.session_id = c.session_id
ORDER BY c.tx, c.session_id, c.seq"
    )
}

/// The last transaction that has added an event, the last that has deleted a session, and the next one of the server.
pub(super) const NUMBERS: &str = "
SELECT (SELECT max(tx) FROM events), (SELECT max(deleted_tx) FROM sessions WHERE deleted IS NOT NULL),
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// Tells the other servers.
pub(super) const TELL: &str = "SELECT pg_notify('mancala', $1)";

/// Hears what other servers tell.
pub(super) const HEAR: &str = "LISTEN mancala";

/// What the server is set to. Settings that it does not know are NULL.
pub(super) const SERVER: &str = "
SELECT pg_is_in_recovery(), current_setting('transaction_read_only', true), current_setting('fsync', true),
       current_setting('full_page_writes', true), current_setting('synchronous_commit', true)";
