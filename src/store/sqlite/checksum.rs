//! A checksum in each row over the rest of it, so that a bit that flips on the disk is noticed and not believed.
//!
//! Hashes of events are another matter: they bind a history together, and do not cover all that is stored.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row};

/// Gives a connection the SQL function `checksum(...)`, over all of its arguments. It finds every change of up to 32 bits in a row.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("checksum", -1, flags, |arguments| {
        let mut crc = crc32fast::Hasher::new();
        for place in 0..arguments.len() {
            match arguments.get_raw(place) {
                ValueRef::Null => crc.update(&[0]),
                ValueRef::Integer(number) => update(&mut crc, 1, &number.to_le_bytes()),
                ValueRef::Real(number) => update(&mut crc, 2, &number.to_le_bytes()),
                ValueRef::Text(text) => update(&mut crc, 3, text),
                ValueRef::Blob(bytes) => update(&mut crc, 4, bytes),
            }
        }
        Ok(i64::from(crc.finalize()))
    })
}

/// The length too, so that nothing can move from one value to the next.
fn update(crc: &mut crc32fast::Hasher, kind: u8, bytes: &[u8]) {
    crc.update(&[kind]);
    crc.update(&(bytes.len() as u64).to_le_bytes());
    crc.update(bytes);
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
    }
}
