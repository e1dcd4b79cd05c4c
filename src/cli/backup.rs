//! `mancala backup`: a copy of a store's file while a server may run on it.

use super::Failure;
use super::progress::Progress;
use super::store_args::StoreArgs;
use crate::store::Location;
use crate::store::sqlite::back_up;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// The file to make
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    overwrite: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let path = match args.store.load()?.0 {
        Location::Sqlite(path) => path,
        Location::Postgres(_) => {
            return Err(Failure::usage(
                "a database on Postgres is backed up by Postgres: use pg_basebackup; what pg_dump writes fits the same server only, and \
                 restored on another one it must be moved on by `mancala copy` into a new database",
            ));
        }
    };
    let from = Instant::now();
    let mut progress = None;
    let size = back_up(&path, &args.to, args.overwrite, |done, total| {
        progress.get_or_insert_with(|| Progress::new("copying", total, "pages")).show(done);
    });
    drop(progress);
    let size = size.map_err(Failure::run)?;
    println!("ok: {} copied to {}, {size} bytes, checked", path.display(), args.to.display());
    let seconds = from.elapsed().as_secs_f64();
    eprintln!("{seconds:.3} s, {:.1} MB/s", size as f64 / 1e6 / seconds.max(f64::EPSILON));
    Ok(())
}
