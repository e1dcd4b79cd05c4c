//! What lies between a replica and its database: it delays, holds back, swallows, cuts off, and knows where a write begins and ends.

// Each test binary uses a part of it.
#![allow(dead_code)]

mod connection;
mod messages;

use connection::connect;
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How it is at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Open,
    /// Nothing passes and nothing is closed. What was on its way arrives when the way is open again.
    Held,
    /// Nothing passes and nothing is closed. What was on its way is lost, and so are its connections.
    Swallowing,
    /// All connections are closed, and new ones at once.
    Closed,
}

/// What is done to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// It never reaches the server; the connection is closed.
    Before,
    /// It reaches the server without its end, so that it is undone; the connection is closed.
    Torn,
    /// It is carried out; the connection is closed instead of an answer.
    After,
    /// It is carried out; the connection is closed in the middle of the answer.
    InAnswer,
    /// It is carried out; the answer never comes, and the connection stays.
    HalfOpen,
    /// It is held back until the replica has given it up, or a little longer, and carried out then.
    Zombie,
    /// It is carried out twice.
    Double,
    /// It is answered and then undone: what no database may do.
    FalseAnswer,
}

/// All that a database and a network may do to a write.
pub const CUTS: [Cut; 7] = [Cut::Before, Cut::Torn, Cut::After, Cut::InAnswer, Cut::HalfOpen, Cut::Zombie, Cut::Double];

/// Says what is to be done to the next write; none: nothing.
pub type Plan = Box<dyn FnMut(&mut SeededDice) -> Option<Cut> + Send>;

/// A proxy before a database on this machine.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

/// What all connections of a proxy share.
pub struct Shared {
    target: AtomicU16,
    pub way: watch::Sender<Way>,
    /// Of each request and each answer; in microseconds.
    delay: Mutex<Range<u64>>,
    plan: Mutex<Option<Plan>>,
    dice: Mutex<SeededDice>,
    cuts: [AtomicU32; 8],
    /// Connections that listen are closed.
    pub no_listening: watch::Sender<bool>,
    /// Notifications are swallowed.
    pub no_notifications: AtomicBool,
    end: CancellationToken,
}

impl Proxy {
    /// Opens one before the server at a port.
    pub async fn open(target: u16, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            target: target.into(),
            way: watch::Sender::new(Way::Open),
            delay: Mutex::new(0..1),
            plan: Mutex::new(None),
            dice: Mutex::new(SeededDice::for_game(seed, 77)),
            cuts: Default::default(),
            no_listening: watch::Sender::new(false),
            no_notifications: AtomicBool::new(false),
            end: CancellationToken::new(),
        });
        tokio::spawn(accept(listener, shared.clone()));
        Proxy { port, shared }
    }

    /// The URL of a database through it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{}@127.0.0.1:{}/{database}", crate::postgres::USER, self.port)
    }

    /// Leads new connections to the server at another port.
    pub fn lead_to(&self, target: u16) {
        self.shared.target.store(target, Ordering::SeqCst);
    }

    pub fn set(&self, way: Way) {
        self.shared.way.send_replace(way);
    }

    /// Delays each request and each answer by some of these microseconds.
    pub fn delay(&self, micros: Range<u64>) {
        *self.shared.delay.lock().expect("no panic") = micros;
    }

    /// Does to writes from now on what a plan says.
    pub fn plan(&self, plan: Option<Plan>) {
        *self.shared.plan.lock().expect("no panic") = plan;
    }

    /// How often each cut was made.
    pub fn cuts(&self, cut: Cut) -> u32 {
        self.shared.cuts[cut as usize].load(Ordering::SeqCst)
    }

    /// Closes connections that listen to what other replicas tell, those that do and those that begin to.
    pub fn forbid_listening(&self, forbidden: bool) {
        self.shared.no_listening.send_replace(forbidden);
    }

    /// Swallows what other replicas tell, while connections that listen seem well.
    pub fn swallow_notifications(&self, swallowed: bool) {
        self.shared.no_notifications.store(swallowed, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.end.cancel();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let end = shared.end.clone();
    let accepting = async {
        loop {
            let (client, _) = listener.accept().await.expect("a connection");
            let shared = shared.clone();
            tokio::spawn(async move {
                let end = shared.end.clone();
                end.run_until_cancelled(connect(client, shared)).await
            });
        }
    };
    end.run_until_cancelled(accepting).await;
}

impl Shared {
    /// The port of the server.
    pub fn target(&self) -> u16 {
        self.target.load(Ordering::SeqCst)
    }

    /// What is to be done to the write that has just begun.
    pub fn next_cut(&self) -> Option<Cut> {
        let mut dice = self.dice.lock().expect("no panic");
        self.plan.lock().expect("no panic").as_mut().and_then(|plan| plan(&mut dice))
    }

    /// Counts one that is made.
    pub fn count(&self, cut: Cut) {
        self.cuts[cut as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// A number below this one.
    pub fn draw(&self, sides: u64) -> u64 {
        self.dice.lock().expect("no panic").below(sides.max(1))
    }

    /// How long something takes.
    pub fn draw_delay(&self) -> Duration {
        let range = self.delay.lock().expect("no panic").clone();
        Duration::from_micros(range.start + self.draw(range.end - range.start))
    }
}
