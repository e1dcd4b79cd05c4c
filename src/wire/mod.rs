//! gRPC: the contract of `proto/`, handlers and conversions. The only layer that names generated types.
//!
//! A handler reads a request field by field and names all faults at once (`fields`), calls the service, and turns what comes
//! back outwards (`convert`). What can go wrong is one table ([`reason`]).

pub mod access;
mod agreements;
mod batch;
mod by_size;
mod codec;
mod complete;
mod convert;
pub mod deadline;
mod fields;
mod filter;
mod moves;
mod page_token;
pub mod proto;
pub mod reason;
mod records;
pub mod refuse;
mod rules_service;
mod seats;
mod session_answer;
mod session_batch;
mod session_list;
mod session_request;
mod session_service;
mod sight;
mod step_items;
mod step_results;
mod streams;

pub use by_size::BySize;
pub use complete::complete;
pub use rules_service::RulesHandlers;
pub use session_service::SessionHandlers;
pub use streams::{Origin, StreamSettings};

use proto::rules_service_server::RulesServiceServer;
use proto::session_service_server::SessionServiceServer;

/// The largest request of a call on one session, in bytes.
const MAX_REQUEST: usize = 64 << 10;
/// The largest request of a batch, and of a call that bears a record, in bytes.
const MAX_LARGE_REQUEST: usize = 1 << 20;
/// The largest answer, in bytes: what gRPC clients read unless told otherwise.
const MAX_REPLY: usize = 4 << 20;

/// RulesService, with its limits.
#[must_use]
pub fn rules_service(handlers: RulesHandlers) -> RulesServiceServer<RulesHandlers> {
    RulesServiceServer::new(handlers).max_decoding_message_size(MAX_LARGE_REQUEST).max_encoding_message_size(MAX_REPLY)
}

/// SessionService, with its limits.
#[must_use]
pub fn session_service(handlers: SessionHandlers) -> BySize<SessionServiceServer<SessionHandlers>> {
    let service = SessionServiceServer::new(handlers).max_encoding_message_size(MAX_REPLY);
    BySize {
        small: service.clone().max_decoding_message_size(MAX_REQUEST),
        large: service.max_decoding_message_size(MAX_LARGE_REQUEST),
    }
}
