//! `mancala verify-record`: checks a record without a server.

use super::Failure;
use crate::session::record::{self, Checked, MAX_RECORD};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The record, as text or as JSON
    file: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let problem = |problem: &dyn std::fmt::Display| Failure::usage(format!("{}: {problem}", args.file.display()));
    let mut document = String::new();
    // A byte more than is taken, so that what is too long is refused and not cut.
    let file = File::open(&args.file).map_err(|error| problem(&error))?;
    file.take(MAX_RECORD as u64 + 1).read_to_string(&mut document).map_err(|error| problem(&error))?;
    let checked = record::check(&document, None, || false);
    let Checked { record, session, hashes: _ } =
        checked.map_err(|wrong| Failure::run(format!("{}: {wrong}", args.file.display())))?;
    let hashed = if record.head_hash.is_some() { "" } else { ", without hashes" };
    println!("ok: session {}, {} events{hashed}, hash {}", session.id(), session.version(), session.head_hash());
    Ok(())
}
