//! Who else may watch a session, and how late.

use super::Session;
use serde::{Deserialize, Serialize};

/// Who may read a session without being of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpectatorPolicy {
    /// Nobody.
    #[default]
    None,
    /// Whoever knows its id.
    Unlisted,
    /// Everybody, and everybody finds it in lists.
    Public,
}

/// The most plies that spectators can be kept behind.
pub const MAX_DELAY_PLIES: u32 = 1_000;

/// Who may watch a session, and how late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spectators {
    /// Who.
    pub policy: SpectatorPolicy,
    /// So many plies behind the players, until the session has ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_plies: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Spectators {
    pub(super) fn is_default(&self) -> bool {
        *self == Spectators::default()
    }
}

impl Session {
    /// The latest version that spectators may see: all of it without a delay or when the session has ended, else what was there
    /// before the last plies.
    #[must_use]
    pub fn spectator_version(&self) -> u32 {
        let delay = self.spectators().delay_plies as usize;
        let plies = self.ply_versions();
        if delay == 0 || self.result().is_some() || plies.is_empty() {
            return self.version();
        }
        plies[plies.len().saturating_sub(delay)] - 1
    }
}
