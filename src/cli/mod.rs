//! The command line.

mod backup;
mod bench;
mod check_config;
mod config_args;
mod copy;
mod game_args;
mod healthcheck;
mod key;
mod measures;
mod open_store;
mod peer;
mod perft;
mod progress;
mod serve;
mod simulate;
mod store_args;
mod tally;
mod verify;
mod verify_record;

use clap::{Parser, Subcommand};
use std::fmt;
use std::process::ExitCode;

/// Five traditional mancala games as a gRPC service.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the games over gRPC until SIGTERM or Ctrl-C
    Serve(serve::Args),
    /// Print the configuration that `serve` would use, as TOML, or everything that is wrong with it
    CheckConfig(check_config::Args),
    /// Ask a server whether it is serving: exit code 0 if it is, 1 if not
    Healthcheck(healthcheck::Args),
    /// Count the move sequences of a game, by which implementations of rules are compared
    Perft(perft::Args),
    /// Play random games in bulk and say what came of them
    Simulate(simulate::Args),
    /// Check a record of a session: exit code 0 if it is right, 1 if not, and then where it first differs
    VerifyRecord(verify_record::Args),
    /// Check everything that a store holds, also while a server runs on it: exit code 0 if it is right, 1 if not
    Verify(verify::Args),
    /// Copy the file of a store to another file, also while a server runs on it
    Backup(backup::Args),
    /// Copy a store to another place, of the same kind or another, while no server runs on either
    Copy(copy::Args),
    /// Load a running server with calls and measure how many it answers and how fast
    Bench(bench::Args),
    /// Make a key for an operator, and print it and what to put in the configuration of a server in token mode
    Key(key::Args),
}

/// Why a command failed; its text is for the person who gave it.
#[derive(Debug)]
enum Failure {
    /// It was given or configured wrongly.
    Usage(String),
    /// It could not be done.
    Run(String),
}

impl Failure {
    fn usage(problem: impl fmt::Display) -> Self {
        Self::Usage(problem.to_string())
    }

    fn run(problem: impl fmt::Display) -> Self {
        Self::Run(problem.to_string())
    }
}

/// Runs the command that the process was started with. Exit code: 0 done, 1 it could not be done, 2 wrong usage or
/// configuration.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::CheckConfig(args) => check_config::run(args),
        Command::Healthcheck(args) => healthcheck::run(args),
        Command::Perft(args) => perft::run(&args).map_err(Failure::usage),
        Command::Simulate(args) => simulate::run(&args).map_err(Failure::usage),
        Command::VerifyRecord(args) => verify_record::run(&args),
        Command::Verify(args) => verify::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Copy(args) => copy::run(&args),
        Command::Bench(args) => bench::run(args),
        Command::Key(args) => key::run(args),
    };
    let (code, problem) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Run(problem)) => (1, problem),
        Err(Failure::Usage(problem)) => (2, problem),
    };
    eprintln!("mancala: {problem}");
    ExitCode::from(code)
}
