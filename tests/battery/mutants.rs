//! Planted faults, each of which must be found: they are how we know that the battery can fail. They are made around the product, of
//! wrappers of its stores and of its doors.

#[path = "mutants/doors.rs"]
mod doors;
#[path = "mutants/overlay.rs"]
mod overlay;
#[path = "mutants/stores.rs"]
mod stores;

use crate::door::{Direct, Door};
use crate::wrapped_store::Wrapped;
use mancala::random::SeededDice;
use mancala::store::Store;
use overlay::Overlay;
use std::sync::Arc;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Writes are acknowledged when they are in the store's memory, which a crash empties.
    AckBeforeCommit,
    /// Reads show writes before they are durable, and some never are.
    PublishBeforePersist,
    /// What was decided on an old version is appended to whatever is there.
    NoVersionCheck,
    /// Every attempt has a request id of its own.
    DedupeOff,
    /// Servers trust their memory although others write to the store.
    StaleReads,
    /// Reads come from a copy of the store that lags behind.
    StandbyReads,
    /// Of a change with several events the first alone is stored.
    TornWrite,
    /// A watch that is resumed leaves an event out.
    LostEvent,
    /// A write whose outcome is unknown is made again as a new one.
    UnknownRetriedAnew,
    /// A write whose outcome is unknown is called refused.
    UnknownCalledFailed,
    /// A repeated request is answered with how the session stands now.
    RepeatAnsweredAnew,
}

impl Mutant {
    pub const ALL: [Mutant; 11] = [
        Mutant::AckBeforeCommit,
        Mutant::PublishBeforePersist,
        Mutant::NoVersionCheck,
        Mutant::DedupeOff,
        Mutant::StaleReads,
        Mutant::StandbyReads,
        Mutant::TornWrite,
        Mutant::LostEvent,
        Mutant::UnknownRetriedAnew,
        Mutant::UnknownCalledFailed,
        Mutant::RepeatAnsweredAnew,
    ];

    /// The auditor's check that is meant to find it, sooner or later; others may as well, and the search for an order.
    pub fn check(self) -> &'static str {
        match self {
            Mutant::AckBeforeCommit => "lost",
            Mutant::PublishBeforePersist => "watch content",
            Mutant::NoVersionCheck | Mutant::TornWrite => "replay",
            Mutant::DedupeOff | Mutant::UnknownRetriedAnew => "twice",
            Mutant::StaleReads | Mutant::StandbyReads => "read went back",
            Mutant::LostEvent => "watch order",
            Mutant::UnknownCalledFailed => "refused but stored",
            Mutant::RepeatAnsweredAnew => "stored otherwise",
        }
    }

    /// Whether it shows in what clients are told, so that no order explains that.
    pub fn shows_in_answers(self) -> bool {
        self != Mutant::LostEvent
    }

    /// The store that all servers share, with this fault.
    pub fn plant_in_store(self, store: Arc<dyn Store>, dice: SeededDice) -> Planted {
        match self {
            Mutant::AckBeforeCommit => Planted::overlay(Overlay::new(store, dice, true)),
            Mutant::PublishBeforePersist => Planted::overlay(Overlay::new(store, dice, false)),
            Mutant::StandbyReads => Planted::plain(Arc::new(Wrapped(stores::Standby::new(store)))),
            Mutant::NoVersionCheck => Planted::plain(Arc::new(Wrapped(stores::NoVersionCheck(store)))),
            Mutant::TornWrite => Planted::plain(Arc::new(Wrapped(stores::TornWrite(store)))),
            Mutant::StaleReads => Planted::plain(Arc::new(Wrapped(stores::Unshared(store)))),
            Mutant::DedupeOff
            | Mutant::LostEvent
            | Mutant::UnknownRetriedAnew
            | Mutant::UnknownCalledFailed
            | Mutant::RepeatAnsweredAnew => Planted::plain(store),
        }
    }

    /// A server's door with this fault.
    pub fn plant_in_door(self, door: Direct) -> Arc<dyn Door> {
        match self {
            Mutant::DedupeOff
            | Mutant::LostEvent
            | Mutant::UnknownRetriedAnew
            | Mutant::UnknownCalledFailed
            | Mutant::RepeatAnsweredAnew => Arc::new(doors::Faulty { door, mutant: self }),
            _ => Arc::new(door),
        }
    }
}

/// A store in which something may be planted.
pub struct Planted {
    pub store: Arc<dyn Store>,
    overlay: Option<Arc<Wrapped<Overlay>>>,
}

impl Planted {
    pub fn plain(store: Arc<dyn Store>) -> Planted {
        Planted { store, overlay: None }
    }

    fn overlay(overlay: Overlay) -> Planted {
        let overlay = Arc::new(Wrapped(overlay));
        Planted { store: overlay.clone(), overlay: Some(overlay) }
    }

    /// What a crash does to it.
    pub async fn crash(&self) {
        if let Some(overlay) = &self.overlay {
            overlay.0.crash().await;
        }
    }
}
