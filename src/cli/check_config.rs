//! `mancala check-config`.

use crate::cli::Failure;
use crate::cli::config_args::ConfigArgs;
use std::io::{self, Write};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let config = args.config.load()?;
    // As `serve` fails by them: they may be there the next time.
    config.check_files().map_err(Failure::run)?;
    write!(io::stdout(), "{config}").map_err(Failure::run)
}
