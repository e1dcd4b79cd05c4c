//! Which store a command works on, and how it is reached.

use super::Failure;
use crate::config::{Config, Sources, StoreConfig};
use crate::store::Location;
use crate::store::archive::{Archive, Begun, Hold, Intake};
use crate::store::postgres::{self, PostgresArchive, PostgresIntake};
use crate::store::sqlite::{SqliteArchive, SqliteIntake};
use std::fmt;
use std::path::PathBuf;

/// A flag that says which store is meant.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    /// The store: a file, sqlite:PATH or postgres://USER@HOST/DATABASE [default: the one that `serve` would use]
    #[arg(long, value_name = "LOCATION")]
    store: Option<Location>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// A flag that says how databases are reached.
#[derive(Debug, clap::Args)]
pub struct ReachArgs {
    /// Configuration file (TOML), for the store's place and how a database is reached [environment: MANCALA_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How stores are reached.
pub struct Reach(StoreConfig);

impl StoreArgs {
    /// Where the store is, and how it is reached.
    pub fn load(self) -> Result<(Location, Reach), Failure> {
        let reach = self.reach.load()?;
        Ok((self.store.unwrap_or_else(|| reach.0.location()), reach))
    }
}

impl ReachArgs {
    /// As the configuration says.
    pub fn load(&self) -> Result<Reach, Failure> {
        let sources = Sources { file: self.config.clone(), ..Sources::of_process() };
        Ok(Reach(Config::load(&sources).map_err(Failure::usage)?.store))
    }
}

impl Reach {
    /// Of the database at a URL. The password of the configuration is for the database of the configuration.
    fn options(&self, url: &str) -> Result<postgres::Options, Failure> {
        let config =
            if self.0.url == url { self.0.clone() } else { StoreConfig { password_file: PathBuf::new(), ..self.0.clone() } };
        let options = config.options().map_err(Failure::run)?;
        Ok(postgres::Options { url: url.to_owned(), ..options })
    }

    /// Opens a store to be read.
    pub async fn archive(&self, location: &Location, hold: Hold) -> Result<Box<dyn Archive>, Failure> {
        Ok(match location {
            Location::Sqlite(path) => Box::new(SqliteArchive::open(path, hold).map_err(Failure::run)?),
            Location::Postgres(url) => {
                let archive = PostgresArchive::connect(self.options(url)?, hold).await;
                Box::new(archive.map_err(|error| at(location, &error))?)
            }
        })
    }

    /// Opens a store to copy another one into.
    pub async fn intake(&self, location: &Location) -> Result<Box<dyn Intake>, Failure> {
        Ok(match location {
            Location::Sqlite(path) => Box::new(SqliteIntake::open(path).map_err(Failure::run)?),
            Location::Postgres(url) => {
                let intake = PostgresIntake::connect(self.options(url)?).await;
                Box::new(intake.map_err(|error| at(location, &error))?)
            }
        })
    }

    /// How a store stands that is to be copied into from there. Nothing is changed or made.
    pub async fn standing(&self, location: &Location, from: &str) -> Result<Begun, Failure> {
        match location {
            Location::Sqlite(path) => SqliteIntake::standing(path, from).map_err(Failure::run),
            Location::Postgres(url) => {
                let standing = PostgresIntake::standing(self.options(url)?, from).await;
                standing.map_err(|error| at(location, &error))
            }
        }
    }
}

/// A problem with a store that its text does not name.
fn at(location: &Location, problem: &dyn fmt::Display) -> Failure {
    Failure::run(format!("{location}: {problem}"))
}
