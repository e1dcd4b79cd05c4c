//! A checksum in each row over the rest of it, so that a bit that flips on the disk is noticed and not believed.
//!
//! Hashes of events are another matter: they bind a history together, and do not cover all that is stored.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row};

/// Gives a connection the SQL function `checksum(...)`, over all of its arguments.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("checksum", -1, flags, |arguments| {
        Ok(of((0..arguments.len()).map(|place| arguments.get_raw(place))))
    })
}

/// The same of values that are at hand. It finds every change of up to 32 bits in a row.
pub(super) fn of<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> i64 {
    // In one piece: that is several times as fast as many small ones.
    let mut bytes = Vec::with_capacity(1024);
    for value in values {
        match value {
            ValueRef::Null => bytes.push(0),
            ValueRef::Integer(number) => add(&mut bytes, 1, &number.to_le_bytes()),
            ValueRef::Real(number) => add(&mut bytes, 2, &number.to_le_bytes()),
            ValueRef::Text(text) => add(&mut bytes, 3, text),
            ValueRef::Blob(blob) => add(&mut bytes, 4, blob),
        }
    }
    i64::from(crc32fast::hash(&bytes))
}

/// The length too, so that nothing can move from one value to the next.
fn add(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(value);
}

// Whether rows are as they were written. Rows of files that are older than checksums have none, until they are written again.

pub(super) const SESSION_IS_SOUND: &str = "(checksum IS NULL OR checksum = checksum(session_id, game, state, created, updated, \
     version, labels, summary, south_player, north_player, expires, deadline, minute))";
pub(super) const EVENT_IS_SOUND: &str =
    "(checksum IS NULL OR checksum = checksum(session, seq, time, first, request_id, digest, body, hash))";
pub(super) const CREATION_IS_SOUND: &str = "(checksum IS NULL OR checksum = checksum(request_id, digest, session_id))";
pub(super) const BATCH_IS_SOUND: &str = "(checksum IS NULL OR checksum = checksum(request_id, place, session_id))";
pub(super) const TOMBSTONE_IS_SOUND: &str = "(checksum IS NULL OR checksum = checksum(session_id, deleted, request_id, digest))";

/// A row is not what was written.
#[derive(Debug, thiserror::Error)]
#[error("a row is not as it was written: its checksum is another one")]
struct Unsound;

/// Fails if a column, one of the above, says that its row is not sound.
pub(super) fn expect_sound(row: &Row<'_>, column: usize) -> rusqlite::Result<()> {
    if row.get(column)? {
        return Ok(());
    }
    Err(rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, Box::new(Unsound)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_its_kind_and_its_place_count() {
        let connection = Connection::open_in_memory().expect("a database");
        register(&connection).expect("a function");
        let of = |values: &str| -> i64 {
            connection.query_row(&format!("SELECT checksum({values})"), [], |row| row.get(0)).expect("a number")
        };
        let all =
            ["'ab', 'c'", "'a', 'bc'", "'abc'", "'abc', NULL", "NULL, 'abc'", "x'616263'", "1, 2", "2, 1", "1", "'1'", "1.0", ""];
        let mut found: Vec<_> = all.map(of).into();
        assert_eq!(of("'ab', 'c'"), found[0]);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), all.len());
        let at_hand =
            [ValueRef::Text(b"ab"), ValueRef::Null, ValueRef::Integer(-5), ValueRef::Real(0.5), ValueRef::Blob(&[1, 2])];
        assert_eq!(of("'ab', NULL, -5, 0.5, x'0102'"), super::of(at_hand));
    }
}
