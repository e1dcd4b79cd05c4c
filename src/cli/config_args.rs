//! Flags that set the configuration.

use crate::cli::Failure;
use crate::config::{Config, LogFormat, Sources};
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
    /// Data file [default: mancala/mancala.db in the user's data folder]
    #[arg(long, value_name = "PATH")]
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
        let sources = Sources { file: self.config, ..Sources::of_process() }
            .flag("server.listen", "--listen", self.listen)
            .flag("store.path", "--store", self.store)
            .flag("log.filter", "--log", self.log)
            .flag("log.format", "--log-format", format);
        Config::load(&sources).map_err(Failure::usage)
    }
}
