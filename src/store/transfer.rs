//! Everything that one store holds, taken in by another.

use super::StoreError;
use super::archive::{Archive, Chain, Intake, Limit, Making, Mark, Part, Piece, Portion, Taken, Tombstone};

/// Deletions and requests that are moved at a time.
pub(super) const PAGE: usize = 1_000;

/// What was moved. What was there already is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Events of sessions.
    pub events: usize,
    /// Deletions.
    pub tombstones: usize,
    /// Requests that have made sessions.
    pub makings: usize,
}

/// Why a store could not be moved. What was taken in until then stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// One of the two failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows of the source make no sense.
    #[error("session {session_id} of the source can't be read: {what}")]
    Unreadable {
        /// The session.
        session_id: String,
        /// What is wrong.
        what: String,
    },
    /// The target holds something else than the source.
    #[error("the target is no copy of the source: {0}")]
    Different(String),
}

/// Moves everything. It can be cut anywhere and done again. `show` is told how many events have been looked at.
///
/// # Errors
/// See [`TransferError`].
pub async fn transfer(
    source: &dyn Archive,
    target: &dyn Intake,
    show: &mut (dyn FnMut(u64) + Send),
) -> Result<Moved, TransferError> {
    let mut moved = Moved { events: transfer_sessions(source, target, show).await?, ..Moved::default() };
    let mut after = String::new();
    loop {
        let page: Vec<Tombstone> = source.tombstones(&after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.session_id);
        moved.tombstones += new(target.take_tombstones(page).await?)?;
    }
    after.clear();
    loop {
        let page: Vec<Making> = source.makings(&after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(moved) };
        after.clone_from(&last.request.id);
        moved.makings += new(target.take_makings(page).await?)?;
    }
}

/// Moves the sessions: while one portion is written, the next is read.
async fn transfer_sessions(
    source: &dyn Archive,
    target: &dyn Intake,
    show: &mut (dyn FnMut(u64) + Send),
) -> Result<usize, TransferError> {
    let (mut looked_at, mut moved, mut chain) = (0, 0, Chain::new());
    let mut portion = source.sessions(Mark::start(), Limit::default()).await?;
    loop {
        let Portion { pieces, next } = portion;
        let mut parts = pieces.into_iter().map(readable).collect::<Result<Vec<_>, _>>()?;
        parts.iter_mut().for_each(|part| chain.complete(part));
        let events: usize = parts.iter().map(|part| part.events.len()).sum();
        let following = async {
            match next {
                Some(mark) => source.sessions(mark, Limit::default()).await.map(Some),
                None => Ok(None),
            }
        };
        let (taken, following) = tokio::join!(target.take_sessions(parts), following);
        moved += new(taken?)?;
        looked_at += events as u64;
        show(looked_at);
        match following? {
            Some(following) => portion = following,
            None => return Ok(moved),
        }
    }
}

fn readable(piece: Piece) -> Result<Part, TransferError> {
    match piece {
        Piece::Part(part) => Ok(part),
        Piece::Unreadable { session_id, what } => Err(TransferError::Unreadable { session_id, what }),
    }
}

fn new(taken: Taken) -> Result<usize, TransferError> {
    match taken {
        Taken::Done(count) => Ok(count),
        Taken::Different(what) => Err(TransferError::Different(what)),
    }
}
