//! Who may do what: every method by every kind of caller, and the life of seats and tokens, over real sockets.

mod matrix;
mod running;
mod seats;
mod secrets;
mod spectators;
