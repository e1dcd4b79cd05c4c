//! Every reason that an error or a refusal can bear: one table, from which errors are made and ListReasons is served.

use crate::game::IllegalMove;
use tonic::Code;

/// Makes [`Reason`] from rows of name, code, names of the facts, and description.
macro_rules! reasons {
    ($($variant:ident = $name:literal, $code:ident, [$($fact:literal),*], $description:literal;)+) => {
        /// Why something is refused or fails, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $description] $variant),+
        }

        impl Reason {
            /// All of them, in alphabetical order of their names.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant),+];

            /// The one of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Reason> {
                match name { $($name => Some(Reason::$variant),)+ _ => None }
            }

            /// In upper snake case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name),+ }
            }

            /// The status code that goes with it.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Reason::$variant => Code::$code),+ }
            }

            /// The status code's name in the protocol.
            #[must_use]
            pub fn code_name(self) -> &'static str {
                code_name(self.code())
            }

            /// Names of the facts that it bears as metadata.
            #[must_use]
            pub const fn facts(self) -> &'static [&'static str] {
                match self { $(Reason::$variant => &[$($fact),*]),+ }
            }

            /// When it is given and what to do.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Reason::$variant => $description),+ }
            }
        }
    };
}

reasons! {
    Busy = "BUSY", Unavailable, [], "More long computations are asked for than the server can hold. Repeat the call a little later.";
    CannotPass = "CANNOT_PASS", FailedPrecondition, ["seat"], "The seat can move, and a pass is possible only when it is forced.";
    CompressionUnknown = "COMPRESSION_UNKNOWN", Unimplemented, [], "The request is compressed, and the server reads only what is not. Send it uncompressed.";
    Contended = "CONTENDED", Unavailable, [], "Too many others change the session at this moment. Repeat the call.";
    CursorUnknown = "CURSOR_UNKNOWN", OutOfRange, [], "The cursor is not one that this store gave, or its data are older than the cursor, such as a backup. List the sessions, and watch from now on.";
    DeadlineExceeded = "DEADLINE_EXCEEDED", DeadlineExceeded, ["limit_ms"], "The call took longer than it or the server allows. What changes something may have happened: repeat it with the same request_id. Give what only reads a longer deadline, or ask for less.";
    FirstLapEndsInOwnOccupiedPit = "FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT", FailedPrecondition, ["pit", "seeds", "last"], "Kiothi: the last seed of the first lap would fall in an occupied pit of the seat's own row. Sow another number or from another pit.";
    GameNotFound = "GAME_NOT_FOUND", NotFound, ["games"], "There is no game of this identifier. ListGames has them all.";
    GameOver = "GAME_OVER", FailedPrecondition, ["end"], "The position is at its end; nothing can be played from it.";
    Internal = "INTERNAL", Internal, [], "The server failed at this call. Its log says why.";
    InvalidMove = "INVALID_MOVE", InvalidArgument, ["at", "expected"], "The text of a move can't be read. The facts say where it went wrong and what should have stood there.";
    InvalidPosition = "INVALID_POSITION", InvalidArgument, ["faults"], "A position can't be read, or is impossible in its game. The facts say all that is wrong with it.";
    InvalidRecord = "INVALID_RECORD", InvalidArgument, ["line", "expected"], "A record can't be read. The facts say where it went wrong and what should have stood there.";
    InvalidRequest = "INVALID_REQUEST", InvalidArgument, ["fields"], "The request is malformed. The attached BadRequest names every faulty field and what it must be.";
    JoinCodeWrong = "JOIN_CODE_WRONG", PermissionDenied, [], "None of the session's seats has this join code. Ask whoever made the session for it, or have an operator claim the seat.";
    MalformedMessage = "MALFORMED_MESSAGE", InvalidArgument, [], "The bytes of the request are not the message that this method takes. Use stubs made from this server's proto files.";
    MessageTooLarge = "MESSAGE_TOO_LARGE", ResourceExhausted, [], "The request is larger than the server reads. Send less at a time.";
    MethodUnknown = "METHOD_UNKNOWN", Unimplemented, [], "The server has no such method. Reflection lists those that it has.";
    MustFeed = "MUST_FEED", FailedPrecondition, ["pit", "hungry"], "Ayoayo: the opponent's row is empty and must be given a seed; this pit gives none, and another would.";
    MustPass = "MUST_PASS", FailedPrecondition, ["seat"], "The seat has nothing to sow: it must pass.";
    NothingToRevoke = "NOTHING_TO_REVOKE", FailedPrecondition, ["seat"], "The seat has neither a token nor a join code that is in force.";
    NotInThisGame = "NOT_IN_THIS_GAME", FailedPrecondition, ["game", "given"], "The game has no moves of this kind.";
    NotYourTurn = "NOT_YOUR_TURN", FailedPrecondition, ["seat", "to_act"], "The other seat must act. Wait for its move.";
    OperatorOnly = "OPERATOR_ONLY", PermissionDenied, [], "Only operators may do this. Call it with an operator's key.";
    OutcomeUnknown = "OUTCOME_UNKNOWN", Unavailable, [], "The store did not say whether the change was made. Repeat the call with the same request_id.";
    Overloaded = "OVERLOADED", Unavailable, ["limit"], "More is asked of the server at once than it takes on. Repeat the call after the time that the attached RetryInfo names.";
    PitClosed = "PIT_CLOSED", FailedPrecondition, ["pit"], "Ali Guli Mane: the pit is out of play in this round.";
    PitEmpty = "PIT_EMPTY", FailedPrecondition, ["pit"], "The pit holds no seeds. Choose an occupied one.";
    PitNotYours = "PIT_NOT_YOURS", FailedPrecondition, ["pit", "seat", "owner"], "The other seat sows from this pit. Choose one of the seat's own.";
    PitOffBoard = "PIT_OFF_BOARD", FailedPrecondition, ["pit", "pits"], "The board has no such pit.";
    ProposalImpossible = "PROPOSAL_IMPOSSIBLE", FailedPrecondition, ["kind", "why"], "This can't be agreed on now. The facts say why.";
    ProposalNotFound = "PROPOSAL_NOT_FOUND", FailedPrecondition, ["kind"], "No proposal of this kind waits for an answer. It is void once the game moves on.";
    ProposalOfOther = "PROPOSAL_OF_OTHER", FailedPrecondition, ["kind", "by"], "A proposal is answered by the seat that it was made to, and withdrawn by the one that made it.";
    ProposalOpen = "PROPOSAL_OPEN", FailedPrecondition, ["kind", "by"], "A proposal of this kind waits for its answer already.";
    ProposalTooSoon = "PROPOSAL_TOO_SOON", FailedPrecondition, ["kind", "seat"], "The seat has proposed this since the last move. It may again after the next one.";
    QuotaExceeded = "QUOTA_EXCEEDED", ResourceExhausted, ["limit"], "The operator has as many sessions being played as it may have. End or delete some, or have its quota raised.";
    RateLimited = "RATE_LIMITED", ResourceExhausted, ["caller", "limit"], "The caller makes calls faster than it may. Wait as long as the attached RetryInfo says; the facts name the kind of caller and its limit.";
    RecordDiffers = "RECORD_DIFFERS", InvalidArgument, ["event", "line", "what", "expected", "found"], "A record is not what the rules and its chain of hashes bring about. The facts say where it first differs, and how.";
    RecordInFuture = "RECORD_IN_FUTURE", InvalidArgument, [], "The last event of a record is later than the server's time. Compare the clocks of the servers.";
    RecordTooLarge = "RECORD_TOO_LARGE", ResourceExhausted, ["limit_bytes"], "The record of the session would be larger than can be imported. Export an earlier version, or read it with ListEvents.";
    RedistributionSize = "REDISTRIBUTION_SIZE", FailedPrecondition, ["emptied", "required"], "Kiothi: an opening empties exactly two pits.";
    RedistributionUnbalanced = "REDISTRIBUTION_UNBALANCED", FailedPrecondition, ["lifted", "placed"], "Kiothi: an opening places as many seeds as the emptied pits hold.";
    ReplyTooLarge = "REPLY_TOO_LARGE", ResourceExhausted, ["limit_bytes"], "The answer would be larger than clients read by default. Ask for fewer items, or leave steps and moves out.";
    RequestIdReused = "REQUEST_ID_REUSED", InvalidArgument, ["request_id"], "The request_id was used before with another content. Use a new one for every new request.";
    SeatNotYours = "SEAT_NOT_YOURS", PermissionDenied, ["seat", "yours"], "The token is the other seat's. Leave the seat out, or call with the token of the seat.";
    SeatTaken = "SEAT_TAKEN", FailedPrecondition, ["seat"], "The seat is claimed. An operator can give it to another once its token is revoked.";
    SeatUnclaimed = "SEAT_UNCLAIMED", FailedPrecondition, ["seat"], "Nobody holds the seat. Claim it.";
    SeedsNotChosen = "SEEDS_NOT_CHOSEN", FailedPrecondition, ["pit", "held"], "In this game a sowing takes all seeds of the pit. Leave the number out.";
    SeedsOutOfRange = "SEEDS_OUT_OF_RANGE", FailedPrecondition, ["pit", "seeds", "held"], "Kiothi: from one to all seeds of the pit can be sown.";
    SessionDamaged = "SESSION_DAMAGED", DataLoss, ["session_id"], "What is stored of the session makes no sense. The server's log says more; restore a backup.";
    SessionIdTaken = "SESSION_ID_TAKEN", AlreadyExists, ["session_id"], "A session of this id is there, or was and has been deleted. Choose another, or leave it out.";
    SessionNotFound = "SESSION_NOT_FOUND", NotFound, ["session_id"], "There is no session of this id. It may have been deleted.";
    SessionNotYours = "SESSION_NOT_YOURS", PermissionDenied, [], "The token is of a seat of another session.";
    SessionOver = "SESSION_OVER", FailedPrecondition, ["cause"], "The session has ended. Make a new one to play on.";
    StaleVersion = "STALE_VERSION", Aborted, ["expected_version", "current_version"], "The session has changed since the caller last read it. Read it again and decide anew.";
    Stopping = "STOPPING", Unavailable, [], "The server is stopping. Repeat the call; another server, or this one once it is back, will answer.";
    StoreDamaged = "STORE_DAMAGED", DataLoss, [], "The store is damaged and the server must be stopped. Its log says more; restore a backup.";
    StoreFull = "STORE_FULL", ResourceExhausted, [], "The store has no room left, and nothing was changed. Once there is room it goes on by itself.";
    StoreUnavailable = "STORE_UNAVAILABLE", Unavailable, [], "The store can't be reached, and nothing was changed. Repeat the call.";
    StoreUnwritable = "STORE_UNWRITABLE", Unavailable, [], "The store can't be written, and nothing was changed. Once it can it goes on by itself.";
    StreamAged = "STREAM_AGED", Unavailable, ["resume_after"], "The stream has lived as long as streams may. Open another, a watch with the version or cursor in the facts.";
    StreamStopping = "STREAM_STOPPING", Unavailable, ["resume_after"], "The server is stopping. Open another stream, a watch with the version or cursor in the facts; another server, or this one once it is back, will answer.";
    TimeoutMalformed = "TIMEOUT_MALFORMED", InvalidArgument, [], "The metadata grpc-timeout is not one to eight digits and one of the units H, M, S, m, u and n.";
    TimeNotOut = "TIME_NOT_OUT", FailedPrecondition, ["to_act", "deadline"], "The seat to act still has time, or its clock does not run.";
    TokenInvalid = "TOKEN_INVALID", Unauthenticated, [], "The token is not in force: it was rotated or revoked, its session was deleted, or it never was one. Get another.";
    TokenMalformed = "TOKEN_MALFORMED", Unauthenticated, [], "The metadata authorization is not 'Bearer ' and an operator's key or a seat's token as this server gave it.";
    TokenMissing = "TOKEN_MISSING", Unauthenticated, [], "The call needs a token. Send it as metadata: authorization: Bearer TOKEN.";
    TooManyWatches = "TOO_MANY_WATCHES", ResourceExhausted, ["most"], "The session, the caller or the stream has as many watches as it may have. End one, or watch through one that is there.";
    TradeKeepsNoPit = "TRADE_KEEPS_NO_PIT", FailedPrecondition, ["pits", "seat"], "Goré: whoever offers pits must keep at least one.";
    TradeNotAffordable = "TRADE_NOT_AFFORDABLE", FailedPrecondition, ["price", "bank", "payer"], "Goré: the seat that would pay has too few captured seeds, six a pit.";
    TradeSize = "TRADE_SIZE", FailedPrecondition, ["pits", "most"], "Goré: an offer names one to three pits.";
    VersionAhead = "VERSION_AHEAD", OutOfRange, ["asked_version", "current_version"], "The session has not come to this version yet.";
    WrongPhase = "WRONG_PHASE", FailedPrecondition, ["due", "given"], "Another kind of move is due now.";
}

/// The name of a status code in the protocol.
#[must_use]
pub const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

impl From<&IllegalMove> for Reason {
    fn from(illegal: &IllegalMove) -> Reason {
        match illegal {
            IllegalMove::GameOver { .. } => Reason::GameOver,
            IllegalMove::WrongPhase { .. } => Reason::WrongPhase,
            IllegalMove::NotInThisGame { .. } => Reason::NotInThisGame,
            IllegalMove::PitOffBoard { .. } => Reason::PitOffBoard,
            IllegalMove::PitNotYours { .. } => Reason::PitNotYours,
            IllegalMove::PitEmpty { .. } => Reason::PitEmpty,
            IllegalMove::PitClosed { .. } => Reason::PitClosed,
            IllegalMove::SeedsNotChosen { .. } => Reason::SeedsNotChosen,
            IllegalMove::SeedsOutOfRange { .. } => Reason::SeedsOutOfRange,
            IllegalMove::FirstLapEndsInOwnOccupiedPit { .. } => Reason::FirstLapEndsInOwnOccupiedPit,
            IllegalMove::MustFeed { .. } => Reason::MustFeed,
            IllegalMove::MustPass { .. } => Reason::MustPass,
            IllegalMove::CannotPass { .. } => Reason::CannotPass,
            IllegalMove::TradeSize { .. } => Reason::TradeSize,
            IllegalMove::TradeNotAffordable { .. } => Reason::TradeNotAffordable,
            IllegalMove::TradeKeepsNoPit { .. } => Reason::TradeKeepsNoPit,
            IllegalMove::RedistributionSize { .. } => Reason::RedistributionSize,
            IllegalMove::RedistributionUnbalanced { .. } => Reason::RedistributionUnbalanced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn the_table_is_in_order_and_speaks_to_people() {
        let names: Vec<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert!(names.is_sorted());
        for reason in Reason::ALL {
            assert!(reason.name().chars().all(|c| c.is_ascii_uppercase() || c == '_'), "{reason:?}");
            assert!(reason.description().ends_with('.'), "{reason:?}");
            assert_eq!(Reason::named(reason.name()), Some(*reason));
        }
    }
}
