//! What a store holds, against the ledger: all that was answered, once and in order; of what was sent and not answered all
//! or nothing; and nothing else.

use super::chance::below;
use super::story::{Group, Stage, Story};
use super::support::store_conformance as suite;
use super::trace::Note;
use mancala::random::SeededDice;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{Append, Appended, Created, Deleted, Query, Store};
use std::collections::BTreeMap;

/// How many steps of a session were answered, and how many sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    pub answered: usize,
    pub sent: usize,
}

/// What is known of all sessions.
#[derive(Default)]
pub struct Ledger {
    pub sessions: BTreeMap<(u64, usize), Known>,
    groups: BTreeMap<u64, Group>,
}

impl Ledger {
    pub fn take(&mut self, note: Note) {
        self.groups.entry(note.session.0).or_insert_with(|| Group::of(note.session.0));
        let known = self.sessions.entry(note.session).or_default();
        let steps = if note.answered { &mut known.answered } else { &mut known.sent };
        assert_eq!(*steps, note.step, "the steps of a session are sent one after the other");
        *steps += 1;
    }

    pub fn story(&self, session: (u64, usize)) -> &Story {
        &self.groups[&session.0].stories[session.1]
    }

    /// Whether a store holds what it must, and takes writes. An error says what is wrong.
    pub async fn judge(&self, store: &SqliteStore, dice: &mut SeededDice) -> Result<(), String> {
        let mut there = BTreeMap::new();
        let mut made_of_group: BTreeMap<u64, bool> = BTreeMap::new();
        for (&session, &known) in &self.sessions {
            let stage = self.judge_session(store, session, known).await?;
            let made = stage.is_some() || known.answered > 0;
            if known.sent == 1 && *made_of_group.entry(session.0).or_insert(made) != made {
                return Err(format!("group {} was made in part", session.0));
            }
            there.extend(stage.map(|stage| (session, stage)));
        }
        let listed =
            store.list(Query { limit: usize::MAX >> 1, ..Query::default() }).await.map_err(|error| format!("a list: {error}"))?;
        if listed.heads.len() != there.len() {
            return Err(format!("{} sessions are listed, {} are there", listed.heads.len(), there.len()));
        }
        let any = there.iter().nth(below(dice, there.len().max(1)));
        if let Some((&session, stage)) = any {
            self.repeat(store, session, stage).await?;
        }
        let gone = self
            .sessions
            .iter()
            .find(|(session, known)| known.answered == self.story(**session).steps() && !there.contains_key(*session));
        if let Some((&session, _)) = gone {
            self.stays_gone(store, self.story(session)).await?;
        }
        takes_writes(store).await
    }

    /// The stage at which a session is, if it is one that it may be at.
    async fn judge_session(&self, store: &SqliteStore, session: (u64, usize), known: Known) -> Result<Option<&Stage>, String> {
        let story = self.story(session);
        let id = &story.create.head.session_id;
        let wrong = |what: String| format!("{id}, {known:?} of {} steps: {what}", story.steps());
        let head = store.head(id).await.map_err(|error| wrong(format!("its head: {error}")))?;
        let events = store.read(id, 0, usize::MAX).await.map_err(|error| wrong(format!("its events: {error}")))?;
        let Some(head) = head else {
            // It was never made, or it is deleted.
            let deleted = story.delete.is_some() && known.sent == story.steps();
            return if known.answered == 0 || deleted { Ok(None) } else { Err(wrong("it is lost".to_owned())) };
        };
        let stage = story.stages.iter().position(|stage| stage.head == head);
        let Some(stage) = stage else { return Err(wrong(format!("its head is none that it ever had: {head:?}"))) };
        if !(known.answered..=known.sent).contains(&(stage + 1)) {
            return Err(wrong(format!("it is as after {} steps", stage + 1)));
        }
        let stage = &story.stages[stage];
        match events {
            Some(events) if events == stage.events => Ok(Some(stage)),
            other => Err(wrong(format!("its events are {other:?}"))),
        }
    }

    /// What is repeated does not happen again.
    async fn repeat(&self, store: &SqliteStore, session: (u64, usize), stage: &Stage) -> Result<(), String> {
        let id = &stage.head.session_id;
        let last = stage.events.last().expect("an event");
        if let Some(request) = &last.request {
            let again = Append { request: Some(request.clone()), ..suite::append(id, stage.head.version) };
            let end = store.append(again).await;
            if end != Ok(Appended::Conflict) {
                return Err(format!("{id}: its last request repeated: {end:?}"));
            }
        }
        let create = self.story(session).create.clone();
        let Some(request) = create.request.clone() else { return Ok(()) };
        match store.create(create).await {
            Ok(Created::Repeated(creation)) if creation.request == request && creation.session_id == *id && !creation.deleted => {
                Ok(())
            }
            other => Err(format!("{id}: its creation repeated: {other:?}")),
        }
    }

    async fn stays_gone(&self, store: &SqliteStore, story: &Story) -> Result<(), String> {
        let delete = story.delete.clone().expect("it was deleted");
        let (id, request) = (delete.session_id.clone(), delete.request.clone());
        match store.delete(delete).await {
            Ok(Deleted::Gone(by)) if by == request => Ok(()),
            other => Err(format!("{id}: its deletion repeated: {other:?}")),
        }
    }
}

async fn takes_writes(store: &SqliteStore) -> Result<(), String> {
    let created = store.create(suite::create("afterwards")).await;
    let appended = store.append(suite::append("afterwards", 1)).await;
    let read = store.read("afterwards", 0, 10).await.map(|events| events.map_or(0, |events| events.len()));
    match (created, appended, read) {
        (Ok(Created::Done), Ok(Appended::Done), Ok(2)) => Ok(()),
        other => Err(format!("a new session: {other:?}")),
    }
}
