//! Flags that set the configuration.

use crate::cli::Failure;
use crate::config::{Config, LogFormat, Sources};
use crate::store::Location;
use std::path::PathBuf;

/// Flags that set the configuration; they go over the environment, which goes over the file.
#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    /// Configuration file (TOML) [environment: MANCALA_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:50051]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where sessions are kept: the path of a data file, sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE (others can read
    /// flags: a password is safer in store.password_file) [default: mancala/mancala.db in the user's data folder]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Log levels, such as "info" or "warn,mancala=debug" [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Log lines for people or for programs [default: human]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

impl ConfigArgs {
    /// The configuration of this process.
    pub fn load(self) -> Result<Config, Failure> {
        let format = self.log_format.map(|format| format.name().to_owned());
        // Whichever is given goes over the other, too. What is neither is no URL, and is told to be none.
        let (path, url) = match self.store {
            None => (None, None),
            Some(text) => match Location::parse(&text) {
                Some(Location::Sqlite(path)) => (Some(path.to_string_lossy().into_owned()), Some(String::new())),
                Some(Location::Postgres(_)) | None => (None, Some(text)),
            },
        };
        let sources = Sources { file: self.config, ..Sources::of_process() }
            .flag("server.listen", "--listen", self.listen)
            .flag("store.path", "--store", path)
            .flag("store.url", "--store", url)
            .flag("log.filter", "--log", self.log)
            .flag("log.format", "--log-format", format);
        Config::load(&sources).map_err(Failure::usage)
    }
}
