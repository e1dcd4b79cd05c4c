//! The five games and what is always true of each.

use super::{EndReason, Phase, Ring};

/// What the rules of all games share, in Markdown.
pub const COMMON_PAGE: &str = include_str!("pages/common.md");

/// One of the five games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Game {
    /// Karnataka, South India.
    AliGuliMane,
    /// Yoruba, Nigeria.
    Ayoayo,
    /// Guro, Ivory Coast.
    Gore,
    /// Barahona, Dominican Republic.
    Hoyito3,
    /// Meru, Kenya.
    Kiothi,
}

impl Game {
    /// All of them, in the order of their identifiers.
    pub const ALL: [Game; 5] = [Game::AliGuliMane, Game::Ayoayo, Game::Gore, Game::Hoyito3, Game::Kiothi];

    /// Its identifier in text, such as `ali_guli_mane`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Game::AliGuliMane => "ali_guli_mane",
            Game::Ayoayo => "ayoayo",
            Game::Gore => "gore",
            Game::Hoyito3 => "hoyito3",
            Game::Kiothi => "kiothi",
        }
    }

    /// The game with this identifier.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Game> {
        Game::ALL.into_iter().find(|game| game.id() == id)
    }

    /// Its name, such as `Ali Guli Mane`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Game::AliGuliMane => "Ali Guli Mane",
            Game::Ayoayo => "Ayoayo",
            Game::Gore => "Goré",
            Game::Hoyito3 => "Hoyito III",
            Game::Kiothi => "Kiothi",
        }
    }

    /// Where and by whom it is played.
    #[must_use]
    pub const fn origin(self) -> &'static str {
        match self {
            Game::AliGuliMane => "Karnataka, South India",
            Game::Ayoayo => "Yoruba, Nigeria",
            Game::Gore => "Guro (Kweni), Ivory Coast",
            Game::Hoyito3 => "Barahona, Dominican Republic",
            Game::Kiothi => "Meru, Kenya",
        }
    }

    /// Its board.
    #[must_use]
    pub const fn ring(self) -> Ring {
        Ring {
            row: match self {
                Game::Gore => 4,
                Game::Ayoayo | Game::Hoyito3 => 6,
                Game::AliGuliMane => 7,
                Game::Kiothi => 10,
            },
        }
    }

    /// Its rules in Markdown.
    #[must_use]
    pub const fn page(self) -> &'static str {
        match self {
            Game::AliGuliMane => include_str!("pages/ali_guli_mane.md"),
            Game::Ayoayo => include_str!("pages/ayoayo.md"),
            Game::Gore => include_str!("pages/gore.md"),
            Game::Hoyito3 => include_str!("pages/hoyito3.md"),
            Game::Kiothi => include_str!("pages/kiothi.md"),
        }
    }

    /// What its rules rest on.
    #[must_use]
    pub const fn sources(self) -> &'static [&'static str] {
        match self {
            Game::Gore => &["Mancala World: Goré", "awale.info (Climent): Goré"],
            Game::Ayoayo => &["Mancala World: Ayoayo", "Wikipedia: Ayoayo", "Pratt: Ayoayo"],
            Game::Kiothi => &["Mancala World: Kiothi", "Wikipedia: Kiothi"],
            Game::AliGuliMane => &["Mancala World: Ali Guli Mane"],
            Game::Hoyito3 => &["Mancala World: Hoyito"],
        }
    }

    /// Whether this phase occurs in the game.
    #[must_use]
    pub const fn has_phase(self, phase: Phase) -> bool {
        match phase {
            Phase::Sow => true,
            Phase::Open1 | Phase::Open2 => matches!(self, Game::Kiothi),
            Phase::Bonus => matches!(self, Game::AliGuliMane),
            Phase::Answer(_) => matches!(self, Game::Gore),
            Phase::Over(reason) => self.has_end(reason),
        }
    }

    /// Whether the game can end so.
    #[must_use]
    pub const fn has_end(self, reason: EndReason) -> bool {
        match reason {
            EndReason::AllBelowThree => matches!(self, Game::Gore),
            EndReason::CannotFeed | EndReason::BoardEmpty => matches!(self, Game::Ayoayo),
            EndReason::NoMove => matches!(self, Game::Kiothi),
            EndReason::NoSeeds => matches!(self, Game::AliGuliMane),
            EndReason::FinalFour => matches!(self, Game::Hoyito3),
            EndReason::Repetition | EndReason::Quiet | EndReason::MaxPlies => true,
        }
    }
}
