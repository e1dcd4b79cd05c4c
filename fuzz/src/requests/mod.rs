//! Calls of every unary method, one after the other, on services over an empty store: sensible ones, wrong ones, and bytes that are
//! no message. Whatever comes in, there is an answer, an error says what it must, and what is said is what is kept.

mod contract;
mod judge;
mod known;
mod message;
mod script;
mod served;

pub use contract::CONTRACT;

use super::memory_store::MemoryStore;
use known::Known;
use mancala::service::{Clock, Secret, ServiceError, Sessions, record_of};
use mancala::session::record::{self, Format};
use mancala::session::{Micros, Session, View};
use mancala::store::Store;
use mancala::wire::access::Access;
use mancala::wire::reason::Reason;
use message::Writer;
use script::Script;
use served::Served;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use tokio::runtime::{Builder, Runtime};

/// 2020-09-13 12:26:40 UTC.
const START: Micros = 1_600_000_000_000_000;
/// The most calls of an input.
const MAX_CALLS: usize = 64;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// A clock that stands until it is moved on.
struct FakeClock(AtomicI64);

impl Clock for FakeClock {
    fn now(&self) -> Micros {
        self.0.load(Ordering::SeqCst)
    }
}

/// A first byte that says who may do what, and then calls; see [`World::step`]. Gives what came of them, by the names of their
/// methods. `None`: it was accepted.
pub fn run(input: &[u8]) -> Vec<(&'static str, Option<Reason>)> {
    let mut script = Script(input);
    let mut world = World::new(script.byte() % 2 == 1);
    RUNTIME.block_on(async {
        let mut outcomes = Vec::new();
        while !script.is_over() && outcomes.len() < MAX_CALLS {
            outcomes.push(world.step(&mut script).await);
        }
        world.compare_with_store().await;
        outcomes
    })
}

struct World {
    clock: Arc<FakeClock>,
    store: Arc<MemoryStore>,
    sessions: Sessions,
    served: Served,
    known: Known,
    operator: Option<String>,
}

impl World {
    fn new(tokens: bool) -> World {
        let clock = Arc::new(FakeClock(AtomicI64::new(START)));
        let store = Arc::new(MemoryStore::default());
        // Few are cached, so that some are read again from the store.
        let sessions = Sessions::new(store.clone(), clock.clone(), 2);
        let secret = Secret::new_token();
        let operators = [("ops".to_owned(), secret.hash())].into();
        let access = if tokens { Access::tokens(operators, sessions.clone()) } else { Access::open() };
        let served = Served::new(sessions.clone(), access);
        let operator = tokens.then(|| secret.operator_key("ops"));
        World { clock, store, sessions, served, known: Known::default(), operator }
    }

    /// A call: a byte for its method, one for how long after the last one, who calls and how the message is made, and then what
    /// the message is made of.
    async fn step(&mut self, script: &mut Script<'_>) -> (&'static str, Option<Reason>) {
        let methods = &CONTRACT.methods;
        let (choice, how) = (usize::from(script.byte()), script.byte());
        // Without a session there is little to do, and what is proposed is soon void.
        let proposed = self.known.sessions.values().any(|session| !session.proposals().open().is_empty());
        let due = match choice {
            _ if self.known.sessions.is_empty() && how & 64 == 0 => "CreateSession",
            224.. if proposed => ["AnswerProposal", "WithdrawProposal"][choice % 2],
            _ => "",
        };
        let method = methods.iter().find(|method| method.name == due).unwrap_or(&methods[choice % methods.len()]);
        let wait = [0, 0, 1, 1_000_000, 0, 40_000_000, 0, 90_000_000_000][usize::from(how & 7)];
        self.clock.0.fetch_add(wait, Ordering::SeqCst);
        let token = match how >> 3 & 7 {
            0 => None,
            1 => script.pick(&self.known.tokens).cloned(),
            2 => Some("mst_game-1.S_0000000000000000000000000000000000000000000".to_owned()),
            _ => self.operator.clone(),
        };
        let raw = how >> 6 == 3;
        let (message, target) = if raw {
            let most = usize::from(script.byte());
            (script.take(most).to_vec(), None)
        } else {
            let makes = method.name.contains("Create") || method.name.contains("Import");
            let (session, wild) = (String::new(), how >> 6 == 2);
            let mut writer = Writer { script, known: &self.known, session, game: "", option: None, makes, wild };
            let message = writer.message(&method.request, "", 0);
            (message, Some(writer.session))
        };
        // A look ends the round of whose time is out, and would leave nothing to claim.
        let claims = method.name == "ClaimTimeout";
        let before = if claims { None } else { self.look_all(target.as_deref()).await };
        let reply = self.served.call(&method.path, token.as_deref(), message).await;
        let after = self.look_all(target.as_deref()).await;
        judge::change(method, &reply, before.as_ref(), after.as_ref());
        match reply {
            Ok(reply) => {
                for id in judge::learn(method, &reply, &mut self.known) {
                    self.look_all(Some(&id)).await.unwrap_or_else(|| panic!("{}: {id} is not there", method.name));
                }
                (method.name.as_str(), None)
            }
            Err(status) => {
                let reason = judge::error(method, &status);
                assert!(raw || reason != Reason::MalformedMessage, "{}: {status:?}", method.name);
                (method.name.as_str(), Some(reason))
            }
        }
    }

    /// A session as it is, after whose time is out has lost.
    async fn look_all(&mut self, id: Option<&str>) -> Option<Session> {
        let id = id.filter(|id| !id.is_empty())?;
        match self.sessions.look(id, Session::clone).await {
            Ok(session) => {
                self.known.sessions.insert(id.to_owned(), session.clone());
                Some(session)
            }
            Err(ServiceError::NotFound { .. }) => {
                self.known.sessions.remove(id);
                None
            }
            Err(error) => panic!("{id} can't be looked at: {error}"),
        }
    }

    /// What is shown of every session is what its stored events make, and a record of it is right.
    async fn compare_with_store(&mut self) {
        let ids: Vec<_> = self.known.sessions.keys().cloned().collect();
        let anew = Sessions::new(self.store.clone(), self.clock.clone(), 1);
        for id in ids {
            let Some(session) = self.look_all(Some(&id)).await else { continue };
            let again = anew.look(&id, Session::clone).await.unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!((View::of(&again), again.head_hash()), (View::of(&session), session.head_hash()), "{id}");
            let head = self.store.head(&id).await.expect("it works").expect("a head");
            assert_eq!(View::from_json(&head.summary), Ok(View::of(&session)), "{id}");
            assert_eq!((head.version, head.state), (session.version(), session.state()), "{id}");
            let stored = self.store.read(&id, 0, usize::MAX).await.expect("it works").expect("events");
            let exported = record_of(&id, &stored, None).unwrap_or_else(|error| panic!("{id}: {error}"));
            let checked = record::check(&exported.write(Format::Text), None, || false);
            let checked = checked.unwrap_or_else(|wrong| panic!("the record of {id}: {wrong}"));
            assert_eq!(checked.session.head_hash(), session.head_hash(), "{id}");
        }
    }
}
