//! What becomes of the sessions that a writer makes, known beforehand: of every session the number says all, so that whoever
//! knows how many of its steps were acknowledged knows what must be stored.

use super::chance::{below, percent, pick};
use mancala::game::Dice;
use mancala::random::SeededDice;
use mancala::store::sqlite::SqliteStore;
use mancala::store::{
    Append, Appended, Create, CreateAll, Created, CreatedAll, Delete, Deleted, EventHash, Head, Request, State, Store,
    StoredEvent,
};

/// A session as it is after one of its steps.
#[derive(Debug, Clone)]
pub struct Stage {
    pub head: Head,
    pub events: Vec<StoredEvent>,
}

/// A session's steps after it was made, and where it stands after each.
pub struct Story {
    pub create: Create,
    pub appends: Vec<Append>,
    /// Its last step, if it has it.
    pub delete: Option<Delete>,
    /// After its creation, after its first append, and so on; not after its deletion.
    pub stages: Vec<Stage>,
}

impl Story {
    /// Its creation and all that follows.
    pub fn steps(&self) -> usize {
        1 + self.appends.len() + usize::from(self.delete.is_some())
    }
}

/// Sessions that are made at once.
pub struct Group {
    pub stories: Vec<Story>,
    pub request: Option<Request>,
}

/// Sessions of one group at most.
pub const LARGEST_GROUP: usize = 3;

impl Group {
    /// The group of this number: one session, or one time in four a batch.
    pub fn of(number: u64) -> Group {
        let dice = &mut SeededDice::for_game(GROUPS, number);
        let batch = percent(dice, 25);
        let request = (batch || percent(dice, 50)).then(|| request(&format!("make-{number}"), dice));
        let stories = (0..if batch { LARGEST_GROUP } else { 1 }).map(|place| {
            let own = request.as_ref().filter(|_| !batch).cloned();
            story(&format!("s{number}-{place}"), own, request.as_ref(), dice)
        });
        Group { stories: stories.collect(), request }
    }

    /// Its sessions as a batch, if they are one.
    pub fn batch(&self) -> Option<CreateAll> {
        let sessions = self.stories.iter().map(|story| story.create.clone()).collect();
        (self.stories.len() > 1).then(|| CreateAll { sessions, request: self.request.clone() })
    }
}

impl Group {
    /// Takes all of its steps.
    pub async fn write(&self, store: &SqliteStore) {
        match self.batch() {
            Some(batch) => assert_eq!(store.create_all(batch).await, Ok(CreatedAll::Done)),
            None => assert_eq!(store.create(self.stories[0].create.clone()).await, Ok(Created::Done)),
        }
        for story in &self.stories {
            for append in &story.appends {
                assert_eq!(store.append(append.clone()).await, Ok(Appended::Done));
            }
            if let Some(delete) = &story.delete {
                assert_eq!(store.delete(delete.clone()).await, Ok(Deleted::Done));
            }
        }
    }
}

/// What groups are is the same in every run.
const GROUPS: u64 = 1;

fn request(id: &str, dice: &mut SeededDice) -> Request {
    Request { id: id.to_owned(), digest: std::array::from_fn(|_| dice.below(256) as u8) }
}

fn story(session_id: &str, own: Option<Request>, of_events: Option<&Request>, dice: &mut SeededDice) -> Story {
    let players = [percent(dice, 50).then(|| "ana".to_owned()), percent(dice, 50).then(|| "ben".to_owned())];
    let labels = percent(dice, 50).then(|| ("event".to_owned(), pick(dice, &["open", "cup"]).to_string()));
    let created = 1_000_000 * dice.below(1_000_000) as i64;
    let head = Head {
        session_id: session_id.to_owned(),
        game: pick(dice, &["gore", "ayoayo", "kiothi"]).to_string(),
        labels: labels.into_iter().collect(),
        created,
        updated: created,
        state: State::Active,
        version: 1,
        players,
        expires: None,
        deadline: None,
        summary: text(dice),
    };
    let create = Create { head, events: vec![text(dice)], request: own };
    let first = StoredEvent {
        seq: 1,
        time: created,
        request: of_events.cloned(),
        body: create.events[0].clone(),
        hash: Some(create.hashes(of_events)[0]),
    };
    let mut stages = vec![Stage { head: create.head.clone(), events: vec![first] }];
    let appends: Vec<_> = (0..3 + below(dice, 12))
        .map(|_| {
            let last = stages.last().expect("the first");
            let append = append_to(last, dice);
            stages.push(after(last, &append));
            append
        })
        .collect();
    let delete = percent(dice, 20).then(|| {
        let request = Some(request(&format!("delete-{session_id}"), dice));
        Delete { session_id: session_id.to_owned(), expected_version: None, request, time: created + 1 }
    });
    Story { create, appends, delete, stages }
}

fn append_to(stage: &Stage, dice: &mut SeededDice) -> Append {
    let head = &stage.head;
    let time = head.updated + 1_000_000 * dice.below(40) as i64;
    let request = percent(dice, 80).then(|| request(&format!("move-{}", head.version), dice));
    let events: Vec<_> = (0..1 + below(dice, 3)).map(|_| text(dice)).collect();
    let mut hash = stage.events.last().and_then(|event| event.hash).unwrap_or(EventHash::START);
    let hashes = (head.version + 1..).zip(&events).map(|(version, body)| {
        hash = hash.then(version, time, request.as_ref().map(|request| request.id.as_str()), body);
        hash
    });
    Append {
        session_id: head.session_id.clone(),
        expected_version: head.version,
        time,
        hashes: hashes.collect(),
        request,
        events,
        state: if percent(dice, 10) { *pick(dice, &[State::Finished, State::Aborted]) } else { head.state },
        players: if percent(dice, 10) { [Some("eva".to_owned()), None] } else { head.players.clone() },
        expires: percent(dice, 10).then_some(time + 60_000_000),
        deadline: percent(dice, 50).then_some(time + 30_000_000),
        summary: text(dice),
    }
}

fn after(stage: &Stage, append: &Append) -> Stage {
    let version = append.expected_version + append.events.len() as u32;
    let new = (append.expected_version + 1..).zip(&append.events).zip(&append.hashes).map(|((seq, body), hash)| StoredEvent {
        seq,
        time: append.time,
        request: append.request.clone(),
        body: body.clone(),
        hash: Some(*hash),
    });
    let head = Head {
        updated: append.time,
        state: append.state,
        version,
        players: append.players.clone(),
        expires: append.expires,
        deadline: append.deadline,
        summary: append.summary.clone(),
        ..stage.head.clone()
    };
    Stage { head, events: stage.events.iter().cloned().chain(new).collect() }
}

/// Text of some 20 to 300 bytes, seldom longer than a page of the file.
fn text(dice: &mut SeededDice) -> String {
    let length = if percent(dice, 1) { 6_000 } else { 20 + below(dice, 280) };
    (0..length).map(|_| char::from(b' ' + dice.below(94) as u8)).collect()
}
