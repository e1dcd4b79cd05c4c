//! Where a configuration comes from.

use etcetera::BaseStrategy;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where a configuration comes from. A value of its own, so that a test need not change its process.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A TOML file. If none is given, `MANCALA_CONFIG` in the environment may name one.
    pub file: Option<PathBuf>,
    /// Environment variables, such as `MANCALA_SERVER__LISTEN`. Those that are not of the project, or empty, are passed over.
    pub environment: Vec<(OsString, OsString)>,
    /// Settings given as flags: key, name of the flag, value.
    pub flags: Vec<(&'static str, &'static str, String)>,
    /// The user's folder for data of programs, if there is one. The default data file is in it.
    pub data_folder: Option<PathBuf>,
}

impl Sources {
    /// The environment and the data folder of this process; no file or flags.
    pub fn of_process() -> Self {
        Self {
            environment: std::env::vars_os().collect(),
            data_folder: etcetera::choose_base_strategy().ok().map(|user| user.data_dir()),
            ..Self::default()
        }
    }

    /// Adds a flag, if it was given.
    pub fn flag(mut self, key: &'static str, name: &'static str, value: Option<String>) -> Self {
        self.flags.extend(value.map(|value| (key, name, value)));
        self
    }
}
