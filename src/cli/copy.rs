//! `mancala copy`: a store moved to another place.

use super::Failure;
use super::progress::Progress;
use super::store_args::{Reach, ReachArgs};
use crate::service::{Clock, SystemClock};
use crate::store::Location;
use crate::store::archive::{Archive, Begun, Hold, Intake, Totals};
use crate::store::compare::compare;
use crate::store::transfer::transfer;
use std::fmt;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The store to copy: sqlite:PATH or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "LOCATION")]
    from: Location,
    /// Where to copy it to: sqlite:PATH or postgres://USER@HOST/DATABASE; empty, or half copied from there
    #[arg(long, value_name = "LOCATION")]
    to: Location,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (from, to) = (exact(&args.from), exact(&args.to));
    if from == to {
        return Err(Failure::usage(format!("{from} is both the source and the target")));
    }
    let reach = args.reach.load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::run)?;
    runtime.block_on(async {
        let source = reach.archive(&from, Hold::Alone).await?;
        if args.dry_run { plan(&*source, &reach, &from, &to).await } else { copy(&*source, &reach, &from, &to).await }
    })
}

/// The place under the one name that it goes by in the mark of a copy.
fn exact(location: &Location) -> Location {
    match location {
        Location::Sqlite(path) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
            let in_folder = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
            Location::Sqlite(path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.clone()))
        }
        Location::Postgres(_) => location.clone(),
    }
}

async fn plan(source: &dyn Archive, reach: &Reach, from: &Location, to: &Location) -> Result<(), Failure> {
    let totals = Shown(source.totals().await.map_err(Failure::run)?);
    match reach.standing(to, &from.to_string()).await? {
        Begun::New => println!("would copy {from} to {to}, which is empty: {totals}"),
        Begun::Resumed => println!("would go on copying {from} to {to}, which is half copied: {totals}"),
        Begun::Whole => println!("{to} is a copy of {from} already: would compare {totals}"),
        refused => return Err(refuse(&refused, to)),
    }
    Ok(())
}

async fn copy(source: &dyn Archive, reach: &Reach, from: &Location, to: &Location) -> Result<(), Failure> {
    let begun_at = Instant::now();
    let target = reach.intake(to).await?;
    let copied = copy_into(source, &*target, from, to).await;
    target.close().await;
    let totals = copied?;
    println!("ok: {from} copied to {to} and compared: {}", Shown(totals));
    let seconds = begun_at.elapsed().as_secs_f64();
    let rate = |count: u64| (count as f64 / seconds.max(f64::EPSILON)).round();
    eprintln!("{seconds:.3} s, {} sessions/s, {} events/s", rate(totals.sessions), rate(totals.events));
    Ok(())
}

async fn copy_into(source: &dyn Archive, target: &dyn Intake, from: &Location, to: &Location) -> Result<Totals, Failure> {
    let before = (source.totals().await.map_err(Failure::run)?, source.latest().await.map_err(Failure::run)?);
    let totals = before.0;
    match target.begin(&from.to_string(), SystemClock::default().now()).await.map_err(Failure::run)? {
        Begun::New => move_all(source, target, totals).await?,
        Begun::Resumed => {
            eprintln!("{to} is half copied: going on");
            move_all(source, target, totals).await?;
        }
        Begun::Whole => eprintln!("{to} was copied before: comparing"),
        refused => return Err(refuse(&refused, to)),
    }
    let progress = Progress::new("comparing", totals.events, "events");
    let different = |what: &dyn fmt::Display| {
        Failure::run(format!(
            "{to} is no copy of {from}: {what}. Keep servers off both; if {to} is not to be kept, make it empty and copy again"
        ))
    };
    let difference = compare(source, target.archive(), &mut |done| progress.show(done)).await.map_err(Failure::run)?;
    if let Some(difference) = difference {
        return Err(different(&difference));
    }
    let copied = target.archive().totals().await.map_err(Failure::run)?;
    if copied != totals {
        return Err(different(&format!("it has {}, the source {}", Shown(copied), Shown(totals))));
    }
    let after = (source.totals().await.map_err(Failure::run)?, source.latest().await.map_err(Failure::run)?);
    if after != before {
        return Err(different(&"the source has changed meanwhile"));
    }
    target.finish().await.map_err(Failure::run)?;
    Ok(totals)
}

async fn move_all(source: &dyn Archive, target: &dyn Intake, totals: Totals) -> Result<(), Failure> {
    let progress = Progress::new("copying", totals.events, "events");
    transfer(source, target, &mut |done| progress.show(done)).await.map_err(Failure::run)?;
    Ok(())
}

fn refuse(begun: &Begun, to: &Location) -> Failure {
    Failure::run(match begun {
        Begun::OtherSource(other) => format!("{to} is a copy of {other}, or a part of one: choose another target"),
        Begun::InUse | Begun::New | Begun::Resumed | Begun::Whole => {
            format!("{to} holds sessions that no copy has put there: choose an empty target")
        }
    })
}

/// Totals in words.
struct Shown(Totals);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { sessions, events, tombstones, makings } = self.0;
        write!(f, "{sessions} sessions, {events} events, {tombstones} deleted sessions, {makings} requests")
    }
}
