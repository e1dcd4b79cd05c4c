//! Which game, by which options, from which position: what the commands that play by themselves have in common.

use crate::game::{Game, OptionFault, Position, Rules, SetUp, SetUpFault, TextError};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fmt;
use thiserror::Error;

/// A game with its options, and where it begins.
#[derive(Debug, clap::Args)]
pub struct GameArgs {
    /// The game
    #[arg(value_parser = game_parser())]
    game: Game,
    /// An option of the game; can be given several times
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Begin at this position, as text, and not at the start of the game
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
}

/// What can't be played. All faults are told at once.
#[derive(Debug, Error)]
pub enum GameArgsError {
    /// Options that the game does not have.
    #[error("{}", lines("--option", .0.iter().map(|(place, fault)| format!("number {}: {fault}", place + 1))))]
    Options(Vec<(usize, OptionFault)>),
    /// Text that is no position.
    #[error("--position: {0}")]
    Text(#[from] TextError),
    /// A position that can't be played.
    #[error("{}", lines("--position", .0))]
    SetUp(Vec<SetUpFault>),
}

fn lines(argument: &str, faults: impl IntoIterator<Item = impl fmt::Display>) -> String {
    faults.into_iter().map(|fault| format!("{argument}: {fault}")).collect::<Vec<_>>().join("\n")
}

fn game_parser() -> impl TypedValueParser<Value = Game> {
    PossibleValuesParser::new(Game::ALL.map(Game::id)).map(|id| Game::from_id(&id).expect("the parser takes identifiers only"))
}

fn name_and_value(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl GameArgs {
    /// The rules, and the position to begin at.
    ///
    /// # Errors
    /// All that is wrong with the options, or else with the position.
    pub fn open(&self) -> Result<(Rules, Position), GameArgsError> {
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let rules = Rules::with_options(self.game, options).map_err(GameArgsError::Options)?;
        let position = match &self.position {
            None => rules.start(),
            Some(text) => text.parse::<SetUp>()?.position(&rules).map_err(GameArgsError::SetUp)?,
        };
        Ok((rules, position))
    }
}
