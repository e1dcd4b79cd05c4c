//! A timer for a deadline that moves more often than it comes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::{Instant, Sleep};

/// See the module. Costs nothing until it is first waited for.
#[derive(Default)]
pub struct Overdue(Option<Pin<Box<Sleep>>>);

impl Overdue {
    /// Completes when `deadline` has passed.
    pub fn poll(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        loop {
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(context));
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            // It was set for a deadline that has moved.
            timer.as_mut().reset(deadline);
        }
    }
}
