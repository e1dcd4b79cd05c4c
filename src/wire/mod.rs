//! gRPC: the contract of `proto/`, handlers and conversions. The only layer that names generated types.
//!
//! A handler reads a request field by field and names all faults at once ([`fields`]), calls the service, and turns what comes
//! back outwards ([`convert`]). What can go wrong is one table ([`reason`]).

mod agreements;
mod batch;
mod complete;
mod convert;
mod fields;
mod limits;
mod page_token;
pub mod proto;
pub mod reason;
mod records;
pub mod refuse;
mod rules_service;
mod session_answer;
mod session_request;
mod session_service;

pub use complete::complete;
pub use rules_service::RulesHandlers;
pub use session_service::SessionHandlers;

use crate::session::record::MAX_RECORD;
use limits::ByMethod;
use proto::rules_service_server::RulesServiceServer;
use proto::session_service_server::SessionServiceServer;

/// The largest request of a call on one session, in bytes.
const MAX_REQUEST: usize = 64 << 10;
/// The largest request of a batch, in bytes.
const MAX_BATCH_REQUEST: usize = 1 << 20;
/// The largest request that bears a record, in bytes: the record and what else there is.
const MAX_RECORD_REQUEST: usize = MAX_RECORD + (4 << 10);
/// The largest answer, in bytes: what gRPC clients read unless told otherwise.
const MAX_REPLY: usize = 4 << 20;

/// RulesService, with its limits.
#[must_use]
pub fn rules_service(handlers: RulesHandlers) -> ByMethod<RulesServiceServer<RulesHandlers>> {
    let service = RulesServiceServer::new(handlers).max_encoding_message_size(MAX_REPLY);
    ByMethod {
        usual: service.clone().max_decoding_message_size(MAX_BATCH_REQUEST),
        large: service.max_decoding_message_size(MAX_RECORD_REQUEST),
        large_methods: &["VerifyRecord"],
    }
}

/// SessionService, with its limits.
#[must_use]
pub fn session_service(handlers: SessionHandlers) -> ByMethod<SessionServiceServer<SessionHandlers>> {
    let service = SessionServiceServer::new(handlers).max_encoding_message_size(MAX_REPLY);
    ByMethod {
        usual: service.clone().max_decoding_message_size(MAX_REQUEST),
        large: service.max_decoding_message_size(MAX_RECORD_REQUEST),
        large_methods: &["ImportRecord"],
    }
}
