//! A store in memory: every input begins with an empty one, and nothing but the input decides what comes of it.
//!
//! It passes the suite that every store must pass (`tests/fuzz.rs`).

use async_trait::async_trait;
use mancala::store::{
    Append, Appended, Census, Change, Changed, Changes, Create, CreateAll, Created, CreatedAll, Creation, Cursor, Delete,
    Deleted, Expirable, Filter, Head, HeadPage, Health, IdleQuery, Import, Micros, Place, Query, Request, State, Store,
    StoreError, StoredEvent,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// See the module.
pub struct MemoryStore {
    /// None: it is closed.
    kept: Mutex<Option<Kept>>,
    health: watch::Sender<Health>,
}

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, (Head, Vec<StoredEvent>)>,
    /// Deleted sessions, with the request that did it.
    gone: BTreeMap<String, Option<Request>>,
    /// Which sessions requests have made.
    made: BTreeMap<String, (Request, Vec<String>)>,
    /// All changes of sessions that are still there, and all deletions.
    log: Vec<Entry>,
    /// The place of the last change that there has been.
    end: u64,
}

struct Entry {
    place: u64,
    /// The first of what was stored at once.
    first: bool,
    what: Logged,
}

enum Logged {
    Event { session_id: String, seq: u32 },
    Deletion(Box<Head>),
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore { kept: Mutex::new(Some(Kept::default())), health: watch::Sender::new(Health::Writable) }
    }
}

impl MemoryStore {
    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> Result<T, StoreError> {
        match self.lock().as_mut() {
            Some(kept) => Ok(work(kept)),
            None => Err(StoreError::Unavailable("it is closed".to_owned())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_taken(&self, session_id: &str) -> bool {
        self.sessions.contains_key(session_id) || self.gone.contains_key(session_id)
    }

    fn made_by(&self, request_id: &str) -> Option<Vec<Creation>> {
        let (request, ids) = self.made.get(request_id)?;
        let creation =
            |id: &String| Creation { session_id: id.clone(), request: request.clone(), deleted: self.gone.contains_key(id) };
        Some(ids.iter().map(creation).collect())
    }

    fn remember(&mut self, request: Option<&Request>, ids: Vec<String>) {
        if let Some(request) = request {
            self.made.insert(request.id.clone(), (request.clone(), ids));
        }
    }

    fn note(&mut self, what: Logged, first: bool) {
        self.end += 1;
        self.log.push(Entry { place: self.end, first, what });
    }

    /// Notes the events of a session after a version.
    fn note_events(&mut self, session_id: &str, after: u32, until: u32) {
        for seq in after + 1..=until {
            self.note(Logged::Event { session_id: session_id.to_owned(), seq }, seq == after + 1);
        }
    }

    fn insert(&mut self, create: Create, request: Option<&Request>) {
        let hashes = create.hashes(request);
        let events = (1..).zip(create.events).zip(hashes).map(|((seq, body), hash)| StoredEvent {
            seq,
            time: create.head.created,
            request: request.cloned(),
            body,
            hash: Some(hash),
        });
        let events = events.collect();
        self.note_events(&create.head.session_id, 0, create.head.version);
        self.sessions.insert(create.head.session_id.clone(), (create.head, events));
    }

    fn create(&mut self, create: Create) -> Created {
        let request = create.request.clone();
        if let Some(made) = request.as_ref().and_then(|request| self.made_by(&request.id)) {
            return Created::Repeated(made[0].clone());
        }
        if self.is_taken(&create.head.session_id) {
            return Created::IdTaken;
        }
        self.remember(request.as_ref(), vec![create.head.session_id.clone()]);
        self.insert(create, request.as_ref());
        Created::Done
    }

    fn import(&mut self, import: Import) -> Created {
        let Import { head, events, request } = import;
        if let Some(made) = request.as_ref().and_then(|request| self.made_by(&request.id)) {
            return Created::Repeated(made[0].clone());
        }
        if self.is_taken(&head.session_id) {
            return Created::IdTaken;
        }
        self.remember(request.as_ref(), vec![head.session_id.clone()]);
        self.note_events(&head.session_id, 0, head.version);
        self.sessions.insert(head.session_id.clone(), (head, events));
        Created::Done
    }

    fn create_all(&mut self, batch: CreateAll) -> CreatedAll {
        let CreateAll { sessions, request } = batch;
        if let Some(made) = request.as_ref().and_then(|request| self.made_by(&request.id)) {
            return CreatedAll::Repeated(made);
        }
        let taken = |(_, create): &(usize, &Create)| self.is_taken(&create.head.session_id);
        let taken: Vec<_> = sessions.iter().enumerate().filter(taken).map(|(place, _)| place).collect();
        if !taken.is_empty() {
            return CreatedAll::IdsTaken(taken);
        }
        self.remember(request.as_ref(), sessions.iter().map(|create| create.head.session_id.clone()).collect());
        sessions.into_iter().for_each(|create| self.insert(create, request.as_ref()));
        CreatedAll::Done
    }

    fn append(&mut self, append: Append) -> Appended {
        let Some((head, events)) = self.sessions.get_mut(&append.session_id) else { return Appended::NotFound };
        let id = append.request.as_ref().map(|request| &request.id);
        let used = |event: &StoredEvent| event.request.as_ref().map(|request| &request.id) == id;
        if head.version != append.expected_version || (id.is_some() && events.iter().any(used)) {
            return Appended::Conflict;
        }
        for (body, hash) in append.events.into_iter().zip(append.hashes) {
            head.version += 1;
            let (seq, time, request) = (head.version, append.time, append.request.clone());
            events.push(StoredEvent { seq, time, request, body, hash: Some(hash) });
        }
        head.updated = append.time;
        head.state = append.state;
        head.players = append.players;
        head.expires = append.expires;
        head.deadline = append.deadline;
        head.summary = append.summary;
        let until = head.version;
        self.note_events(&append.session_id, append.expected_version, until);
        Appended::Done
    }

    fn delete(&mut self, delete: Delete) -> Deleted {
        let Some((head, _)) = self.sessions.get(&delete.session_id) else {
            return self.gone.get(&delete.session_id).map_or(Deleted::NotFound, |by| Deleted::Gone(by.clone()));
        };
        if delete.expected_version.is_some_and(|expected| expected != head.version) {
            return Deleted::Conflict(head.version);
        }
        let left = Head { summary: String::new(), ..head.clone() };
        self.sessions.remove(&delete.session_id);
        let is_of = |entry: &Entry| matches!(&entry.what, Logged::Event { session_id, .. } if *session_id == delete.session_id);
        self.log.retain(|entry| !is_of(entry));
        self.note(Logged::Deletion(Box::new(left)), true);
        self.gone.insert(delete.session_id, delete.request);
        Deleted::Done
    }

    fn list(&self, query: &Query) -> HeadPage {
        let Query { filter, after, limit } = query;
        let place = |head: &Head| (head.created, head.session_id.clone());
        let later = |head: &&Head| after.as_ref().is_none_or(|after| place(head) < *after);
        let mut heads: Vec<_> = self.heads().filter(|head| filter.matches(head)).filter(later).collect();
        heads.sort_by_key(|head| Reverse(place(head)));
        let next = if heads.len() > *limit { limit.checked_sub(1).map(|last| place(heads[last])) } else { None };
        HeadPage { heads: heads.into_iter().take(*limit).cloned().collect(), next }
    }

    fn changes(&self, after: u64, limit: usize) -> Changes {
        let mut entries: Vec<_> = self.log.iter().filter(|entry| entry.place > after).take(limit.saturating_add(1)).collect();
        let caught_up = entries.len() <= limit;
        if !caught_up {
            // What was stored at once is not torn apart.
            let whole = entries.iter().rposition(|entry| entry.first).filter(|&start| start > 0);
            entries.truncate(whole.unwrap_or(limit));
        }
        let cursor = Cursor(entries.last().map_or(after, |entry| entry.place).to_string());
        let mut changes: Vec<Change> = Vec::new();
        for entry in entries {
            match (&entry.what, changes.last_mut()) {
                (Logged::Deletion(head), _) => changes.push(Change { head: (**head).clone(), what: Changed::Deleted }),
                (Logged::Event { session_id, seq }, last) => {
                    let (head, events) = &self.sessions[session_id];
                    let event = events[*seq as usize - 1].clone();
                    match last {
                        Some(Change { head, what: Changed::Events(events) }) if head.session_id == *session_id => {
                            events.push(event)
                        }
                        _ => changes.push(Change { head: head.clone(), what: Changed::Events(vec![event]) }),
                    }
                }
            }
        }
        Changes { changes, cursor, caught_up }
    }

    fn heads(&self) -> impl Iterator<Item = &Head> {
        self.sessions.values().map(|(head, _)| head)
    }

    /// The first sessions in an order, of those that have a place in it.
    fn first<K: Ord>(&self, limit: usize, key: impl Fn(&Head) -> Option<K>) -> Vec<&Head> {
        let mut found: Vec<_> = self.heads().filter_map(|head| Some((key(head)?, head))).collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found.into_iter().map(|(_, head)| head).take(limit).collect()
    }
}

fn minute(time: Micros) -> Micros {
    time.div_euclid(60_000_000)
}

fn expirable(head: &Head) -> Expirable {
    Expirable { session_id: head.session_id.clone(), version: head.version, updated: head.updated }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, create: Create) -> Result<Created, StoreError> {
        self.with(|kept| kept.create(create))
    }

    async fn import(&self, import: Import) -> Result<Created, StoreError> {
        self.with(|kept| kept.import(import))
    }

    async fn create_all(&self, batch: CreateAll) -> Result<CreatedAll, StoreError> {
        self.with(|kept| kept.create_all(batch))
    }

    async fn creation(&self, request_id: &str) -> Result<Option<Creation>, StoreError> {
        self.with(|kept| kept.made_by(request_id).map(|made| made[0].clone()))
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.with(|kept| kept.append(append))
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, StoreError> {
        self.with(|kept| kept.delete(delete))
    }

    async fn read(&self, session_id: &str, after: u32, limit: usize) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        self.with(|kept| {
            let (_, events) = kept.sessions.get(session_id)?;
            Some(events.iter().skip(after as usize).take(limit).cloned().collect())
        })
    }

    async fn head(&self, session_id: &str) -> Result<Option<Head>, StoreError> {
        self.with(|kept| kept.sessions.get(session_id).map(|(head, _)| head.clone()))
    }

    async fn heads(&self, session_ids: Vec<String>) -> Result<Vec<Option<Head>>, StoreError> {
        self.with(|kept| session_ids.iter().map(|id| kept.sessions.get(id).map(|(head, _)| head.clone())).collect())
    }

    async fn versions(&self, session_ids: Vec<String>) -> Result<Vec<Option<u32>>, StoreError> {
        self.with(|kept| session_ids.iter().map(|id| kept.sessions.get(id).map(|(head, _)| head.version)).collect())
    }

    async fn list(&self, query: Query) -> Result<HeadPage, StoreError> {
        self.with(|kept| kept.list(&query))
    }

    async fn idle(&self, query: IdleQuery) -> Result<Vec<Expirable>, StoreError> {
        let place = |updated: Micros, id: &str| (minute(updated), id.to_owned());
        let after = query.after.as_ref().map(|(updated, id)| place(*updated, id));
        let key = |head: &Head| {
            let idle = head.state == query.state && head.expires.is_none() && head.updated <= query.since;
            Some(place(head.updated, &head.session_id)).filter(|place| idle && after.as_ref().is_none_or(|after| place > after))
        };
        self.with(|kept| kept.first(query.limit, key).into_iter().map(expirable).collect())
    }

    async fn due(&self, state: State, by: Micros, limit: usize) -> Result<Vec<Expirable>, StoreError> {
        let key = |head: &Head| {
            let expires = head.expires.filter(|&at| head.state == state && at <= by)?;
            Some((expires, head.session_id.clone()))
        };
        self.with(|kept| kept.first(limit, key).into_iter().map(expirable).collect())
    }

    async fn overdue(&self, before: Micros, after: Option<Place>, limit: usize) -> Result<Vec<(String, Micros)>, StoreError> {
        let key = |head: &Head| {
            let place = (head.deadline.filter(|&deadline| deadline < before)?, head.session_id.clone());
            Some(place).filter(|place| after.as_ref().is_none_or(|after| place > after))
        };
        let of = |head: &Head| head.deadline.map(|deadline| (head.session_id.clone(), deadline));
        self.with(|kept| kept.first(limit, key).into_iter().filter_map(of).collect())
    }

    async fn count(&self, filter: Filter, most: usize) -> Result<usize, StoreError> {
        self.with(|kept| kept.heads().filter(|head| filter.matches(head)).take(most).count())
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.with(|kept| {
            let of = |state| kept.heads().filter(|head| head.state == state).count() as u64;
            Census { active: of(State::Active), finished: of(State::Finished), aborted: of(State::Aborted) }
        })
    }

    async fn latest_change(&self) -> Result<Cursor, StoreError> {
        self.with(|kept| Cursor(kept.end.to_string()))
    }

    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Changes>, StoreError> {
        let Ok(after) = after.0.parse() else { return Ok(None) };
        self.with(|kept| (after <= kept.end).then(|| kept.changes(after, limit)))
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    async fn close(&self) {
        *self.lock() = None;
    }
}
