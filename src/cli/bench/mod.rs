//! `mancala bench`: loads a running server and measures it.

mod load;
mod mix;
mod operator;
mod pace;
mod plan;
mod player;
mod report;
mod stream;
mod tally;

pub use plan::Args;

use crate::cli::Failure;
use indicatif::ProgressBar;
use load::Load;
use plan::Plan;
use report::{Report, Run};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line on the terminal is brought up to date.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Loads the server and prints what was measured. It is a failure if any call failed: the games are legal.
pub fn run(args: Args) -> Result<(), Failure> {
    let json = args.json;
    let plan = args.plan()?;
    // One thread: it makes more calls than a server on the same machine can answer, and costs that server the least.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    let report = runtime.block_on(measure(&plan))?;
    let text = if json { report.to_json() } else { report.to_string() };
    writeln!(io::stdout(), "{text}").map_err(Failure::run)?;
    match report.failed() {
        0 => Ok(()),
        failed => Err(Failure::run(format!("{failed} of {} calls failed", report.calls()))),
    }
}

/// Makes the sessions, then the calls until time is up or Ctrl-C.
async fn measure(plan: &Plan) -> Result<Report, Failure> {
    let mut load = Load::connect(plan).await?;
    load.make_sessions().await?;
    let progress = if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };

    let start = Instant::now();
    let running = load.start();
    let end = tokio::time::sleep(plan.duration);
    tokio::pin!(end);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    let interrupted = loop {
        tokio::select! {
            () = &mut end => break false,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(Failure::run)?;
                break true;
            }
            _ = ticks.tick() => {
                let (calls, failed) = running.so_far();
                progress.set_message(format!("{:.0} s of {:.0} s: {calls} calls, {failed} failed", start.elapsed().as_secs_f64(), plan.duration.as_secs_f64()));
                progress.tick();
            }
        }
    };
    let unstarted = running.stop();
    let tally = running.finish().await?;
    progress.finish_and_clear();
    Ok(Report::new(Run { plan, elapsed: start.elapsed(), interrupted, unstarted }, &tally))
}
