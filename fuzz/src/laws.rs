//! The laws of positions and moves that the tests of properties have too.

#[path = "../../tests/support/game_laws.rs"]
mod game_laws;

pub use game_laws::{assert_listed_is_checked, assert_move_laws, assert_text_is_lossless, total};

use mancala::game::{Game, Rules};

/// The rules of a game with every choice of its options.
pub fn all_rules(game: Game) -> Vec<Rules> {
    let mut chosen = vec![Vec::new()];
    for spec in Rules::new(game).option_specs() {
        let with_each = |options: Vec<_>| {
            spec.values.iter().map(move |&value| {
                let mut options = options.clone();
                options.push((spec.name, value));
                options
            })
        };
        chosen = chosen.into_iter().flat_map(with_each).collect();
    }
    chosen.into_iter().map(|options| Rules::with_options(game, options).expect("listed options")).collect()
}
