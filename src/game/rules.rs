//! A game with its options: the rules as functions of a position.

use super::ali_guli_mane::AliGuliMane;
use super::ayoayo::Ayoayo;
use super::gore::Gore;
use super::hoyito3::Hoyito3;
use super::kiothi::Kiothi;
use super::observer::Observer;
use super::opening::{self, RedistributionFamily};
use super::variant::{Ply, Variant};
use super::{Dice, EndReason, Game, IllegalMove, Move, MoveList, OptionFault, OptionSpec, Phase, Position, Seat};

/// The rules of one game, its options chosen.
///
/// ```
/// use mancala::game::{Game, Move, Rules};
///
/// let rules = Rules::new(Game::Ayoayo);
/// let start = rules.start();
/// assert_eq!(rules.legal_moves(&start).len(), 6);
/// let (position, ply) = rules.check(&start, "2".parse().unwrap()).unwrap().play(&mut ());
/// assert_eq!(position.to_string(), "ayoayo 6,6,2,7,0,6/1,0,6,6,0,1 7-0 N sow last=S");
/// assert_eq!(ply.captured, 7);
/// assert_eq!(rules.check(&start, Move::sow(7)).unwrap_err().reason(), "PIT_NOT_YOURS");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// [`super::ali_guli_mane`]
    AliGuliMane(AliGuliMane),
    /// [`super::ayoayo`]
    Ayoayo(Ayoayo),
    /// [`super::gore`]
    Gore(Gore),
    /// [`super::hoyito3`]
    Hoyito3(Hoyito3),
    /// [`super::kiothi`]
    Kiothi(Kiothi),
}

/// Evaluates an expression with the variant bound to a name: the one place where games are told apart at run time.
macro_rules! with_variant {
    ($rules:expr, $variant:ident => $body:expr) => {
        match $rules {
            $crate::game::Rules::AliGuliMane($variant) => $body,
            $crate::game::Rules::Ayoayo($variant) => $body,
            $crate::game::Rules::Gore($variant) => $body,
            $crate::game::Rules::Hoyito3($variant) => $body,
            $crate::game::Rules::Kiothi($variant) => $body,
        }
    };
}
pub(super) use with_variant;

impl Rules {
    /// A game with its default options.
    #[must_use]
    pub fn new(game: Game) -> Rules {
        match game {
            Game::AliGuliMane => Rules::AliGuliMane(AliGuliMane::default()),
            Game::Ayoayo => Rules::Ayoayo(Ayoayo::default()),
            Game::Gore => Rules::Gore(Gore),
            Game::Hoyito3 => Rules::Hoyito3(Hoyito3),
            Game::Kiothi => Rules::Kiothi(Kiothi::default()),
        }
    }

    /// A game with these options; those left out have their defaults.
    ///
    /// # Errors
    /// One fault for each option that the game does not know or that has no such value, with the option's place in the input.
    pub fn with_options<'a>(
        game: Game,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Rules, Vec<(usize, OptionFault)>> {
        let mut rules = Rules::new(game);
        let faults: Vec<_> = options
            .into_iter()
            .enumerate()
            .filter_map(|(place, (name, value))| rules.set_option(name, value).err().map(|fault| (place, fault)))
            .collect();
        if faults.is_empty() { Ok(rules) } else { Err(faults) }
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionFault> {
        let specs = self.option_specs();
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
            let known = specs.iter().map(|spec| spec.name).collect();
            return Err(OptionFault::UnknownOption { game: self.game().id(), known });
        };
        let Some(value) = spec.values.iter().position(|&known| known == value) else {
            return Err(OptionFault::UnknownValue { name: spec.name, values: spec.values });
        };
        with_variant!(self, variant => variant.set_option(spec.name, value));
        Ok(())
    }

    /// What can be chosen about the game.
    #[must_use]
    pub const fn option_specs(&self) -> &'static [OptionSpec] {
        const fn of<V: Variant>(_: &V) -> &'static [OptionSpec] {
            V::OPTIONS
        }
        with_variant!(self, variant => of(variant))
    }

    /// All options with their values, in the order of [`Rules::option_specs`].
    pub fn options(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let rules = *self;
        self.option_specs().iter().filter_map(move |spec| {
            let value = with_variant!(rules, variant => variant.option(spec.name))?;
            Some((spec.name, value))
        })
    }

    /// The game.
    #[must_use]
    pub const fn game(&self) -> Game {
        const fn of<V: Variant>(_: &V) -> Game {
            V::GAME
        }
        with_variant!(self, variant => of(variant))
    }

    /// The first position, with South to move.
    #[must_use]
    pub fn start(&self) -> Position {
        self.start_with(Seat::South)
    }

    /// The first position of a game that this seat starts.
    #[must_use]
    pub fn start_with(&self, first: Seat) -> Position {
        with_variant!(self, variant => variant.start(first))
    }

    /// Whether a move is legal. Text and messages of other clients come in here; what comes out can be played without fail.
    ///
    /// # Errors
    /// Why it is not legal.
    ///
    /// # Panics
    /// When the position is of another game.
    pub fn check(&self, position: &Position, mv: Move) -> Result<Legal, IllegalMove> {
        self.must_fit(position);
        if let Phase::Over(reason) = position.phase {
            return Err(IllegalMove::GameOver { reason });
        }
        with_variant!(self, variant => {
            variant.check(position, &mv)?;
            Ok(Legal { rules: *self, position: *position, mv: variant.canonical(position, mv) })
        })
    }

    /// All legal moves; none when the game is over, and none in Kiothi's openings, for which see [`Rules::redistributions`].
    ///
    /// # Panics
    /// When the position is of another game.
    #[must_use]
    pub fn legal_moves(&self, position: &Position) -> MoveList {
        let mut moves = MoveList::new();
        self.each_legal_move(position, |mv| moves.push(mv));
        moves
    }

    /// Visits all legal moves, in the order of [`Rules::legal_moves`]: up to three times as fast, since a list has room for all that there can
    /// be and is copied whole.
    ///
    /// # Panics
    /// When the position is of another game.
    #[inline]
    pub fn each_legal_move(&self, position: &Position, mut visit: impl FnMut(Move)) {
        self.must_fit(position);
        if !position.is_over() {
            with_variant!(self, variant => variant.each_move(position, &mut visit));
        }
    }

    /// What can be redistributed, if that is what the position asks for.
    #[must_use]
    pub fn redistributions(&self, position: &Position) -> Option<RedistributionFamily> {
        opening::family(position)
    }

    /// Draws a legal move, each as likely as any other; none when the game is over.
    ///
    /// # Panics
    /// When the position is of another game.
    pub fn sample(&self, position: &Position, dice: &mut impl Dice) -> Option<Move> {
        self.must_fit(position);
        with_variant!(self, variant => variant.draw(position, dice))
    }

    /// Ends the game as a guard does: hands out what is left on the board.
    pub(super) fn finish(&self, position: &mut Position, reason: EndReason, observer: &mut impl Observer) {
        with_variant!(self, variant => variant.finish(position, reason, observer));
    }

    /// Whether no position can come back after a capture.
    pub(super) fn captures_are_final(&self) -> bool {
        fn of<V: Variant>(_: &V) -> bool {
            V::CAPTURES_ARE_FINAL
        }
        with_variant!(self, variant => of(variant))
    }

    fn must_fit(&self, position: &Position) {
        assert_eq!(self.game(), position.game, "rules and position are of the same game");
    }
}

/// A move that was found legal, with the position that it is legal in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Legal {
    rules: Rules,
    position: Position,
    mv: Move,
}

impl Legal {
    /// The move in its canonical form.
    #[must_use]
    pub const fn mv(&self) -> Move {
        self.mv
    }

    /// The position after it, and what it did.
    pub fn play(self, observer: &mut impl Observer) -> (Position, Ply) {
        let mut position = self.position;
        let ply = with_variant!(self.rules, variant => variant.play(&mut position, self.mv, observer));
        (position, ply)
    }
}
