//! What is wrong with a configuration.

use std::fmt;

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The setting, such as "server.listen"; none if a whole source can't be read.
    pub key: Option<String>,
    /// Where its value came from: a file, an environment variable or a flag; none if it is the default.
    pub origin: Option<String>,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "{key}")?;
            if let Some(origin) = &self.origin {
                write!(f, " ({origin})")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", self.problem)
    }
}

/// Everything that is wrong with a configuration; at least one fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors(pub Vec<Fault>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration has {}:", if self.0.len() == 1 { "a fault" } else { "faults" })?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}
