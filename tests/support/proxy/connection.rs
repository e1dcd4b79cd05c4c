//! A connection between a replica and its database, message by message.

use super::messages::{COMPLETE, FLUSH, Message, NOTIFICATION, READY, READY_AND_IDLE, SYNC, Statements};
use super::{Cut, Shared, Way};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// What becomes of answers.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Passes,
    /// It is swallowed, and then the connection closed.
    ClosedInstead,
    /// A part of it passes, and then the connection is closed.
    ClosedWithin,
    /// Nothing passes any more.
    Swallowed,
    /// It passes; the one after it is swallowed.
    NextSkipped,
    /// Once it says that the statement is complete the server is said to be ready, and the connection closed.
    EndMadeUp,
}

struct Connection {
    shared: Arc<Shared>,
    fate: Mutex<Fate>,
    /// Its client listens to what other replicas tell.
    listens: CancellationToken,
    /// To be closed on both sides.
    closed: CancellationToken,
}

/// Carries what a client and the server say to each other, as things are, until one of them closes.
pub async fn connect(client: TcpStream, shared: Arc<Shared>) {
    let mut way = shared.way.subscribe();
    // While the way is held or swallows, a connection comes about and says nothing.
    if way.wait_for(|way| matches!(way, Way::Open | Way::Closed)).await.is_ok_and(|way| *way == Way::Closed) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.target())).await else { return };
    client.set_nodelay(true).expect("an option");
    server.set_nodelay(true).expect("an option");
    let mut forbidden = shared.no_listening.subscribe();
    let (listens, closed) = (CancellationToken::new(), CancellationToken::new());
    let connection = Connection { shared, fate: Mutex::new(Fate::Passes), listens, closed };
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
        self.shared.count(cut);
        match cut {
            Cut::Before => self.closed.cancel(),
            Cut::Torn => {
                send(to, &write).await?;
                self.closed.cancel();
            }
            Cut::After | Cut::InAnswer | Cut::HalfOpen => {
                self.answers_are(match cut {
                    Cut::After => Fate::ClosedInstead,
                    Cut::InAnswer => Fate::ClosedWithin,
                    _ => Fate::Swallowed,
                });
                return send(to, &[write, end].concat()).await;
            }
            Cut::Zombie => {
                self.answers_are(Fate::Swallowed);
                self.given_up(from).await;
                let longer = self.shared.draw(30);
                sleep(Duration::from_millis(longer)).await;
                send(to, &[write, end].concat()).await?;
                // Until the server has carried it out: a connection that is closed before would end it.
                sleep(Duration::from_millis(200)).await;
                self.closed.cancel();
            }
            Cut::Double => {
                self.answers_are(Fate::NextSkipped);
                // The second time it finds the version that it has made. So the answer that passes is that of the first.
                let once = [write, end].concat();
                return send(to, &[once.clone(), once].concat()).await;
            }
            Cut::FalseAnswer => {
                self.answers_are(Fate::EndMadeUp);
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
            if message.tag == Some(NOTIFICATION) && self.shared.no_notifications.load(Ordering::SeqCst) {
                continue;
            }
            if self.answer(&message, &mut from, &mut to).await.is_none() {
                return self.closed.cancel();
            }
        }
        self.arrives().await;
        self.closed.cancel();
    }

    /// Lets a message have its fate. None: the connection is to be closed.
    async fn answer(&self, message: &Message, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) -> Option<()> {
        let ends = message.tag == Some(READY);
        let fate = *self.fate.lock().expect("no panic");
        match fate {
            Fate::Passes => self.pass(message, to).await,
            Fate::Swallowed => Some(()),
            Fate::ClosedInstead => (!ends).then_some(()),
            Fate::ClosedWithin => {
                // Some messages pass whole, one in part. The server carries out what it answers.
                if !ends && self.shared.draw(2) == 0 {
                    return send(to, &message.bytes).await;
                }
                let part = 1 + self.shared.draw(message.bytes.len() as u64 - 1) as usize;
                send(to, &message.bytes[..part]).await?;
                if !ends {
                    swallow_one(from).await;
                }
                None
            }
            Fate::NextSkipped => {
                self.pass(message, to).await?;
                if ends {
                    swallow_one(from).await;
                    self.answers_are(Fate::Passes);
                }
                Some(())
            }
            Fate::EndMadeUp => {
                send(to, &message.bytes).await?;
                if message.tag != Some(COMPLETE) {
                    return Some(());
                }
                send(to, &READY_AND_IDLE).await?;
                // The replica is to read it before it learns that the connection is gone.
                sleep(Duration::from_millis(100)).await;
                None
            }
        }
    }

    fn answers_are(&self, fate: Fate) {
        *self.fate.lock().expect("no panic") = fate;
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

/// Reads the rest of an answer.
async fn swallow_one(from: &mut OwnedReadHalf) {
    while Message::read(from).await.is_some_and(|message| message.tag != Some(READY)) {}
}

async fn send(to: &mut OwnedWriteHalf, bytes: &[u8]) -> Option<()> {
    to.write_all(bytes).await.ok()
}
