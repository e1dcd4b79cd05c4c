//! Replicas of one database, and the ways to it.

use crate::door::Door;
use crate::player::Servers;
use crate::proxy::Proxy;
use crate::remote::Remote;
use crate::replica::{Replica, Settings};
use async_trait::async_trait;
use mancala::game::Dice;
use mancala::random::SeededDice;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;

/// Replicas, which clients find by their places.
pub struct Fleet {
    replicas: Mutex<Vec<Arc<Replica>>>,
    /// One before each, or none.
    pub proxies: Vec<Proxy>,
}

impl Fleet {
    /// Starts so many on the database at a URL.
    pub fn direct(url: &str, count: usize, settings: Settings<'_>) -> Arc<Fleet> {
        let replicas = start(&vec![url.to_owned(); count], settings);
        Arc::new(Fleet { replicas: Mutex::new(replicas), proxies: Vec::new() })
    }

    /// Starts so many, each with a way of its own to a database of the server at a port.
    pub async fn with_proxies(port: u16, database: &str, count: usize, settings: Settings<'_>, seed: u64) -> Arc<Fleet> {
        let mut proxies = Vec::new();
        for place in 0..count {
            proxies.push(Proxy::open(port, seed.wrapping_add(place as u64)).await);
        }
        let urls: Vec<_> = proxies.iter().map(|proxy| proxy.url(database)).collect();
        Arc::new(Fleet { replicas: Mutex::new(start(&urls, settings)), proxies })
    }

    pub fn len(&self) -> usize {
        self.replicas.lock().expect("no panic").len()
    }

    pub fn replica(&self, place: usize) -> Arc<Replica> {
        self.replicas.lock().expect("no panic")[place].clone()
    }

    /// Has clients find another replica at a place.
    pub fn replace(&self, place: usize, replica: Replica) {
        self.replicas.lock().expect("no panic")[place] = Arc::new(replica);
    }

    pub fn door(&self, place: usize) -> Remote {
        Remote::over(self.replica(place).channel())
    }
}

/// Starts them all at once.
fn start(urls: &[String], settings: Settings<'_>) -> Vec<Arc<Replica>> {
    let runtime = &Handle::current();
    let start = move |url| {
        let _in_runtime = runtime.enter();
        Replica::start(url, settings)
    };
    blocking(|| {
        std::thread::scope(|scope| {
            let starting: Vec<_> = urls.iter().map(|url| scope.spawn(move || start(url))).collect();
            starting.into_iter().map(|started| Arc::new(started.join().expect("it starts"))).collect()
        })
    })
}

/// Does something that takes a while without keeping others from their work.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

#[async_trait]
impl Servers for Fleet {
    async fn any(&self, dice: &mut SeededDice) -> Arc<dyn Door> {
        Arc::new(self.door(dice.below(self.len() as u64) as usize))
    }
}
