//! Which store a command works on.

use super::Failure;
use crate::config::{Config, Sources};
use crate::store::Location;
use crate::store::archive::{Archive, Begun, Hold, Intake};
use crate::store::postgres::{self, PostgresArchive, PostgresIntake};
use crate::store::sqlite::{SqliteArchive, SqliteIntake};
use std::path::PathBuf;

/// Flags that say which store is meant.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    /// The store: a file, sqlite:PATH or postgres://USER@HOST/DATABASE [default: the one that `serve` would use]
    #[arg(long, value_name = "LOCATION")]
    store: Option<Location>,
    /// Configuration file (TOML) to read the store's place from [environment: MANCALA_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl StoreArgs {
    /// Where it is.
    pub fn location(self) -> Result<Location, Failure> {
        match self.store {
            Some(location) => Ok(location),
            None => {
                let config = Config::load(&Sources { file: self.config, ..Sources::of_process() }).map_err(Failure::usage)?;
                Ok(Location::Sqlite(config.store.path))
            }
        }
    }
}

/// Opens a store to be read.
pub async fn open_archive(location: &Location, hold: Hold) -> Result<Box<dyn Archive>, Failure> {
    match location {
        Location::Sqlite(path) => Ok(Box::new(SqliteArchive::open(path, hold).map_err(Failure::run)?)),
        Location::Postgres(url) => {
            let archive = PostgresArchive::connect(postgres::Options::new(url), hold).await;
            Ok(Box::new(archive.map_err(|error| unusable(location, &error))?))
        }
    }
}

/// Opens a store to copy another one into.
pub async fn open_intake(location: &Location) -> Result<Box<dyn Intake>, Failure> {
    match location {
        Location::Sqlite(path) => Ok(Box::new(SqliteIntake::open(path).map_err(Failure::run)?)),
        Location::Postgres(url) => {
            let intake = PostgresIntake::connect(postgres::Options::new(url)).await;
            Ok(Box::new(intake.map_err(|error| unusable(location, &error))?))
        }
    }
}

/// How a store stands that is to be copied into from there. Nothing is changed or made.
pub async fn standing(location: &Location, from: &str) -> Result<Begun, Failure> {
    match location {
        Location::Sqlite(path) => SqliteIntake::standing(path, from).map_err(Failure::run),
        Location::Postgres(url) => {
            PostgresIntake::standing(postgres::Options::new(url), from).await.map_err(|error| unusable(location, &error))
        }
    }
}

fn unusable(location: &Location, error: &postgres::OpenError) -> Failure {
    Failure::run(format!("{location}: {error}"))
}
