//! Who may call what. What no row of the table names may be called by nobody.
//!
//! Here a caller is recognised, and refused where its kind alone decides. Where the session decides too, its handler asks
//! `sight.rs`.

use super::reason::Reason;
use super::refuse::Refused;
use crate::game::Seat;
use crate::service::{ServiceError, Sessions, Token};
use crate::session::{Credential, SecretHash};
use http::HeaderMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use tonic::{Request, Status};

/// Who may call a method in token mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Everybody; a token that is not in force does no harm.
    Anyone,
    /// Operators.
    Operator,
    /// Operators, and the session's seats for themselves.
    Player,
    /// Operators, the session's seats, and spectators as the session's policy allows.
    Viewer,
    /// Operators, and whoever has the join code.
    Claimer,
}

/// A row for each method of the descriptor, and of health and reflection.
pub const METHODS: &[(&str, Who)] = &[
    ("/grpc.health.v1.Health/Check", Who::Anyone),
    ("/grpc.health.v1.Health/Watch", Who::Anyone),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Who::Anyone),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Who::Anyone),
    ("/mancala.v1.RulesService/GetGame", Who::Anyone),
    ("/mancala.v1.RulesService/ListGames", Who::Anyone),
    ("/mancala.v1.RulesService/ListPositionMoves", Who::Anyone),
    ("/mancala.v1.RulesService/ListReasons", Who::Anyone),
    ("/mancala.v1.RulesService/PlayoutPositions", Who::Operator),
    ("/mancala.v1.RulesService/StepPositions", Who::Operator),
    ("/mancala.v1.RulesService/VerifyRecord", Who::Operator),
    ("/mancala.v1.SessionService/AnswerProposal", Who::Player),
    ("/mancala.v1.SessionService/ApplyMove", Who::Player),
    ("/mancala.v1.SessionService/BatchCreateSessions", Who::Operator),
    ("/mancala.v1.SessionService/BatchGetSessions", Who::Operator),
    ("/mancala.v1.SessionService/CheckMove", Who::Viewer),
    ("/mancala.v1.SessionService/ClaimSeat", Who::Claimer),
    ("/mancala.v1.SessionService/ClaimTimeout", Who::Player),
    ("/mancala.v1.SessionService/CreateSession", Who::Operator),
    ("/mancala.v1.SessionService/DeleteSession", Who::Operator),
    ("/mancala.v1.SessionService/ExportRecord", Who::Operator),
    ("/mancala.v1.SessionService/GetSession", Who::Viewer),
    ("/mancala.v1.SessionService/ImportRecord", Who::Operator),
    ("/mancala.v1.SessionService/ListEvents", Who::Viewer),
    ("/mancala.v1.SessionService/ListLegalMoves", Who::Viewer),
    // Whoever is no operator is shown the sessions that are public.
    ("/mancala.v1.SessionService/ListSessions", Who::Viewer),
    // Whoever may do nothing may open the stream: its commands are judged one by one.
    ("/mancala.v1.SessionService/Play", Who::Viewer),
    ("/mancala.v1.SessionService/Propose", Who::Player),
    ("/mancala.v1.SessionService/Resign", Who::Player),
    ("/mancala.v1.SessionService/RevokeSeatToken", Who::Player),
    ("/mancala.v1.SessionService/RotateSeatToken", Who::Player),
    ("/mancala.v1.SessionService/SampleMoves", Who::Viewer),
    ("/mancala.v1.SessionService/WatchSession", Who::Viewer),
    ("/mancala.v1.SessionService/WatchSessions", Who::Operator),
    ("/mancala.v1.SessionService/WithdrawProposal", Who::Player),
];

/// Whether a method, by its path, is of the server and not of its services: health or reflection.
pub fn is_of_server(path: &str) -> bool {
    path.starts_with("/grpc.")
}

/// Who makes a call, as far as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// May do everything: the operator of this name, or anybody in open mode.
    Trusted(Option<Arc<str>>),
    /// The bearer of a seat's token.
    Seat {
        /// The session.
        session_id: String,
        /// The seat.
        seat: Seat,
        /// Of the token.
        hash: SecretHash,
    },
    /// Nobody that is known.
    Anonymous,
}

impl Caller {
    /// Who makes this call. Nobody that is known, if nobody has looked.
    pub fn of<T>(request: &Request<T>) -> Caller {
        request.extensions().get().cloned().unwrap_or(Caller::Anonymous)
    }

    /// The caller's seat in a session, if it has one there.
    pub fn seat_in(&self, session: &str) -> Option<Seat> {
        match self {
            Caller::Seat { session_id, seat, .. } if session_id == session => Some(*seat),
            Caller::Seat { .. } | Caller::Trusted(_) | Caller::Anonymous => None,
        }
    }

    /// Whether it may do everything.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Caller::Trusted(_))
    }

    /// The operator's name, if it is one.
    pub fn operator(&self) -> Option<&str> {
        match self {
            Caller::Trusted(operator) => operator.as_deref(),
            Caller::Seat { .. } | Caller::Anonymous => None,
        }
    }

    fn may(&self, who: Who) -> Result<(), Reason> {
        match (who, self) {
            (Who::Anyone | Who::Viewer | Who::Claimer, _) | (Who::Operator | Who::Player, Caller::Trusted(_)) => Ok(()),
            (Who::Player, Caller::Seat { .. }) => Ok(()),
            (Who::Operator, Caller::Seat { .. }) => Err(Reason::OperatorOnly),
            (Who::Operator | Who::Player, Caller::Anonymous) => Err(Reason::TokenMissing),
        }
    }
}

/// Whether a caller that is known may call a method, given by its path.
///
/// # Errors
/// When nobody of its kind may.
pub fn may_call(caller: &Caller, path: &str) -> Result<(), Status> {
    let row = METHODS.iter().find(|(method, _)| *method == path);
    let allowed = row.ok_or(Reason::MethodUnknown).and_then(|(_, who)| caller.may(*who));
    allowed.map_err(|reason| Refused::plain(reason).into_status())
}

/// Marks calls of a connection whose client has shown an operator's certificate, which is for this name. The server puts it into
/// their extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorCertificate(pub Arc<str>);

/// Recognises callers. Cheap to clone.
#[derive(Clone)]
pub struct Access(Option<Arc<Tokens>>);

struct Tokens {
    operators: BTreeMap<Arc<str>, SecretHash>,
    sessions: Sessions,
}

impl Access {
    /// Open mode: everybody may do everything.
    #[must_use]
    pub const fn open() -> Access {
        Access(None)
    }

    /// Token mode, with the hashes of the operators' keys by their names.
    #[must_use]
    pub fn tokens(operators: BTreeMap<String, SecretHash>, sessions: Sessions) -> Access {
        let operators = operators.into_iter().map(|(name, hash)| (name.into(), hash)).collect();
        Access(Some(Arc::new(Tokens { operators, sessions })))
    }

    /// Who makes the call of a method, by its path, its metadata and the certificate of its connection. A token goes over a
    /// certificate, so that an operator can act for a seat.
    ///
    /// # Errors
    /// When nobody of that kind may call it.
    pub async fn admit(
        &self,
        path: &str,
        metadata: &HeaderMap,
        certificate: Option<&OperatorCertificate>,
    ) -> Result<Caller, Status> {
        match &self.0 {
            None => Ok(Caller::Trusted(None)),
            // Boxed: whatever reads a session has room for all that takes, which most calls have no use for.
            Some(tokens) => Box::pin(tokens.admit(path, metadata, certificate)).await,
        }
    }
}

impl Tokens {
    async fn admit(&self, path: &str, metadata: &HeaderMap, certificate: Option<&OperatorCertificate>) -> Result<Caller, Status> {
        let refused = |reason| Refused::plain(reason).into_status();
        let row = METHODS.iter().find(|(method, _)| *method == path);
        let (_, who) = *row.ok_or_else(|| refused(Reason::MethodUnknown))?;
        if who == Who::Anyone {
            return Ok(self.known(path, metadata).await);
        }
        let caller = match bearer(metadata).map_err(refused)? {
            None => certificate.map_or(Caller::Anonymous, |OperatorCertificate(name)| Caller::Trusted(Some(name.clone()))),
            Some(token) => self.recognise(token).await?,
        };
        caller.may(who).map_err(refused)?;
        Ok(caller)
    }

    /// Who calls a method that everybody may call. A token only counts for how often it may.
    async fn known(&self, path: &str, metadata: &HeaderMap) -> Caller {
        match bearer(metadata) {
            Ok(Some(token)) if !is_of_server(path) => self.recognise(token).await.unwrap_or(Caller::Anonymous),
            Ok(_) | Err(_) => Caller::Anonymous,
        }
    }

    /// Whose token this is, if it is in force. A session that is not there has none, so that a token tells nothing of it.
    async fn recognise(&self, token: Token) -> Result<Caller, Status> {
        let caller = match token {
            Token::Operator { name, hash } => {
                let known = self.operators.get_key_value(name.as_str()).filter(|(_, known)| **known == hash);
                known.map(|(name, _)| Caller::Trusted(Some(name.clone())))
            }
            Token::Seat { session_id, seat, hash } => {
                let credential = Credential::Token { seat, hash };
                match self.sessions.look(&session_id, |session| session.seats().accept(&credential)).await {
                    Ok(accepted) => accepted.then_some(Caller::Seat { session_id, seat, hash }),
                    Err(ServiceError::NotFound { .. }) => None,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        caller.ok_or_else(|| Refused::plain(Reason::TokenInvalid).into_status())
    }
}

/// The token that metadata bear, if they bear one.
fn bearer(metadata: &HeaderMap) -> Result<Option<Token>, Reason> {
    let mut values = metadata.get_all(http::header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") { Token::parse(token.trim()) } else { None }
    });
    match (token, values.next()) {
        (Some(token), None) => Ok(Some(token)),
        _ => Err(Reason::TokenMalformed),
    }
}
