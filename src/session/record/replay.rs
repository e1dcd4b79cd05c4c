//! Checking a record: every event must be what the rules bring about, at a time that is possible, with the hash that follows.

use super::{Record, RecordedEvent, phrase};
use crate::game::SetUp;
use crate::session::{
    Claimant, Command, Created, Event, EventHash, MAX_DELAY_PLIES, MAX_ROUNDS, Micros, NameFault, Player, SeatCommand, Session,
    check_labels, check_name, check_request_id, check_session_id,
};
use std::collections::{HashSet, VecDeque};

/// Where a record first differs from what follows from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event}: its {} differs: expected {expected}, found {found}", .aspect.name())]
pub struct Difference {
    /// Place of the event, from 1; one more than the events when the record ends too early.
    pub event: u32,
    /// What differs.
    pub aspect: Aspect,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// What of an event can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// The event does not have the version of its place.
    Version,
    /// A time goes back, or is one at which this can't have happened.
    Time,
    /// A request id is not well formed, or another than that of the events it belongs to.
    RequestId,
    /// The session can't be set up so.
    SetUp,
    /// The rules lead to another position.
    Position,
    /// The rules do not allow it, or bring about something else.
    Event,
    /// The hash is not that of the events so far.
    Hash,
}

impl Aspect {
    /// Its name in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Version => "version",
            Aspect::Time => "time",
            Aspect::RequestId => "request id",
            Aspect::SetUp => "set-up",
            Aspect::Position => "position",
            Aspect::Event => "event",
            Aspect::Hash => "hash",
        }
    }
}

/// What differs, what was expected and what was found.
type Differs = (Aspect, String, String);

/// Replays a record event by event.
#[derive(Debug)]
pub struct Replay {
    session_id: String,
    session: Option<Session>,
    head: EventHash,
    /// What the last command brings about beyond the events so far.
    pending: VecDeque<Event>,
    /// Time and request of that command.
    time: Micros,
    request_id: Option<String>,
    used: HashSet<String>,
    /// Whether the events bear hashes: all or none.
    hashed: Option<bool>,
}

impl Replay {
    /// A replay that makes a session of this id.
    #[must_use]
    pub fn new(session_id: String) -> Replay {
        Replay {
            session_id,
            session: None,
            head: EventHash::START,
            pending: VecDeque::new(),
            time: Micros::MIN,
            request_id: None,
            used: HashSet::new(),
            hashed: None,
        }
    }

    /// The session so far, if it has begun.
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether nothing more follows by itself from the events so far.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty()
    }

    fn version(&self) -> u32 {
        self.session.as_ref().map_or(0, Session::version)
    }

    /// Takes the next event in, and gives its hash.
    ///
    /// # Errors
    /// How it differs from what should be there. The replay must not be used any more then.
    pub fn take_in(&mut self, recorded: &RecordedEvent) -> Result<EventHash, Difference> {
        let event = self.version() + 1;
        self.check(recorded).map_err(|(aspect, expected, found)| Difference { event, aspect, expected, found })
    }

    fn check(&mut self, recorded: &RecordedEvent) -> Result<EventHash, Differs> {
        let RecordedEvent { version, time, request_id, event, short_hash } = recorded;
        let place = self.version() + 1;
        same(Aspect::Version, &place, version)?;
        if *time < self.time {
            return Err((Aspect::Time, format!("{} or later", self.time), time.to_string()));
        }
        if self.pending.is_empty() {
            self.begin(*time, request_id.as_deref())?;
            self.decide(event, *time)?;
        }
        self.check_group(*time, request_id.as_deref())?;
        self.evolve(event, *time)?;
        self.head = self.head.then(*version, *time, request_id.as_deref(), &event.to_json());
        if let Some(session) = &mut self.session {
            session.seal(self.head);
        }
        match (short_hash, *self.hashed.get_or_insert(short_hash.is_some())) {
            (Some(short_hash), true) => same(Aspect::Hash, &self.head.short(), short_hash)?,
            (None, true) => return Err((Aspect::Hash, self.head.short(), "none".to_owned())),
            (Some(short_hash), false) => return Err((Aspect::Hash, "none".to_owned(), short_hash.clone())),
            (None, false) => {}
        }
        Ok(self.head)
    }

    /// A new command begins, by a request that has not been used yet.
    fn begin(&mut self, time: Micros, request_id: Option<&str>) -> Result<(), Differs> {
        if let Some(id) = request_id {
            check_request_id(id).map_err(|fault| (Aspect::RequestId, fault.to_string(), id.to_owned()))?;
            if !self.used.insert(id.to_owned()) {
                return Err((Aspect::RequestId, "one that no earlier request has".to_owned(), id.to_owned()));
            }
        }
        self.time = time;
        self.request_id = request_id.map(str::to_owned);
        Ok(())
    }

    /// All events of one command have its time and its request.
    fn check_group(&self, time: Micros, request_id: Option<&str>) -> Result<(), Differs> {
        same(Aspect::Time, &self.time, &time)?;
        let shown = |id: Option<&str>| id.unwrap_or("none").to_owned();
        same(Aspect::RequestId, &shown(self.request_id.as_deref()), &shown(request_id))
    }

    /// Decides what the command behind an event brings about.
    fn decide(&mut self, event: &Event, time: Micros) -> Result<(), Differs> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let found = || phrase::write(event, session.created());
        if let Event::Expiring { at } = event {
            // Nobody asks for it: the service announces it at a time of its choice.
            let late = session.timed_out(time).map(|events| phrase::write(&events[0], session.created()));
            let early = (*at < time).then(|| "an end that is not past yet".to_owned());
            self.pending = VecDeque::from([event.clone()]);
            return late.or(early).map_or(Ok(()), |expected| Err((Aspect::Event, expected, found())));
        }
        if let Event::SeatClaimed { player, .. } = event {
            check_player(player).map_err(|fault| (Aspect::Event, fault.to_string(), found()))?;
        }
        let Some(command) = command(event) else {
            return Err((Aspect::Event, "something that a seat does".to_owned(), found()));
        };
        if command != Command::ClaimTimeout
            && let Some(events) = session.timed_out(time)
        {
            return Err((Aspect::Time, phrase::write(&events[0], session.created()), found()));
        }
        let decided = session.decide(&command, time, &mut ());
        self.pending = decided.map_err(|why| (Aspect::Event, why.to_string(), found()))?.into();
        Ok(())
    }

    fn evolve(&mut self, event: &Event, time: Micros) -> Result<(), Differs> {
        let Some(session) = &mut self.session else {
            let session = start(&self.session_id, event, time)?;
            self.pending = session.end_at_start().into();
            self.session = Some(session);
            return Ok(());
        };
        if let Some(expected) = self.pending.pop_front() {
            compare(&expected, event, session.created())?;
        }
        let evolved = session.evolve(event, time, &mut ());
        evolved.map_err(|why| (Aspect::Event, why.why.to_owned(), phrase::write(event, session.created())))
    }
}

fn same<T: PartialEq + ToString>(aspect: Aspect, expected: &T, found: &T) -> Result<(), Differs> {
    if expected == found { Ok(()) } else { Err((aspect, expected.to_string(), found.to_string())) }
}

/// The command that an event is the first outcome of; `None`: it only ever follows from another event.
fn command(event: &Event) -> Option<Command> {
    match *event {
        Event::MovePlayed { seat, mv, .. } => Some(Command::Play { seat: Some(seat), mv }),
        Event::Resigned { seat, whole_match } => Some(Command::Resign { seat: Some(seat), whole_match }),
        Event::Proposed { seat, kind, to_version } => Some(Command::Propose { seat: Some(seat), kind, to_version }),
        Event::Answered { seat, kind, accept } => Some(Command::Answer { seat: Some(seat), kind, accept }),
        Event::Withdrawn { seat, kind } => Some(Command::Withdraw { seat: Some(seat), kind }),
        Event::TimedOut { .. } => Some(Command::ClaimTimeout),
        // By join code or by a trusted caller: what a trusted caller may do is the more.
        Event::SeatClaimed { seat, ref player, token } => {
            Some(Command::Seat(SeatCommand::Claim { by: Claimant::Trusted(seat), player: player.clone(), token }))
        }
        Event::TokenRotated { seat, token } => Some(Command::Seat(SeatCommand::Rotate { seat, token })),
        Event::TokenRevoked { seat } => Some(Command::Seat(SeatCommand::Revoke { seat })),
        Event::Created(_)
        | Event::RoundEnded { .. }
        | Event::Ended { .. }
        | Event::RoundStarted { .. }
        | Event::TakenBack { .. }
        | Event::RematchMade { .. }
        | Event::Expiring { .. } => None,
    }
}

fn check_player(player: &Player) -> Result<(), NameFault> {
    check_name(&player.reference).and_then(|()| check_name(&player.display_name))
}

fn compare(expected: &Event, found: &Event, origin: Micros) -> Result<(), Differs> {
    match (expected, found) {
        // It follows from the session's id, which may be another one by now.
        (Event::RematchMade { .. }, Event::RematchMade { session_id }) => {
            check_session_id(session_id).map_err(|fault| (Aspect::Event, fault.to_string(), session_id.clone()))
        }
        (Event::MovePlayed { position: ours, .. }, Event::MovePlayed { position, .. })
        | (Event::TakenBack { position: ours, .. }, Event::TakenBack { position, .. })
        | (Event::RoundStarted { position: ours, .. }, Event::RoundStarted { position, .. })
            if ours != position =>
        {
            Err((Aspect::Position, ours.clone(), position.clone()))
        }
        _ if expected == found => Ok(()),
        _ => Err((Aspect::Event, phrase::write(expected, origin), phrase::write(found, origin))),
    }
}

/// The session that a creation makes, if it is one that can be asked for.
fn start(session_id: &str, event: &Event, time: Micros) -> Result<Session, Differs> {
    let Event::Created(created) = event else {
        return Err((Aspect::Event, "created".to_owned(), phrase::write(event, time)));
    };
    let Created { game: _, options, guards: _, position, labels, rounds, clock, previous_session_id, seats, spectators } =
        created;
    let differs = |expected: String, found: String| (Aspect::SetUp, expected, found);
    let session = Session::new(session_id.to_owned(), created, time)
        .map_err(|why| differs("a game that can be played".to_owned(), why.why.to_owned()))?;
    let rules = session.rules();
    let all: Vec<_> = rules.options().map(|(name, value)| format!("{name}={value}")).collect();
    let given: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list.join(" ")
    };
    same(Aspect::SetUp, &sorted(all), &sorted(given))?;
    let canonical = position.parse::<SetUp>().ok().and_then(|set_up| set_up.position(rules).ok());
    same(Aspect::SetUp, &canonical.map(|it| it.to_string()).unwrap_or_default(), position)?;
    if let Err(faults) = check_labels(labels) {
        return Err(differs(faults[0].to_string(), format!("{labels:?}")));
    }
    if !(1..=MAX_ROUNDS).contains(rounds) {
        return Err(differs(format!("1 to {MAX_ROUNDS} rounds"), rounds.to_string()));
    }
    if let Some(Err(fault)) = clock.map(|clock| clock.check()) {
        return Err(differs(fault.to_string(), "another clock".to_owned()));
    }
    if let Some(id) = previous_session_id {
        check_session_id(id).map_err(|fault| differs(fault.to_string(), id.clone()))?;
    }
    if matches!(&seats[..], [first, second] if first.seat == second.seat) || seats.len() > 2 {
        return Err(differs("each seat once at most".to_owned(), format!("{} seats", seats.len())));
    }
    for player in seats.iter().filter_map(|seat| seat.player.as_ref()) {
        check_player(player).map_err(|fault| differs(fault.to_string(), format!("{player:?}")))?;
    }
    if spectators.delay_plies > MAX_DELAY_PLIES {
        return Err(differs(format!("at most {MAX_DELAY_PLIES} plies late"), spectators.delay_plies.to_string()));
    }
    Ok(session)
}

/// Replays the events of a record as a session of this id, and gives the replay and their hashes. `stop` is asked now and then, and
/// ends it early.
pub(super) fn follow(record: &Record, session_id: &str, stop: impl Fn() -> bool) -> Result<(Replay, Vec<EventHash>), Difference> {
    if let Err(fault) = check_session_id(&record.session_id) {
        return Err(Difference {
            event: 1,
            aspect: Aspect::SetUp,
            expected: fault.to_string(),
            found: record.session_id.clone(),
        });
    }
    let mut replay = Replay::new(session_id.to_owned());
    let events = record.events.iter().take_while(|_| !stop());
    let hashes = events.map(|recorded| replay.take_in(recorded)).collect::<Result<_, _>>()?;
    Ok((replay, hashes))
}

/// Replays a whole record as a session of this id; `stop` is asked now and then, and ends the replay early. Gives the session and
/// the hashes of its events.
///
/// # Errors
/// The first difference.
pub fn verify(record: &Record, session_id: &str, stop: impl Fn() -> bool) -> Result<(Session, Vec<EventHash>), Difference> {
    const END: &str = "the end of the record";
    let (replay, hashes) = follow(record, session_id, stop)?;
    let end = record.events.len() as u32;
    let differs = |event, aspect, expected, found| Err(Difference { event, aspect, expected, found });
    let Some(session) = replay.session else {
        return differs(1, Aspect::Event, "created".to_owned(), END.to_owned());
    };
    if let Some(event) = replay.pending.front() {
        return differs(end + 1, Aspect::Event, phrase::write(event, session.created()), END.to_owned());
    }
    let expected = (replay.hashed == Some(true)).then_some(replay.head);
    if record.head_hash != expected {
        let shown = |hash: Option<EventHash>| hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
        return differs(end, Aspect::Hash, shown(expected), shown(record.head_hash));
    }
    Ok((session, hashes))
}
