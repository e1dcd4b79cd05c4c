//! All changes in one order, for those who follow the whole store.
//!
//! The order is that of the transactions that wrote them. Transactions end in another order than they began, so what can be read at a
//! moment has gaps that are filled later. Hence only what lies before every transaction that may still be under way is read: there, all
//! has come that will come. The price: a transaction that has written anything in any database of the server, and stays open, holds
//! all followers back.

use super::errors::damaged;
use super::link::Link;
use super::reads::{event, get, head, sql_limit, text_in};
use super::sql;
use super::text::stored;
use crate::store::{Change, Changed, Changes, Cursor, Head, Micros, StoreError, StoredEvent};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;

/// Between looks at whether transactions have ended that hold changes back, at first: most end at once. It doubles, up to the longest,
/// for a stranger's may take its time, and all who follow look on the connections that moves are made on.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A place in the order: transaction, session, event. A deletion has the number 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct At {
    tx: i64,
    session_id: String,
    seq: i64,
}

impl At {
    /// As a cursor. The transaction comes last, so that nothing can be put behind it that makes another place of the same transaction.
    fn cursor(&self, store_id: &str) -> Cursor {
        if *self == At::default() {
            return Cursor::start();
        }
        Cursor(format!("{store_id}.{}.{}.{}", self.session_id, self.seq, self.tx))
    }

    /// The place of a cursor, with the store that it is of; none if it is no cursor of this kind of store.
    fn parse(cursor: &Cursor) -> Option<(Option<String>, At)> {
        if *cursor == Cursor::start() {
            return Some((None, At::default()));
        }
        let (store_id, place) = cursor.0.split_once('.')?;
        let (place, tx) = place.rsplit_once('.')?;
        let (session_id, seq) = place.rsplit_once('.')?;
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
        Some((Some(store_id.to_owned()), At { tx: number(tx)?, session_id: session_id.to_owned(), seq: number(seq)? }))
    }
}

/// Where the order ends at present. What has been stored before this was called lies before it, unless a transaction is under way that
/// does not end in time.
pub(super) async fn end(link: &Link) -> Result<Cursor, StoreError> {
    let patience = Instant::now() + patience(link);
    let (mut newest, mut pause) = (None, PAUSE);
    loop {
        let rows = link.query(&sql::end_of_changes(), &[]).await?;
        let row = rows.first().ok_or_else(|| damaged("the database has lost its id"))?;
        let horizon: i64 = get(row, 1)?;
        let newest = *newest.get_or_insert(newest_of(row, 5)?);
        if horizon > newest || Instant::now() >= patience {
            let at = match get::<Option<i64>>(row, 2)? {
                Some(tx) => At { tx, session_id: text_in(row, 3)?, seq: get(row, 4)? },
                None => At::default(),
            };
            return Ok(at.cursor(get(row, 0)?));
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// The last transaction of all that have changed anything, as a cursor before its changes: what is compared, not followed. So it waits
/// for no transaction that is under way, which may be a stranger's.
pub(super) async fn newest(link: &Link) -> Result<Cursor, StoreError> {
    let rows = link.query(&sql::end_of_changes(), &[]).await?;
    let row = rows.first().ok_or_else(|| damaged("the database has lost its id"))?;
    Ok(At { tx: newest_of(row, 5)?, ..At::default() }.cursor(get(row, 0)?))
}

pub(super) async fn changes(link: &Link, after: &Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
    let Some((store_id, after)) = At::parse(after) else { return Ok(None) };
    let patience = Instant::now() + patience(link);
    // One more than are wanted, to know whether more follow.
    let limit_and_one = sql_limit(limit.saturating_add(1));
    let (mut newest, mut pause) = (None, PAUSE);
    loop {
        let rows = link.query(&sql::changes(), &[&after.tx, &stored(&after.session_id), &after.seq, &limit_and_one]).await?;
        let row = rows.first().ok_or_else(|| damaged("the database has lost its id"))?;
        let (ours, horizon): (&str, i64) = (get(row, 0)?, get(row, 1)?);
        if store_id.as_ref().is_some_and(|store_id| store_id != ours) || after.tx >= horizon {
            return Ok(None);
        }
        let hidden = newest_of(row, 2)? >= horizon;
        let newest = *newest.get_or_insert(newest_of(row, 2)?);
        let nothing = get::<Option<i64>>(row, 4)?.is_none();
        if nothing && newest >= horizon && Instant::now() < patience {
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
            continue;
        }
        let entries = if nothing { Vec::new() } else { rows.iter().map(entry).collect::<Result<Vec<_>, _>>()? };
        return Ok(Some(page(entries, after, limit, ours, !hidden)));
    }
}

/// How long changes that are there are waited for, while a transaction that began before them is under way.
fn patience(link: &Link) -> Duration {
    link.options().read_timeout / 4
}

/// The last transaction of all that have changed anything, whether or not what lies before it is complete: the greater of two columns.
fn newest_of(row: &Row, column: usize) -> Result<i64, StoreError> {
    let (events, deletions): (Option<i64>, Option<i64>) = (get(row, column)?, get(row, column + 1)?);
    Ok(events.max(deletions).unwrap_or(0))
}

/// One entry of the order.
struct Entry {
    at: At,
    /// It begins something that was stored at once.
    first: bool,
    head: Head,
    /// Of a session that is deleted, this is left out: the deletion tells all.
    left_behind: bool,
    event: Option<StoredEvent>,
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    let deletion: bool = get(row, 6)?;
    let mut head = head(row, 14)?;
    let event = if deletion { None } else { Some(event(row, [5, 7, 8, 10, 11])?) };
    if deletion {
        head = Head { updated: get::<Micros>(row, 7)?, summary: String::new(), expires: None, deadline: None, ..head };
    }
    let at = At { tx: get(row, 4)?, session_id: head.session_id.clone(), seq: get(row, 5)? };
    let deleted: bool = get(row, 13)?;
    Ok(Entry { at, first: get(row, 12)?, head, left_behind: deleted && !deletion, event })
}

fn page(mut entries: Vec<Entry>, after: At, limit: usize, store_id: &str, nothing_hidden: bool) -> Changes {
    let all = entries.len() <= limit;
    if !all {
        // What was stored at once is not torn apart.
        let whole = entries.iter().rposition(|entry| entry.first).filter(|&start| start > 0);
        entries.truncate(whole.unwrap_or(limit));
    }
    let last = entries.last().map_or(after, |entry| entry.at.clone());
    let mut changes: Vec<Change> = Vec::new();
    for Entry { head, event, .. } in entries.into_iter().filter(|entry| !entry.left_behind) {
        match (event, changes.last_mut()) {
            (Some(event), Some(Change { head: of, what: Changed::Events(events) })) if of.session_id == head.session_id => {
                events.push(event);
            }
            (Some(event), _) => changes.push(Change { head, what: Changed::Events(vec![event]) }),
            (None, _) => changes.push(Change { head, what: Changed::Deleted }),
        }
    }
    Changes { changes, cursor: last.cursor(store_id), caught_up: all && nothing_hidden }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for session_id in ["game-a", "a.b.1", ""] {
            let at = At { tx: 7, session_id: session_id.into(), seq: 3 };
            assert_eq!(At::parse(&at.cursor("store")), Some((Some("store".into()), at)));
        }
        assert_eq!(At::parse(&Cursor::start()), Some((None, At::default())));
        for text in ["", "1", "x", "s.1.2", "s.game.x.1", "s.game.1.-1", "s.game.-1.1", "s.game.1.99999999999999999999"] {
            assert_eq!(At::parse(&Cursor(text.into())), None, "{text}");
        }
    }
}
