//! All that can be asked of a store, and all of its answers known.

use super::story::{Group, Stage};
use mancala::store::sqlite::SqliteStore;
use mancala::store::{
    Append, Appended, Changed, Create, Created, CreatedAll, Cursor, Deleted, EventHash, Filter, Head, IdleQuery, Query, State,
    Store, StoreError, StoredEvent,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// How a store that was tampered with does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It does not open.
    Refused(String),
    /// Something could not be read, and is said to be damaged. All else is as it should be.
    Damaged(String),
    /// Everything is as it should be.
    Exact,
    /// An answer is wrong and nothing says so.
    Wrong(String),
}

impl Finding {
    /// Without its details.
    pub fn kind(&self) -> Finding {
        match self {
            Finding::Refused(_) => Finding::Refused(String::new()),
            Finding::Damaged(_) => Finding::Damaged(String::new()),
            Finding::Exact => Finding::Exact,
            Finding::Wrong(_) => Finding::Wrong(String::new()),
        }
    }
}

/// Groups of sessions all of whose steps were taken.
pub struct Census {
    groups: Vec<Group>,
}

/// What has been found up to now.
struct Found(Finding);

impl Found {
    /// Takes in an answer: the expected one, damage, or another.
    fn expect<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, answer: Result<T, StoreError>, expected: &T) {
        match answer {
            Ok(answer) if answer == *expected => {}
            Ok(answer) => self.wrong(format!("{what}: {answer:?} instead of {expected:?}")),
            Err(error) => self.refused(what, &error),
        }
    }

    fn refused(&mut self, what: &str, error: &StoreError) {
        match error {
            StoreError::Damaged(_) if self.0 == Finding::Exact => self.0 = Finding::Damaged(format!("{what}: {error}")),
            StoreError::Damaged(_) => {}
            other => self.wrong(format!("{what}: {other}")),
        }
    }

    fn wrong(&mut self, what: String) {
        if !matches!(self.0, Finding::Wrong(_)) {
            self.0 = Finding::Wrong(what);
        }
    }
}

/// Whether events are a chain after a hash, as whoever makes a session of them finds out.
fn is_chain(mut hash: EventHash, events: &[StoredEvent]) -> bool {
    events.iter().all(|event| {
        hash = hash.then(event.seq, event.time, event.request.as_ref().map(|request| request.id.as_str()), &event.body);
        event.hash == Some(hash)
    })
}

const STATES: [State; 3] = [State::Active, State::Finished, State::Aborted];

impl Census {
    pub fn of(numbers: Range<u64>) -> Census {
        Census { groups: numbers.map(Group::of).collect() }
    }

    /// The sessions that are there, as they are.
    fn there(&self) -> impl Iterator<Item = &Stage> {
        let stories = self.groups.iter().flat_map(|group| &group.stories);
        stories.filter(|story| story.delete.is_none()).filter_map(|story| story.stages.last())
    }

    fn heads(&self, fits: impl Fn(&Head) -> bool) -> Vec<&Head> {
        self.there().map(|stage| &stage.head).filter(|head| fits(head)).collect()
    }

    /// Asks everything.
    pub async fn take(&self, store: &SqliteStore) -> Finding {
        let mut found = Found(Finding::Exact);
        self.ask_sessions(store, &mut found).await;
        self.ask_lists(store, &mut found).await;
        self.ask_times(store, &mut found).await;
        self.ask_changes(store, &mut found).await;
        self.repeat(store, &mut found).await;
        found.0
    }

    async fn ask_sessions(&self, store: &SqliteStore, found: &mut Found) {
        for story in self.groups.iter().flat_map(|group| &group.stories) {
            let id = &story.create.head.session_id;
            let stage = story.stages.last().filter(|_| story.delete.is_none());
            found.expect("a head", store.head(id).await, &stage.map(|stage| stage.head.clone()));
            match (store.read(id, 0, usize::MAX).await, stage) {
                (Ok(Some(events)), Some(stage)) if events == stage.events => {}
                (Ok(None), None) => {}
                (Ok(Some(events)), _) if !is_chain(EventHash::START, &events) => {
                    found.refused("events", &StoreError::Damaged("no chain".to_owned()))
                }
                (Ok(events), _) => found.wrong(format!("events of {id}: {events:?}")),
                (Err(error), _) => found.refused("events", &error),
            }
            let versions = store.versions(vec![id.clone()]).await;
            found.expect("a version", versions, &vec![stage.map(|stage| stage.head.version)]);
        }
    }

    async fn ask_lists(&self, store: &SqliteStore, found: &mut Found) {
        let mut filters = vec![Filter::default()];
        filters.extend(["gore", "ayoayo", "kiothi"].map(|game| Filter { game: Some(game.to_owned()), ..Filter::default() }));
        filters.extend(STATES.map(|state| Filter { state: Some(state), ..Filter::default() }));
        let cups = ["open", "cup"].map(|event| [("event".to_owned(), event.to_owned())].into());
        filters.extend(cups.map(|labels| Filter { labels, ..Filter::default() }));
        filters.extend(["ana", "ben", "eva"].map(|player| Filter { players: [player.to_owned()].into(), ..Filter::default() }));
        for filter in filters {
            let mut expected = self.heads(|head| fits(head, &filter));
            expected.sort_by(|a, b| (b.created, &b.session_id).cmp(&(a.created, &a.session_id)));
            let expected: Vec<_> = expected.into_iter().cloned().collect();
            let count = store.count(filter.clone(), 1_000).await;
            found.expect("a count", count, &expected.len());
            let listed = store.list(Query { filter, limit: 1_000, ..Query::default() }).await;
            found.expect("a list", listed.map(|page| page.heads), &expected);
        }
        let census = store.census().await.map(|census| [census.active, census.finished, census.aborted]);
        found.expect("a census", census, &STATES.map(|state| self.heads(|head| head.state == state).len() as u64));
    }

    async fn ask_times(&self, store: &SqliteStore, found: &mut Found) {
        let ids = |heads: Vec<&Head>| heads.into_iter().map(|head| head.session_id.clone()).collect::<BTreeSet<_>>();
        let overdue = store.overdue(i64::MAX, None, 1_000).await;
        let overdue = overdue.map(|found| found.into_iter().collect::<BTreeSet<_>>());
        let deadlines = self.there().filter_map(|stage| Some((stage.head.session_id.clone(), stage.head.deadline?)));
        found.expect("what is overdue", overdue, &deadlines.collect());
        for state in STATES {
            let due = store.due(state, i64::MAX, 1_000).await;
            let due = due.map(|found| found.into_iter().map(|it| it.session_id).collect());
            found.expect("what is due", due, &ids(self.heads(|head| head.state == state && head.expires.is_some())));
            let idle = store.idle(IdleQuery { state, since: i64::MAX, after: None, limit: 1_000 }).await;
            let idle = idle.map(|found| found.into_iter().map(|it| it.session_id).collect());
            found.expect("what is idle", idle, &ids(self.heads(|head| head.state == state && head.expires.is_none())));
        }
    }

    async fn ask_changes(&self, store: &SqliteStore, found: &mut Found) {
        let changes = match store.changes(Cursor::start(), usize::MAX >> 1).await {
            Ok(Some(changes)) => changes.changes,
            Ok(None) => return found.wrong("there are no changes".to_owned()),
            Err(error) => return found.refused("changes", &error),
        };
        let mut deleted = BTreeSet::new();
        let mut events = 0;
        for change in changes {
            let id = change.head.session_id;
            match change.what {
                Changed::Deleted => drop(deleted.insert(id)),
                Changed::Events(new) => {
                    events += new.len();
                    let stage = self.there().find(|stage| stage.head.session_id == id);
                    let known = stage.map_or(&[][..], |stage| stage.events.as_slice());
                    let first = new.first().map_or(0, |event| event.seq as usize).saturating_sub(1);
                    let before = known.get(first.wrapping_sub(1)).and_then(|event| event.hash).unwrap_or(EventHash::START);
                    if !new.is_empty() && known.get(first..first + new.len()) == Some(&new[..]) {
                        continue;
                    }
                    // Whoever follows a session holds its events against their hashes.
                    if is_chain(before, &new) {
                        found.wrong(format!("changes of {id}: {new:?}"));
                    } else {
                        found.refused("changes", &StoreError::Damaged("no chain".to_owned()));
                    }
                }
            }
        }
        let stories = self.groups.iter().flat_map(|group| &group.stories).filter(|story| story.delete.is_some());
        let expected: BTreeSet<_> = stories.map(|story| story.create.head.session_id.clone()).collect();
        found.expect("deletions", Ok(deleted), &expected);
        found.expect("events of all", Ok(events), &self.there().map(|stage| stage.events.len()).sum());
    }

    /// What was done is done again, and answered alike.
    async fn repeat(&self, store: &SqliteStore, found: &mut Found) {
        for group in &self.groups {
            if let (Some(batch), Some(request)) = (group.batch(), &group.request) {
                let again = store.create_all(batch).await.map(|again| match again {
                    CreatedAll::Repeated(made) => {
                        made.into_iter().map(|made| (made.session_id, made.request, made.deleted)).collect()
                    }
                    other => vec![(format!("{other:?}"), request.clone(), false)],
                });
                let made = group
                    .stories
                    .iter()
                    .map(|story| (story.create.head.session_id.clone(), request.clone(), story.delete.is_some()));
                found.expect("a batch repeated", again, &made.collect());
            }
            for story in &group.stories {
                let create = Create { request: None, ..story.create.clone() };
                found.expect("an id used again", store.create(create).await, &Created::IdTaken);
                if let Some(delete) = &story.delete {
                    let expected = Deleted::Gone(delete.request.clone());
                    found.expect("a deletion repeated", store.delete(delete.clone()).await, &expected);
                    continue;
                }
                let Some(stage) = story.stages.last() else { continue };
                for append in story.appends.iter().filter(|append| append.request.is_some()) {
                    let again = Append { expected_version: stage.head.version, ..append.clone() };
                    found.expect("an append repeated", store.append(again).await, &Appended::Conflict);
                }
                if let Some(request) = &story.create.request {
                    let made = store.creation(&request.id).await.map(|made| made.map(|made| (made.session_id, made.request)));
                    found.expect("a creation", made, &Some((stage.head.session_id.clone(), request.clone())));
                }
            }
        }
    }
}

fn fits(head: &Head, filter: &Filter) -> bool {
    filter.game.as_ref().is_none_or(|game| head.game == *game)
        && filter.state.is_none_or(|state| head.state == state)
        && filter.labels.iter().all(|(name, value)| head.labels.get(name) == Some(value))
        && filter.players.iter().all(|player| head.players.iter().flatten().any(|of| of == player))
}
