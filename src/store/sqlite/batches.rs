//! Many sessions made in one write, all or none.

use super::checksum::{BATCH_IS_SOUND, expect_sound};
use super::errors::Failure;
use super::reads;
use super::writes::{insert, insert_creation, is_taken};
use crate::store::{CreateAll, CreatedAll, Creation};
use rusqlite::{Connection, params};

pub(super) fn create_all(connection: &Connection, batch: &CreateAll) -> Result<CreatedAll, Failure> {
    if let Some(request) = &batch.request
        && let Some(first) = reads::creation(connection, &request.id)?
    {
        return Ok(CreatedAll::Repeated(made_by(connection, first)?));
    }
    let mut taken = Vec::new();
    for (place, create) in batch.sessions.iter().enumerate() {
        if is_taken(connection, &create.head.session_id)? {
            taken.push(place);
        }
    }
    if !taken.is_empty() {
        return Ok(CreatedAll::IdsTaken(taken));
    }
    for (place, create) in batch.sessions.iter().enumerate() {
        insert(connection, create, batch.request.as_ref())?;
        match &batch.request {
            Some(request) if place == 0 => insert_creation(connection, request, &create.head.session_id)?,
            Some(request) => {
                connection
                    .prepare_cached(
                        "INSERT INTO batches (request_id, place, session_id, checksum) VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3))",
                    )?
                    .execute(params![request.id, place as i64, create.head.session_id])?;
            }
            None => {}
        }
    }
    Ok(CreatedAll::Done)
}

/// All that a request has made, of which the first is known.
fn made_by(connection: &Connection, first: Creation) -> rusqlite::Result<Vec<Creation>> {
    let request = first.request.clone();
    let mut select = connection.prepare_cached(&format!(
        "SELECT b.session_id, EXISTS (SELECT 1 FROM tombstones t WHERE t.session_id = b.session_id), {BATCH_IS_SOUND}
         FROM batches b WHERE b.request_id = ?1 ORDER BY b.place",
    ))?;
    let others = select.query_map([&request.id], |row| {
        expect_sound(row, 2)?;
        Ok(Creation { session_id: row.get(0)?, request: request.clone(), deleted: row.get(1)? })
    })?;
    std::iter::once(Ok(first)).chain(others).collect()
}
