//! How clients reach a server: here, in this process, without a network.

use crate::call::{Call, Outcome, PAGE, ROUNDS, Seen, What, clock_of, rules_of};
use async_trait::async_trait;
use mancala::game::Guards;
use mancala::service::{Delete, NewSession, ServiceError, Sessions, Target, Watch};
use mancala::session::{Credential, EventHash, Session, Spectators};
use mancala::store::StoreError;
use mancala::wire::refuse::Refused;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A server, as its clients see it.
#[async_trait]
pub trait Door: Send + Sync + 'static {
    /// Sends a call and waits for its answer.
    async fn call(&self, call: &Call) -> Outcome;

    /// Watches a session from a version on.
    async fn watch(&self, session: &str, after: u32) -> Result<Box<dyn Eye>, Cut>;
}

/// A watch.
#[async_trait]
pub trait Eye: Send {
    /// The next events; none: there are none at present. After [`Cut`] it is of no more use.
    async fn next(&mut self) -> Result<Vec<(u32, EventHash)>, Cut>;
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Watch again.
    Broken,
    /// There is no such session.
    Gone,
}

/// A server that is called directly.
#[derive(Clone)]
pub struct Direct {
    pub sessions: Sessions,
    /// Cancelled when it is killed: nobody hears of it any more.
    pub life: CancellationToken,
}

/// A watcher looks so often, whether or not it was told to.
const BEAT: Duration = Duration::from_millis(60);

#[async_trait]
impl Door for Direct {
    async fn call(&self, call: &Call) -> Outcome {
        self.life.run_until_cancelled(self.carry_out(call)).await.unwrap_or(Outcome::Unknown)
    }

    async fn watch(&self, session: &str, after: u32) -> Result<Box<dyn Eye>, Cut> {
        let watch = self.sessions.watch(session, usize::MAX).map_err(|_| Cut::Broken)?;
        Ok(Box::new(DirectEye { watch, after, life: self.life.clone() }))
    }
}

impl Direct {
    async fn carry_out(&self, call: &Call) -> Outcome {
        self.answer(call).await.map_or_else(|error| failed(&error), Outcome::Done)
    }

    async fn answer(&self, call: &Call) -> Result<Seen, ServiceError> {
        let target = || Target {
            session_id: call.session.clone(),
            expected_version: call.expected_version,
            request_id: Some(call.request.clone()),
            credential: Credential::Trusted,
        };
        match call.what {
            What::Create => {
                let made = self.sessions.create(new_session(&call.session, &call.request)).await?;
                Ok(Seen { replayed: made.replayed, ..seen(&made.session) })
            }
            What::Get => self.sessions.look(&call.session, seen).await,
            What::Events { after } => {
                let read = self.sessions.events(&call.session, after, PAGE, false).await?;
                let events = read.events.iter().map(|event| (event.version, event.hash)).collect();
                Ok(Seen { version: Some(read.version), events, ..Seen::default() })
            }
            What::Delete => {
                let delete: Delete = target();
                self.sessions.delete(delete).await.map(|()| Seen::default())
            }
            What::Play { .. } | What::Resign | What::Propose { .. } | What::Answer { .. } => {
                let command = call.what.command().expect("it is a command");
                let applied = self.sessions.apply(target(), command, false, seen).await?;
                Ok(Seen { replayed: applied.replayed, ..applied.after })
            }
        }
    }
}

fn seen(session: &Session) -> Seen {
    Seen {
        version: Some(session.version()),
        position: Some(session.position().to_string()),
        hash: Some(session.head_hash()),
        ..Seen::default()
    }
}

fn new_session(session: &str, request: &str) -> NewSession {
    let rules = rules_of(session);
    NewSession {
        session_id: Some(session.to_owned()),
        rules,
        guards: Guards::of(rules.game()),
        start: rules.start(),
        labels: Default::default(),
        rounds: ROUNDS,
        clock: clock_of(session),
        previous_session_id: None,
        seats: Vec::new(),
        spectators: Spectators::default(),
        creator: None,
        request_id: Some(request.to_owned()),
    }
}

/// What a client may conclude from an error.
fn failed(error: &ServiceError) -> Outcome {
    match error {
        ServiceError::Store(StoreError::Unknown(_)) => Outcome::Unknown,
        ServiceError::Store(StoreError::Unavailable(_) | StoreError::Full(_) | StoreError::Unwritable(_))
        | ServiceError::Contended
        | ServiceError::Stopping
        | ServiceError::Overloaded { .. } => Outcome::Failed,
        error => {
            let refusal = Refused::from(error).into_refusal();
            let current = refusal.metadata.get("current_version").and_then(|version| version.parse().ok());
            Outcome::Refused { reason: refusal.reason, current }
        }
    }
}

struct DirectEye {
    watch: Watch,
    after: u32,
    life: CancellationToken,
}

impl DirectEye {
    async fn look(&mut self) -> Result<Vec<(u32, EventHash)>, Cut> {
        if !self.watch.is_behind(self.after) {
            // Being told is a help and no more.
            let _ = tokio::time::timeout(BEAT, self.watch.changed()).await;
        }
        match self.watch.news(self.after, false).await {
            Ok(news) => {
                let events: Vec<_> = news.events.iter().map(|event| (event.version, event.hash)).collect();
                self.after = events.last().map_or(self.after, |(version, _)| *version);
                Ok(events)
            }
            Err(ServiceError::NotFound { .. }) => Err(Cut::Gone),
            Err(_) => Err(Cut::Broken),
        }
    }
}

#[async_trait]
impl Eye for DirectEye {
    async fn next(&mut self) -> Result<Vec<(u32, EventHash)>, Cut> {
        let life = self.life.clone();
        life.run_until_cancelled(self.look()).await.unwrap_or(Err(Cut::Broken))
    }
}
