//! Sessions that are made: one, many, or with a history. All are one statement of the same shape.

use super::link::{Link, Written};
use super::reads::{creations_of, ids, state_code, text_in};
use super::sql;
use super::text::stored;
use super::writes::{columns, inexplicable, minute, standing};
use crate::store::{Create, CreateAll, Created, CreatedAll, Creation, EventHash, Head, Import, Request, StoreError, StoredEvent};
use std::borrow::Cow;
use std::collections::HashSet;

pub(super) async fn create(link: &Link, create: &Create) -> Result<Created, StoreError> {
    let request = create.request.as_ref();
    let mut rows = Rows::default();
    rows.add_new(create, request);
    made_one(rows.insert(link, request).await?)
}

pub(super) async fn create_all(link: &Link, batch: &CreateAll) -> Result<CreatedAll, StoreError> {
    let mut rows = Rows::default();
    for create in &batch.sessions {
        rows.add_new(create, batch.request.as_ref());
    }
    rows.insert(link, batch.request.as_ref()).await
}

pub(super) async fn import(link: &Link, import: &Import) -> Result<Created, StoreError> {
    let mut rows = Rows::default();
    rows.add_old(&import.head, &import.events);
    made_one(rows.insert(link, import.request.as_ref()).await?)
}

fn made_one(end: CreatedAll) -> Result<Created, StoreError> {
    Ok(match end {
        CreatedAll::Done => Created::Done,
        CreatedAll::IdsTaken(_) => Created::IdTaken,
        CreatedAll::Repeated(creations) => Created::Repeated(creations.into_iter().next().ok_or_else(inexplicable)?),
    })
}

/// The rows of all tables, column by column.
#[derive(Default)]
pub(super) struct Rows<'a> {
    heads: Vec<&'a Head>,
    event_session: Vec<Cow<'a, str>>,
    seq: Vec<i64>,
    time: Vec<i64>,
    first: Vec<bool>,
    request_id: Vec<Option<Cow<'a, str>>>,
    digest: Vec<Option<&'a [u8]>>,
    body: Vec<Cow<'a, str>>,
    hash: Vec<Vec<u8>>,
    /// The hash of the last event of the first session.
    mark: Option<(i64, [u8; 32])>,
}

impl<'a> Rows<'a> {
    fn add_new(&mut self, create: &'a Create, request: Option<&'a Request>) {
        self.heads.push(&create.head);
        for ((seq, body), hash) in (1..).zip(&create.events).zip(create.hashes(request)) {
            self.add_event(&create.head, seq, create.head.created, seq == 1, request, body, hash);
        }
    }

    pub(super) fn add_old(&mut self, head: &'a Head, events: &'a [StoredEvent]) {
        self.heads.push(head);
        let (mut chain, mut last_request) = (EventHash::START, None);
        for event in events {
            let StoredEvent { seq, time, request, body, hash } = event;
            // Events that are older than hashes get theirs here.
            chain = hash.unwrap_or_else(|| chain.then(*seq, *time, request.as_ref().map(|request| request.id.as_str()), body));
            let first = request.is_none() || request.as_ref() != last_request;
            last_request = request.as_ref();
            self.add_event(head, i64::from(*seq), *time, first, request.as_ref(), body, chain);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of one table")]
    fn add_event(
        &mut self,
        head: &'a Head,
        seq: i64,
        time: i64,
        first: bool,
        request: Option<&'a Request>,
        body: &'a str,
        hash: EventHash,
    ) {
        let (request_id, digest) = columns(request);
        self.event_session.push(stored(&head.session_id));
        self.seq.push(seq);
        self.time.push(time);
        self.first.push(first);
        self.request_id.push(request_id.map(stored));
        self.digest.push(digest);
        self.body.push(stored(body));
        self.hash.push(hash.bytes().to_vec());
        if self.heads.len() == 1 {
            self.mark = Some((seq, *hash.bytes()));
        }
    }

    pub(super) async fn insert(&self, link: &Link, request: Option<&Request>) -> Result<CreatedAll, StoreError> {
        let heads = &self.heads;
        let texts = |of: fn(&Head) -> &str| -> Vec<Cow<'_, str>> { heads.iter().map(|head| stored(of(head))).collect() };
        let times = |of: fn(&Head) -> i64| -> Vec<i64> { heads.iter().map(|head| of(head)).collect() };
        let times_or_none = |of: fn(&Head) -> Option<i64>| -> Vec<Option<i64>> { heads.iter().map(|head| of(head)).collect() };
        let seat = |seat: usize| -> Vec<Option<Cow<'_, str>>> {
            heads.iter().map(|head| head.players[seat].as_deref().map(stored)).collect()
        };
        let json = |head: &&Head| serde_json::to_string(&head.labels).expect("a map of strings is JSON");
        let labels: Vec<String> = heads.iter().map(json).collect();
        let states: Vec<i16> = heads.iter().map(|head| state_code(head.state)).collect();
        let each_label: Vec<(&&Head, (&String, &String))> =
            heads.iter().flat_map(|head| head.labels.iter().map(move |label| (head, label))).collect();
        let label_session: Vec<_> = each_label.iter().map(|(head, _)| stored(&head.session_id)).collect();
        let label_name: Vec<_> = each_label.iter().map(|(_, (name, _))| stored(name)).collect();
        let label_value: Vec<_> = each_label.iter().map(|(_, (_, value))| stored(value)).collect();
        let label_created: Vec<i64> = each_label.iter().map(|(head, _)| head.created).collect();
        let (request_id, digest) = columns(request);
        let request_id = request_id.map(stored);
        let places: Vec<i64> = (0..heads.len() as i64).collect();
        let written = link
            .write(
                sql::CREATE,
                &[
                    &texts(|head| &head.session_id),
                    &texts(|head| &head.game),
                    &states,
                    &times(|head| head.created),
                    &times(|head| head.updated),
                    &times(|head| minute(head.updated)),
                    &times(|head| i64::from(head.version)),
                    &labels,
                    &texts(|head| &head.summary),
                    &seat(0),
                    &seat(1),
                    &times_or_none(|head| head.expires),
                    &times_or_none(|head| head.deadline),
                    &self.event_session,
                    &self.seq,
                    &self.time,
                    &self.first,
                    &self.request_id,
                    &self.digest,
                    &self.body,
                    &self.hash,
                    &label_session,
                    &label_name,
                    &label_value,
                    &label_created,
                    &request_id,
                    &digest,
                    &places,
                ],
            )
            .await?;
        if written.rows.is_some() { Ok(CreatedAll::Done) } else { self.why_not(link, request, &written).await }
    }

    /// What stands in the way of these sessions: perhaps themselves, made by an earlier attempt.
    async fn why_not(&self, link: &Link, request: Option<&Request>, written: &Written) -> Result<CreatedAll, StoreError> {
        if let Some(request) = request {
            let rows = link.settle(sql::CREATIONS, &[&stored(&request.id), &i64::MAX], written).await?;
            let creations = creations_of(&rows)?;
            if written.in_doubt && self.is_what_was_made(&creations, request) {
                link.confirm(written).await?;
                return Ok(CreatedAll::Done);
            }
            if !creations.is_empty() {
                return Ok(CreatedAll::Repeated(creations));
            }
        } else if written.in_doubt && self.is_there(link, written).await? {
            link.confirm(written).await?;
            return Ok(CreatedAll::Done);
        }
        let wanted: Vec<String> = self.heads.iter().map(|head| head.session_id.clone()).collect();
        let rows = link.settle(sql::TAKEN, &[&ids(&wanted)], written).await?;
        let taken = rows.iter().map(|row| text_in(row, 0)).collect::<Result<HashSet<_>, _>>()?;
        let places: Vec<usize> = (0..wanted.len()).filter(|&place| taken.contains(&wanted[place])).collect();
        if places.is_empty() { Err(inexplicable()) } else { Ok(CreatedAll::IdsTaken(places)) }
    }

    fn is_what_was_made(&self, creations: &[Creation], request: &Request) -> bool {
        let made = creations.iter().map(|creation| (&creation.session_id, &creation.request));
        made.eq(self.heads.iter().map(|head| (&head.session_id, request)))
    }

    /// Whether the first session is the one that is to be made: then all are, for they are made together.
    async fn is_there(&self, link: &Link, written: &Written) -> Result<bool, StoreError> {
        let Some((&head, (seq, hash))) = self.heads.first().zip(self.mark) else { return Ok(false) };
        let standing = standing(link, &head.session_id, seq, written).await?;
        Ok(standing.is_some_and(|it| it.created == head.created && (it.hash == Some(hash) || it.deleted.is_some())))
    }
}
