//! Options: what can be chosen about a game, as data.

/// Something about a game that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// Such as `leftovers`.
    pub name: &'static str,
    /// What it decides.
    pub description: &'static str,
    /// All values; the first is the default.
    pub values: &'static [&'static str],
}

/// An option that can't be set so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionFault {
    /// The game has no such option.
    #[error("{game} has no option of this name; it has {}", list(.known))]
    UnknownOption {
        /// The game's identifier.
        game: &'static str,
        /// Its options.
        known: Vec<&'static str>,
    },
    /// The option has no such value.
    #[error("option {name} has no such value; choose {}", list(.values))]
    UnknownValue {
        /// The option.
        name: &'static str,
        /// Its values.
        values: &'static [&'static str],
    },
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// An enum whose values are the texts of an option, in the order of its [`OptionSpec::values`]; the first is the default.
macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident {
            $(#[$first_doc:meta])* $first:ident = $first_text:literal,
            $($(#[$value_doc:meta])* $value:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$value_doc])* $value),+
        }

        impl $name {
            pub(super) const ALL: &'static [$name] = &[$name::$first, $($name::$value),+];
            pub(super) const VALUES: &'static [&'static str] = &[$first_text, $($text),+];

            pub(super) const fn text(self) -> &'static str {
                Self::VALUES[self as usize]
            }
        }
    };
}
pub(super) use choice;
