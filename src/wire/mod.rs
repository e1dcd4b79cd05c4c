//! gRPC: the contract of `proto/`, handlers and conversions. The only layer that names generated types.

pub mod proto;
