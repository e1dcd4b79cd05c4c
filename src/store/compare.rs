//! Two stores compared, entry by entry.

use super::archive::{Archive, Chain, Limit, Mark, Piece};
use super::transfer::PAGE;
use super::{Head, StoreError, StoredEvent};
use std::collections::VecDeque;

/// The first difference between two stores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Something of a session is different.
    #[error("session {session_id}: {what}")]
    Session {
        /// The session.
        session_id: String,
        /// What it is.
        what: String,
    },
    /// The deletion of a session is different, or only one knows of it.
    #[error("session {0} was deleted in one of them only, or otherwise")]
    Tombstone(String),
    /// What a request has made is different, or only one knows of it.
    #[error("request {0} has made something in one of them only, or something else")]
    Making(String),
}

/// Compares all heads, events, deletions and requests of two stores, which nobody may write to meanwhile. `show` is told how many
/// events were compared.
///
/// # Errors
/// The stores'.
pub async fn compare(
    source: &dyn Archive,
    target: &dyn Archive,
    show: &mut (dyn FnMut(u64) + Send),
) -> Result<Option<Difference>, StoreError> {
    if let Some(difference) = compare_sessions(source, target, show).await? {
        return Ok(Some(difference));
    }
    let mut after = String::new();
    loop {
        let (ours, theirs) = tokio::try_join!(source.tombstones(&after, PAGE), target.tombstones(&after, PAGE))?;
        if let Some(id) = first_difference(&ours, &theirs, |tombstone| &tombstone.session_id) {
            return Ok(Some(Difference::Tombstone(id)));
        }
        let Some(last) = ours.last() else { break };
        after.clone_from(&last.session_id);
    }
    after.clear();
    loop {
        let (ours, theirs) = tokio::try_join!(source.makings(&after, PAGE), target.makings(&after, PAGE))?;
        if let Some(id) = first_difference(&ours, &theirs, |making| &making.request.id) {
            return Ok(Some(Difference::Making(id)));
        }
        let Some(last) = ours.last() else { return Ok(None) };
        after.clone_from(&last.request.id);
    }
}

/// The id of the first entry that is not the same in both.
fn first_difference<T: PartialEq>(ours: &[T], theirs: &[T], id: impl Fn(&T) -> &String) -> Option<String> {
    let same = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
    [ours.get(same), theirs.get(same)].into_iter().flatten().map(id).min().cloned()
}

async fn compare_sessions(
    source: &dyn Archive,
    target: &dyn Archive,
    show: &mut (dyn FnMut(u64) + Send),
) -> Result<Option<Difference>, StoreError> {
    let (mut ours, mut theirs) = (Side::new(source), Side::new(target));
    let mut events = 0;
    loop {
        tokio::try_join!(ours.fill(), theirs.fill())?;
        if ours.entries.is_empty() && theirs.entries.is_empty() {
            return Ok(None);
        }
        while let (Some(our), Some(their)) = (ours.entries.front(), theirs.entries.front()) {
            if our != their {
                return Ok(Some(between(our, their)));
            }
            events += u64::from(matches!(our.what, What::Event(_)));
            ours.entries.pop_front();
            theirs.entries.pop_front();
        }
        show(events);
        // One has come to its end, and the other has not.
        tokio::try_join!(ours.fill(), theirs.fill())?;
        match (ours.entries.front(), theirs.entries.front()) {
            (Some(our), None) => return Ok(Some(our.only_in("source"))),
            (None, Some(their)) => return Ok(Some(their.only_in("target"))),
            _ => {}
        }
    }
}

fn between(our: &Entry, their: &Entry) -> Difference {
    match our.place().cmp(&their.place()) {
        std::cmp::Ordering::Less => our.only_in("source"),
        std::cmp::Ordering::Greater => their.only_in("target"),
        std::cmp::Ordering::Equal => our.difference(match (&our.what, &their.what) {
            (What::Unreadable(what), _) | (_, What::Unreadable(what)) => format!("it can't be read: {what}"),
            (What::Head(_), _) => "its entry in lists is another".to_owned(),
            (What::Event(event), _) => format!("event {} is another", event.seq),
        }),
    }
}

/// One thing that is stored of a session.
#[derive(PartialEq)]
struct Entry {
    session_id: String,
    what: What,
}

#[derive(PartialEq)]
enum What {
    Head(Box<Head>),
    Event(StoredEvent),
    Unreadable(String),
}

impl Entry {
    /// Its place in the order of entries.
    fn place(&self) -> (&str, u32) {
        match &self.what {
            What::Head(_) | What::Unreadable(_) => (&self.session_id, 0),
            What::Event(event) => (&self.session_id, event.seq),
        }
    }

    fn only_in(&self, side: &str) -> Difference {
        self.difference(match &self.what {
            What::Head(_) => format!("it is only in the {side}"),
            What::Event(event) => format!("event {} is only in the {side}", event.seq),
            What::Unreadable(what) => format!("it can't be read in the {side}: {what}"),
        })
    }

    fn difference(&self, what: String) -> Difference {
        Difference::Session { session_id: self.session_id.clone(), what }
    }
}

/// One of the two stores, as far as it has been read.
struct Side<'a> {
    archive: &'a dyn Archive,
    entries: VecDeque<Entry>,
    next: Option<Mark>,
    chain: Chain,
}

impl Side<'_> {
    fn new(archive: &dyn Archive) -> Side<'_> {
        Side { archive, entries: VecDeque::new(), next: Some(Mark::start()), chain: Chain::new() }
    }

    /// Reads on until there is something to compare, if anything is left.
    async fn fill(&mut self) -> Result<(), StoreError> {
        while self.entries.is_empty()
            && let Some(from) = self.next.take()
        {
            let begun = (from.version != Mark::END).then(|| from.session_id.clone());
            let portion = self.archive.sessions(from, Limit::default()).await?;
            self.next = portion.next;
            for piece in portion.pieces {
                let session_id = piece.session_id().to_owned();
                match piece {
                    Piece::Unreadable { what, .. } => self.entries.push_back(Entry { session_id, what: What::Unreadable(what) }),
                    Piece::Part(mut part) => {
                        self.chain.complete(&mut part);
                        if begun.as_ref() != Some(&session_id) {
                            let head = What::Head(Box::new(part.head));
                            self.entries.push_back(Entry { session_id: session_id.clone(), what: head });
                        }
                        let events = part.events.into_iter().map(What::Event);
                        self.entries.extend(events.map(|what| Entry { session_id: session_id.clone(), what }));
                    }
                }
            }
        }
        Ok(())
    }
}
