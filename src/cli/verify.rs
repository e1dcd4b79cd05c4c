//! `mancala verify`: everything that a store holds, checked.

use super::Failure;
use super::progress::Progress;
use super::store_args::StoreArgs;
use crate::service::{History, ServiceError, is_remembered, made_by};
use crate::store::archive::{Archive, Hold, Limit, Making, Mark, Part, Piece};
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Instant;
use tokio::task::JoinSet;

/// Faults that are told one by one.
const SHOWN: usize = 100;
/// Requests that are read at a time.
const MAKINGS: usize = 1_000;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let (location, reach) = args.store.load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::run)?;
    let from = Instant::now();
    let mut found = Found::default();
    runtime.block_on(async {
        let archive = reach.archive(&location, Hold::Shared).await?;
        let totals = archive.totals().await.map_err(Failure::run)?;
        let progress = Progress::new("verifying", totals.events, "events");
        verify_sessions(&*archive, &mut found, &progress).await.map_err(Failure::run)?;
        verify_makings(&*archive, &mut found).await.map_err(Failure::run)?;
        if let Some(what) = archive.damage().await.map_err(Failure::run)? {
            found.add(Fault { session_id: String::new(), what });
        }
        Ok::<_, Failure>(())
    })?;
    found.shown.sort();
    let seconds = from.elapsed().as_secs_f64();
    let text = if args.json { found.json(seconds) } else { found.text() };
    writeln!(io::stdout(), "{text}").map_err(Failure::run)?;
    if !args.json {
        let rate = |count: u64| (count as f64 / seconds.max(f64::EPSILON)).round();
        eprintln!("{seconds:.3} s, {} sessions/s, {} events/s", rate(found.sessions), rate(found.events));
    }
    match found.faults {
        0 => Ok(()),
        faults => Err(Failure::run(format!("{location}: {faults} faults in {} sessions", found.sessions))),
    }
}

/// What is wrong, and with what.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    /// Empty: it is with no session alone.
    session_id: String,
    what: String,
}

/// What was looked at, and what was found.
#[derive(Debug, Default)]
struct Found {
    sessions: u64,
    events: u64,
    requests: u64,
    faults: u64,
    /// The first of them.
    shown: Vec<Fault>,
}

impl Found {
    fn add(&mut self, fault: Fault) {
        self.faults += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(fault);
        }
    }

    fn take_in(&mut self, checked: Checked) {
        self.sessions += checked.sessions;
        self.events += checked.events;
        checked.faults.into_iter().for_each(|fault| self.add(fault));
    }

    fn text(&self) -> String {
        let line = |Fault { session_id, what }: &Fault| match session_id.as_str() {
            "" => format!("the store: {what}"),
            session_id => format!("{session_id}: {what}"),
        };
        let mut lines: Vec<_> = self.shown.iter().map(line).collect();
        let more = self.faults - self.shown.len() as u64;
        lines.extend((more > 0).then(|| format!("and {more} more")));
        let verdict = if self.faults == 0 { "ok".to_owned() } else { format!("{} faults", self.faults) };
        lines.push(format!("{verdict}: {} sessions, {} events, {} requests", self.sessions, self.events, self.requests));
        lines.join("\n")
    }

    fn json(&self, seconds: f64) -> String {
        let shown =
            self.shown.iter().map(|Fault { session_id, what }| serde_json::json!({"session_id": session_id, "what": what}));
        serde_json::json!({
            "sessions": self.sessions,
            "events": self.events,
            "requests": self.requests,
            "fault_count": self.faults,
            "faults": shown.collect::<Vec<_>>(),
            "seconds": seconds,
        })
        .to_string()
    }
}

/// Replays every session, portion by portion, each on a thread; as many at a time as there are cores, so that memory is bounded.
async fn verify_sessions(archive: &dyn Archive, found: &mut Found, progress: &Progress) -> Result<(), ServiceError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut running: JoinSet<Checked> = JoinSet::new();
    let mut carried = None;
    let mut next = Some(Mark::start());
    while let Some(from) = next {
        let portion = archive.sessions(from, Limit::default()).await?;
        let makings = makings_of(archive, &portion.pieces).await?;
        next = portion.next;
        let torn = matches!(portion.pieces.last(), Some(Piece::Part(part)) if !part.is_last);
        let in_order = torn || carried.is_some();
        let begun = carried.take();
        running.spawn_blocking(move || check(&portion.pieces, &makings, begun));
        // Who goes on with a session waits for those who have begun it.
        let most = if in_order { 0 } else { threads };
        while running.len() > most
            && let Some(checked) = running.join_next().await
        {
            let mut checked = checked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            carried = checked.carried.take().or(carried);
            found.take_in(checked);
            progress.show(found.events);
        }
    }
    while let Some(checked) = running.join_next().await {
        found.take_in(checked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())));
    }
    Ok(())
}

/// What the requests have made by which sessions of a portion were made. Looked up after the sessions: nobody forgets it.
async fn makings_of(archive: &dyn Archive, pieces: &[Piece]) -> Result<HashMap<String, Making>, ServiceError> {
    let parts = pieces.iter().filter_map(|piece| match piece {
        Piece::Part(part) => part.events.first().filter(|event| event.seq == 1),
        Piece::Unreadable { .. } => None,
    });
    let mut ids: Vec<_> = parts.filter_map(made_by).map(|request| request.id.clone()).collect();
    ids.sort();
    ids.dedup();
    let makings = archive.made_by(ids).await?;
    Ok(makings.into_iter().flatten().map(|making| (making.request.id.clone(), making)).collect())
}

/// A session of which the next portion holds more.
enum Carried {
    Sound(Box<History>),
    /// It has been told what is wrong with it.
    Faulty(String),
}

/// What was found in a portion.
#[derive(Default)]
struct Checked {
    sessions: u64,
    events: u64,
    faults: Vec<Fault>,
    carried: Option<Carried>,
}

fn check(pieces: &[Piece], makings: &HashMap<String, Making>, mut begun: Option<Carried>) -> Checked {
    let mut checked = Checked::default();
    for piece in pieces {
        let session_id = piece.session_id();
        let mut history = match begun.take() {
            Some(Carried::Sound(history)) if history.session_id() == session_id => Some(history),
            Some(Carried::Faulty(faulty)) if faulty == session_id => None,
            // One that was begun and is not there any more has been deleted meanwhile.
            _ => {
                checked.sessions += 1;
                Some(Box::new(History::new(session_id)))
            }
        };
        let is_last = match piece {
            Piece::Part(part) => {
                checked.events += part.events.len() as u64;
                part.is_last
            }
            Piece::Unreadable { .. } => true,
        };
        if let Some(sound) = &mut history
            && let Err(what) = check_piece(sound, piece, makings)
        {
            checked.faults.push(Fault { session_id: session_id.to_owned(), what });
            history = None;
        }
        if !is_last {
            checked.carried = Some(history.map_or_else(|| Carried::Faulty(session_id.to_owned()), Carried::Sound));
        }
    }
    checked
}

fn check_piece(history: &mut History, piece: &Piece, makings: &HashMap<String, Making>) -> Result<(), String> {
    let Part { head, events, is_last } = match piece {
        Piece::Part(part) => part,
        Piece::Unreadable { what, .. } => return Err(what.clone()),
    };
    let why = |error| match error {
        ServiceError::Damaged { what, .. } => what,
        other => other.to_string(),
    };
    for event in events {
        history.take_in(event).map_err(why)?;
        if event.seq == 1
            && let Some(request) = made_by(event)
            && !is_remembered(makings.get(&request.id), request, &head.session_id)
        {
            return Err(format!("request {} has made it, and the store has forgotten that", request.id));
        }
    }
    if *is_last { history.compare(head).map_err(why) } else { Ok(()) }
}

/// Every session that a request has made must be there, or known to have been deleted.
async fn verify_makings(archive: &dyn Archive, found: &mut Found) -> Result<(), ServiceError> {
    let mut after = String::new();
    loop {
        let makings = archive.makings(&after, MAKINGS).await?;
        let Some(last) = makings.last() else { return Ok(()) };
        after.clone_from(&last.request.id);
        found.requests += makings.len() as u64;
        for making in &makings {
            for made in making.sessions.iter().filter(|made| !made.is_known) {
                let what = format!("request {} has made it, and it is neither there nor deleted", making.request.id);
                found.add(Fault { session_id: made.session_id.clone(), what });
            }
        }
    }
}
