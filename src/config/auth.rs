//! Who may do what.

use crate::config::text::{elements, list};
use crate::service::is_operator_name;
use crate::session::SecretHash;
use config::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Who may do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// How callers are known.
    pub mode: AuthMode,
    /// Who may do everything in token mode.
    pub operators: Vec<Operator>,
    /// DNS names; a client with a certificate for one of them may do everything in token mode.
    pub certificates: Vec<String>,
}

/// How callers are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    /// They are not: whoever reaches the port may do anything.
    Open,
    /// By tokens.
    Token,
}

/// An operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// 1 to 32 lower-case letters, digits and hyphens; the key bears it too.
    pub name: String,
    /// Of the key, as `mancala key NAME` prints it.
    pub key: SecretHash,
}

impl AuthMode {
    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Token => "token",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Open, Self::Token].into_iter().find(|mode| mode.name() == text)
    }
}

impl AuthConfig {
    /// The hashes of the operators' keys by their names.
    pub fn keys(&self) -> BTreeMap<String, SecretHash> {
        self.operators.iter().map(|operator| (operator.name.clone(), operator.key)).collect()
    }
}

/// As an element of `operators`.
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ name = \"{}\", key_sha256 = \"{}\" }}", self.name, self.key)
    }
}

impl fmt::Display for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mode = \"{}\"", self.mode.name())?;
        let operators: Vec<_> = self.operators.iter().map(Operator::to_string).collect();
        writeln!(f, "operators = [{}]", operators.join(", "))?;
        writeln!(f, "certificates = {}", list(&self.certificates))
    }
}

/// What operators must be. A fault never repeats what was given: it may be a key.
const OPERATORS: &str = "expected a list such as [{ name = \"ops\", key_sha256 = \"...\" }]; `mancala key NAME` makes an element";

/// Reads `operators`: a list, or text that is one in TOML, as the environment gives it. Adds what is wrong to `faults`.
pub fn operators(value: Value, faults: &mut Vec<String>) -> Vec<Operator> {
    let Some(list) = elements(value) else {
        faults.push(OPERATORS.to_owned());
        return Vec::new();
    };
    let read: Vec<_> = list.into_iter().zip(1..).filter_map(|(value, place)| operator(value, place, faults)).collect();
    let mut names = BTreeSet::new();
    if read.iter().any(|operator| !names.insert(&operator.name)) {
        faults.push("two operators have the same name".to_owned());
    }
    read
}

fn operator(value: Value, place: usize, faults: &mut Vec<String>) -> Option<Operator> {
    let fault = format!("number {place} is not one: {OPERATORS}");
    let read = || {
        let mut table = value.into_table().ok()?;
        let name = table.remove("name")?.into_string().ok().filter(|name| is_operator_name(name))?;
        let key = SecretHash::from_hex(&table.remove("key_sha256")?.into_string().ok()?)?;
        table.is_empty().then_some(Operator { name, key })
    };
    let read = read();
    if read.is_none() {
        faults.push(fault);
    }
    read
}
