//! What lies between a replica and its database: it delays, holds back, swallows, cuts off, and knows where a write begins and ends.

use crate::messages::{FLUSH, Message, READY, READY_AND_IDLE, SYNC, Statements};
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How it is at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Says what is to be done to the next write; none: nothing.
pub type Plan = Box<dyn FnMut(&mut SeededDice) -> Option<Cut> + Send>;

/// A proxy before a database on this machine.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    target: u16,
    way: watch::Sender<Way>,
    /// Of each request and each answer; in microseconds.
    delay: Mutex<Range<u64>>,
    plan: Mutex<Option<Plan>>,
    dice: Mutex<SeededDice>,
    cuts: [AtomicU32; 8],
    /// Connections that listen are closed.
    no_listening: watch::Sender<bool>,
    /// Notifications are swallowed.
    no_notifications: AtomicBool,
    end: CancellationToken,
}

impl Proxy {
    /// Opens one before the server at a port.
    pub async fn open(target: u16, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            target,
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

/// What becomes of answers on a connection.
const PASS: u8 = 0;
/// The answer is swallowed, and then the connection closed.
const CLOSE_INSTEAD: u8 = 1;
/// A part of the answer passes, and then the connection is closed.
const CLOSE_WITHIN: u8 = 2;
/// Nothing passes any more.
const SWALLOW: u8 = 3;
/// The next answer is swallowed.
const SKIP_ONE: u8 = 4;
/// After the next that completes a statement the server is said to be ready, and the connection closed.
const FALSELY: u8 = 5;

struct Connection {
    shared: Arc<Shared>,
    answers: AtomicU8,
    /// Its client listens to what other replicas tell.
    listens: CancellationToken,
    /// To be closed on both sides.
    closed: CancellationToken,
}

async fn connect(client: TcpStream, shared: Arc<Shared>) {
    let mut way = shared.way.subscribe();
    // While the way is held or swallows, a connection comes about and says nothing.
    if way.wait_for(|way| matches!(way, Way::Open | Way::Closed)).await.is_ok_and(|way| *way == Way::Closed) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.target)).await else { return };
    client.set_nodelay(true).expect("an option");
    server.set_nodelay(true).expect("an option");
    let mut forbidden = shared.no_listening.subscribe();
    let (listens, closed) = (CancellationToken::new(), CancellationToken::new());
    let connection = Connection { shared, answers: AtomicU8::new(PASS), listens, closed };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let both = async {
        tokio::join!(connection.requests(BufReader::new(from_client), to_server), connection.answers(from_server, to_client));
    };
    let overheard = async {
        connection.listens.cancelled().await;
        forbidden.wait_for(|forbidden| *forbidden).await.is_ok()
    };
    tokio::select! {
        () = both => {}
        () = connection.closed.cancelled() => {}
        _ = overheard => {}
        _ = way.wait_for(|way| *way == Way::Closed) => {}
    }
}

impl Connection {
    /// From the replica to the server.
    async fn requests(&self, mut from: BufReader<OwnedReadHalf>, mut to: OwnedWriteHalf) {
        let mut statements = Statements::default();
        let mut next = Message::read_first(&mut from).await;
        while let Some(message) = next {
            statements.note(&message);
            if statements.listens {
                self.listens.cancel();
            }
            let cut = if statements.begins_write(&message) { self.shared.next_cut() } else { None };
            let sent = match cut {
                None => self.pass(&message, &mut to).await,
                Some(cut) => self.cut(cut, message, &mut from, &mut to).await,
            };
            if sent.is_none() {
                return;
            }
            next = Message::read(&mut from).await;
        }
        self.arrives().await;
        self.closed.cancel();
    }

    /// Does something to a write, whose first message is here. None: the connection is of no more use.
    async fn cut(&self, cut: Cut, first: Message, from: &mut BufReader<OwnedReadHalf>, to: &mut OwnedWriteHalf) -> Option<()> {
        let mut write = first.bytes;
        let end = loop {
            let message = Message::read(from).await?;
            if message.tag == Some(SYNC) {
                break message.bytes;
            }
            write.extend(message.bytes);
        };
        self.shared.cuts[cut as usize].fetch_add(1, Ordering::SeqCst);
        match cut {
            Cut::Before => self.closed.cancel(),
            Cut::Torn => {
                send(to, &write).await?;
                self.closed.cancel();
            }
            Cut::After | Cut::InAnswer | Cut::HalfOpen => {
                let fate = match cut {
                    Cut::After => CLOSE_INSTEAD,
                    Cut::InAnswer => CLOSE_WITHIN,
                    _ => SWALLOW,
                };
                self.answers.store(fate, Ordering::SeqCst);
                send(to, &[write, end].concat()).await?;
                if cut == Cut::HalfOpen {
                    return Some(());
                }
            }
            Cut::Zombie => {
                self.answers.store(SWALLOW, Ordering::SeqCst);
                self.given_up(from).await;
                let longer = self.shared.draw(30);
                sleep(Duration::from_millis(longer)).await;
                send(to, &[write, end].concat()).await?;
                // Until the server has carried it out: a connection that is closed before would end it.
                sleep(Duration::from_millis(200)).await;
                self.closed.cancel();
            }
            Cut::Double => {
                self.answers.store(SKIP_ONE, Ordering::SeqCst);
                // The second time it finds the version that it has made. So the answer that passes is that of the first.
                let once = [write, end].concat();
                send(to, &[once.clone(), once].concat()).await?;
                return Some(());
            }
            Cut::FalseAnswer => {
                self.answers.store(FALSELY, Ordering::SeqCst);
                send(to, &[&write[..], &FLUSH].concat()).await?;
                // The other half closes.
                self.closed.cancelled().await;
            }
        }
        None
    }

    /// Waits until the replica has closed its side.
    async fn given_up(&self, from: &mut BufReader<OwnedReadHalf>) {
        let closed = async { while Message::read(from).await.is_some() {} };
        // Whether or not it did: it has repeated the write long ago.
        let _ = timeout(Duration::from_secs(2), closed).await;
    }

    /// From the server to the replica.
    async fn answers(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        while let Some(message) = Message::read(&mut from).await {
            let ends = message.tag == Some(READY);
            match self.answers.load(Ordering::SeqCst) {
                _ if message.tag == Some(b'A') && self.shared.no_notifications.load(Ordering::SeqCst) => {}
                PASS if self.pass(&message, &mut to).await.is_none() => return,
                CLOSE_INSTEAD if ends => return self.closed.cancel(),
                CLOSE_WITHIN => {
                    let part = 1 + self.shared.draw(message.bytes.len() as u64 - 1) as usize;
                    // Some messages pass whole, one in part.
                    let passes = !ends && self.shared.draw(2) == 0;
                    let bytes = if passes { &message.bytes[..] } else { &message.bytes[..part] };
                    if send(&mut to, bytes).await.is_none() || !passes {
                        return self.after_the_answer(from, ends).await;
                    }
                }
                SKIP_ONE => {
                    if self.pass(&message, &mut to).await.is_none() {
                        return;
                    }
                    if ends {
                        self.swallow_one(&mut from).await;
                        self.answers.store(PASS, Ordering::SeqCst);
                    }
                }
                FALSELY => {
                    let completes = message.tag == Some(b'C');
                    if send(&mut to, &message.bytes).await.is_none() {
                        return self.closed.cancel();
                    }
                    if completes {
                        send(&mut to, &READY_AND_IDLE).await;
                        // The replica is to read it before it learns that the connection is gone.
                        sleep(Duration::from_millis(100)).await;
                        return self.closed.cancel();
                    }
                }
                // Passed, or swallowed.
                _ => {}
            }
        }
        self.arrives().await;
        self.closed.cancel();
    }

    /// Closes once the server has carried out what it answers.
    async fn after_the_answer(&self, mut from: OwnedReadHalf, ended: bool) {
        if !ended {
            self.swallow_one(&mut from).await;
        }
        self.closed.cancel();
    }

    async fn swallow_one(&self, from: &mut OwnedReadHalf) {
        while let Some(message) = Message::read(from).await {
            if message.tag == Some(READY) {
                return;
            }
        }
    }

    /// Passes a message on, when and if the way is open.
    async fn pass(&self, message: &Message, to: &mut OwnedWriteHalf) -> Option<()> {
        // What belongs together travels together.
        let delay = if message.ends() { self.shared.draw_delay() } else { Duration::ZERO };
        if !delay.is_zero() {
            sleep(delay).await;
        }
        self.arrives().await;
        send(to, &message.bytes).await
    }

    /// Waits while nothing passes. What is swallowed never arrives.
    async fn arrives(&self) {
        let mut way = self.shared.way.subscribe();
        if *way.borrow() == Way::Swallowing {
            // Only when it is over the connection's ends are closed, too.
            let _ = way.wait_for(|way| *way != Way::Swallowing).await;
            self.closed.cancel();
            return std::future::pending().await;
        }
        let _ = way.wait_for(|way| *way != Way::Held).await;
    }
}

impl Shared {
    fn next_cut(&self) -> Option<Cut> {
        let mut dice = self.dice.lock().expect("no panic");
        self.plan.lock().expect("no panic").as_mut().and_then(|plan| plan(&mut dice))
    }

    fn draw(&self, sides: u64) -> u64 {
        self.dice.lock().expect("no panic").below(sides.max(1))
    }

    fn draw_delay(&self) -> Duration {
        let range = self.delay.lock().expect("no panic").clone();
        Duration::from_micros(range.start + self.draw(range.end - range.start))
    }
}

async fn send(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Option<()> {
    to.write_all(bytes).await.ok()
}
