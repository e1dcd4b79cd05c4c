//! How far a long command has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// A bar on standard error, if that is a terminal, once the work has taken a second.
pub struct Progress {
    bar: ProgressBar,
    from: Instant,
}

impl Progress {
    /// Of work that consists of so many of these: "games", "events".
    pub fn new(doing: &'static str, total: u64, unit: &str) -> Progress {
        let target = if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let template = format!("{{prefix}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style).with_prefix(doing);
        Progress { bar, from: Instant::now() }
    }

    /// So many are done.
    pub fn show(&self, done: u64) {
        if self.from.elapsed() > Duration::from_secs(1) {
            self.bar.set_position(done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
