//! `cargo bench --bench appends`: what the store's one thread that writes costs by move, durable, with 64 callers that each wait for their
//! move before they make the next: over as many sessions, and over sessions that lie scattered. Linux only: processor time of one thread is
//! read from /proc.

use mancala::store::sqlite::{Options, SqliteStore};
use mancala::store::{Append, Appended, Create, CreateAll, EventHash, Head, Request, State, Store};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

const CALLERS: usize = 64;
const WARM_UP: usize = 100;
const MOVES: usize = 600;
const START: i64 = 1_767_225_600_000_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    println!("sessions  writer us a move   user    system  KiB written a move  moves/s");
    for sessions in [64, 1_000, 10_000] {
        runtime.block_on(measure(sessions));
    }
}

async fn measure(sessions: usize) {
    // Not in memory, as /tmp may be: a commit is to reach a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let store = Arc::new(SqliteStore::open(&folder.path().join("store.db"), Options::default()).expect("a store"));
    let all: Vec<_> = (0..sessions).map(creation).collect();
    for sessions in all.chunks(500) {
        store.create_all(CreateAll { sessions: sessions.to_vec(), request: None }).await.expect("sessions");
    }
    play(&store, sessions, 0, WARM_UP).await;
    let (before, begun) = (Used::by_writer(), Instant::now());
    play(&store, sessions, WARM_UP, MOVES).await;
    let (after, seconds) = (Used::by_writer(), begun.elapsed().as_secs_f64());
    let moves = (CALLERS * MOVES) as f64;
    let each = |of: fn(&Used) -> f64| (of(&after) - of(&before)) / moves;
    println!(
        "{sessions:8}  {:16.2}  {:5.2}  {:8.2}  {:18.1}  {:7.0}",
        each(|used| used.all),
        each(|used| used.user),
        each(|used| used.system),
        each(|used| used.written) / 1024.0,
        moves / seconds
    );
    store.close().await;
}

/// Each caller makes so many moves, in its own sessions in turn, after as many as it has made before.
async fn play(store: &Arc<SqliteStore>, sessions: usize, made: usize, moves: usize) {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let store = store.clone();
        let own: Vec<_> = (caller..sessions).step_by(CALLERS).collect();
        callers.spawn(async move {
            for number in made..made + moves {
                let (turn, place) = (number / own.len(), number % own.len());
                let append = append(own[place], turn as u32 + 1);
                assert_eq!(store.append(append).await, Ok(Appended::Done));
            }
        });
    }
    callers.join_all().await;
}

fn session_id(session: usize) -> String {
    format!("019b7a2c-5d00-7000-8000-{:012}", session * 7_919 % 1_000_003)
}

fn summary(ply: u32) -> String {
    format!(
        r#"{{"options":{{"feeding":"must"}},"guards":{{"repetition":3,"quiet":200,"max_plies":2000}},"position":"ayoayo 4,4,0,5,5,5/5,4,4,4,4,4 0-0 S sow","ply":{ply},"round":1,"rounds":1,"points":[0,0]}}"#
    )
}

fn creation(session: usize) -> Create {
    let head = Head {
        session_id: session_id(session),
        game: "ayoayo".into(),
        labels: [("event".to_owned(), "bench".to_owned())].into(),
        created: START,
        updated: START,
        state: State::Active,
        version: 1,
        players: [None, None],
        expires: None,
        deadline: None,
        summary: summary(0),
    };
    Create { head, events: vec![body(0)], request: None }
}

fn body(ply: u32) -> String {
    let seat = if ply.is_multiple_of(2) { 'S' } else { 'N' };
    format!(
        r#"{{"type":"move_played","seat":"{seat}","move":"3","position":"ayoayo 4,4,0,5,5,5/5,4,4,4,4,4 0-0 {seat} sow","captured":0}}"#
    )
}

fn append(session: usize, version: u32) -> Append {
    let body = body(version);
    Append {
        session_id: session_id(session),
        expected_version: version,
        time: START + i64::from(version),
        request: Some(Request { id: format!("move-{version}"), digest: [7; 32] }),
        hashes: vec![EventHash::START.then(version, 0, None, &body)],
        events: vec![body],
        state: State::Active,
        players: [None, None],
        expires: None,
        deadline: None,
        summary: summary(version),
    }
}

/// What a thread has used until now: microseconds of a processor, and bytes written.
struct Used {
    all: f64,
    user: f64,
    system: f64,
    written: f64,
}

impl Used {
    fn by_writer() -> Used {
        let task = writer();
        let read = |file: &str| fs::read_to_string(task.join(file)).expect("a file about the thread");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let all = number(read("schedstat").split_whitespace().next().expect("its time")) / 1e3;
        // Split by samples of a hundredth of a second: the sum is exact, the parts are about right.
        let stat = read("stat");
        let fields: Vec<_> = stat.rsplit(')').next().expect("what follows its name").split_whitespace().collect();
        let (user, system) = (number(fields[11]), number(fields[12]));
        let share = all / (user + system).max(1.0);
        let io = read("io");
        let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")).expect("what it wrote");
        Used { all, user: user * share, system: system * share, written: number(written) }
    }
}

/// The directory in /proc of the thread that writes.
fn writer() -> PathBuf {
    let tasks = fs::read_dir("/proc/self/task").expect("this program's threads");
    let tasks = tasks.map(|task| task.expect("a thread").path());
    let mut writers = tasks.filter(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "store-writer"));
    writers.next().expect("the thread that writes")
}
