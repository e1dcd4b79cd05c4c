//! Set-ups: any position that can be written down, and the judgement whether it can be played.

use super::gore::{MAX_OFFER, price};
use super::opening::EMPTIED;
use super::rules::with_variant;
use super::setup_fault::SetUpFault;
use super::variant::Variant;
use super::{BySeat, EndReason, Game, MAX_PITS, Phase, PitSet, Pits, Position, Ring, Rules, Seat};

/// A pit as it is written in a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SetUpPit {
    /// Seeds.
    pub seeds: u16,
    /// `^`: the seat of the other row controls it.
    pub crossed: bool,
    /// `*`: it is protected from capture.
    pub marked: bool,
    /// `x`: it is closed.
    pub closed: bool,
}

/// A position as it is written: anything that [the notation](super::text) can say, whether or not it makes sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// The game.
    pub game: Game,
    /// Pits of each row, from the seat's left to its right.
    pub rows: BySeat<Vec<SetUpPit>>,
    /// Captured seeds.
    pub banks: BySeat<u16>,
    /// Who must act.
    pub to_act: Seat,
    /// What must be decided.
    pub phase: Phase,
    /// Ayoayo: who made the last sowing.
    pub last_sower: Option<Seat>,
    /// Hoyito III: who is given the last four seeds.
    pub heir: Option<Seat>,
    /// Goré: who has declined an offer.
    pub refused: BySeat<bool>,
}

impl SetUp {
    /// The position, if it can be played by these rules.
    ///
    /// # Errors
    /// All faults at once.
    pub fn position(&self, rules: &Rules) -> Result<Position, Vec<SetUpFault>> {
        let mut board = Board::new(rules.game().ring());
        for seat in Seat::BOTH {
            self.rows[seat].iter().for_each(|&pit| board.add(seat, pit));
        }
        self.judge(rules, &board)
    }

    /// The same, its rows having been put on a board of the rules' game.
    #[inline]
    pub(super) fn judge(&self, rules: &Rules, board: &Board) -> Result<Position, Vec<SetUpFault>> {
        let mut faults = self.shape_faults(rules, board);
        if !faults.is_empty() {
            return Err(faults);
        }
        let position = self.assemble(board);
        let own = position.occupied() & position.controlled(self.to_act);
        match self.phase {
            Phase::Open1 | Phase::Open2 => faults.extend(too_few_to_redistribute(&position)),
            Phase::Bonus if own.is_empty() => faults.push(SetUpFault::NothingForBonus { seat: self.to_act }),
            Phase::Answer(pits) => faults.extend(offer_faults(&position, pits)),
            Phase::Over(reason) => {
                faults.extend(not_handed_out(rules, &position, reason));
                if reason == EndReason::NoSeeds && !own.is_empty() {
                    faults.push(SetUpFault::HasSeeds { seat: self.to_act });
                }
            }
            Phase::Sow | Phase::Bonus => {}
        }
        let markable = match self.phase {
            Phase::Open1 | Phase::Open2 => PitSet::EMPTY,
            // The seeds of a marked pit are handed out at the end, and its mark stays.
            Phase::Over(_) => position.ring().all(),
            Phase::Sow | Phase::Bonus | Phase::Answer(_) => position.occupied(),
        };
        faults.extend((position.marked - markable).iter().map(|pit| SetUpFault::MarkOutOfPlace { pit }));
        for seat in Seat::BOTH {
            if position.controlled(seat).is_empty() {
                faults.push(SetUpFault::ControlsNoPit { seat });
            }
        }
        if matches!(self.phase, Phase::Sow | Phase::Answer(_)) {
            let end = with_variant!(rules, variant => variant.end(&position));
            faults.extend(end.map(|reason| SetUpFault::HasEnded { reason }));
        }
        if faults.is_empty() { Ok(position) } else { Err(faults) }
    }

    /// What can be said before there is a position.
    fn shape_faults(&self, rules: &Rules, board: &Board) -> Vec<SetUpFault> {
        let game = self.game;
        let mut faults = Vec::new();
        if game != rules.game() {
            return vec![SetUpFault::OtherGame { found: game, expected: rules.game() }];
        }
        for seat in Seat::BOTH {
            let (found, expected) = (board.lengths[seat], game.ring().row);
            if found != usize::from(expected) {
                faults.push(SetUpFault::RowLength { seat, found, expected });
            }
        }
        let found = board.seeds + u32::from(self.banks[Seat::South]) + u32::from(self.banks[Seat::North]);
        let expected = rules.start().on_board();
        let mut fault_if = |wrong: bool, fault: SetUpFault| {
            if wrong {
                faults.push(fault);
            }
        };
        fault_if(found != expected, SetUpFault::SeedTotal { found, expected });
        fault_if(game != Game::Gore && board.has_crossed, SetUpFault::NoTrades { game });
        fault_if(game != Game::Kiothi && board.has_marked, SetUpFault::NoMarks { game });
        fault_if(game != Game::AliGuliMane && board.has_closed, SetUpFault::NoClosedPits { game });
        fault_if(board.closed_with_seeds > 0, SetUpFault::ClosedPitsHoldSeeds { count: board.closed_with_seeds });
        fault_if(!game.has_phase(self.phase), no_such(game, self.phase));
        fault_if(game != Game::Ayoayo && self.last_sower.is_some(), SetUpFault::NoLastSower { game });
        fault_if(game != Game::Hoyito3 && self.heir.is_some(), SetUpFault::NoHeir { game });
        let refused = Seat::BOTH.iter().any(|&seat| self.refused[seat]);
        fault_if(game != Game::Gore && refused, SetUpFault::NoRefusals { game });
        faults
    }

    /// The position, now that its shape is right.
    #[inline]
    fn assemble(&self, board: &Board) -> Position {
        Position {
            banks: BySeat::new(self.banks[Seat::South] as u8, self.banks[Seat::North] as u8),
            north_controls: self.game.ring().row(Seat::North) ^ board.crossed,
            marked: board.marked,
            closed: board.closed,
            last_sower: self.last_sower,
            heir: self.heir,
            refused: self.refused,
            ..Position::new(self.game, board.pits, self.to_act, self.phase)
        }
    }
}

/// The rows of a set-up on the board of a game, and what is asked of their pits, also of those that have no place on it.
pub(super) struct Board {
    ring: Ring,
    lengths: BySeat<usize>,
    pits: Pits,
    seeds: u32,
    crossed: PitSet,
    marked: PitSet,
    closed: PitSet,
    has_crossed: bool,
    has_marked: bool,
    has_closed: bool,
    closed_with_seeds: usize,
}

impl Board {
    pub(super) fn new(ring: Ring) -> Board {
        Board {
            ring,
            lengths: BySeat::default(),
            pits: [0; MAX_PITS],
            seeds: 0,
            crossed: PitSet::EMPTY,
            marked: PitSet::EMPTY,
            closed: PitSet::EMPTY,
            has_crossed: false,
            has_marked: false,
            has_closed: false,
            closed_with_seeds: 0,
        }
    }

    /// Adds the next pit of a seat's row.
    #[inline]
    pub(super) fn add(&mut self, seat: Seat, pit: SetUpPit) {
        let place = self.lengths[seat];
        self.lengths[seat] += 1;
        self.seeds += u32::from(pit.seeds);
        let first = if seat == Seat::South { 0 } else { self.ring.row };
        let index = usize::from(first) + place;
        let on_board = place < usize::from(self.ring.row);
        if on_board {
            self.pits[index] = pit.seeds as u8;
        }
        if pit.crossed || pit.marked || pit.closed {
            self.has_crossed |= pit.crossed;
            self.has_marked |= pit.marked;
            self.has_closed |= pit.closed;
            self.closed_with_seeds += usize::from(pit.closed && pit.seeds > 0);
            let at = if on_board { PitSet::of(index as u8) } else { PitSet::EMPTY };
            let only_if = |is: bool| if is { at } else { PitSet::EMPTY };
            self.crossed = self.crossed | only_if(pit.crossed);
            self.marked = self.marked | only_if(pit.marked);
            self.closed = self.closed | only_if(pit.closed);
        }
    }
}

fn no_such(game: Game, phase: Phase) -> SetUpFault {
    match phase {
        Phase::Over(reason) => SetUpFault::NoSuchEnd { game, reason },
        _ => SetUpFault::NoSuchPhase { game, phase },
    }
}

/// In the first opening the other seat must be able to make the second one: it may be given nothing.
fn too_few_to_redistribute(position: &Position) -> Vec<SetUpFault> {
    let due: &[Seat] = if position.phase == Phase::Open1 { &Seat::BOTH } else { &[position.to_act] };
    let occupied = |seat| (position.occupied() & position.ring().row(seat)).len();
    due.iter()
        .map(|&seat| SetUpFault::TooFewToRedistribute { seat, occupied: occupied(seat) })
        .filter(|fault| matches!(fault, SetUpFault::TooFewToRedistribute { occupied, .. } if *occupied < EMPTIED))
        .collect()
}

fn offer_faults(position: &Position, pits: PitSet) -> Vec<SetUpFault> {
    let (payer, seat) = (position.to_act, position.to_act.other());
    let own = position.controlled(seat);
    if pits.is_empty() || pits.len() > MAX_OFFER || !(pits - own).is_empty() || pits == own {
        return vec![SetUpFault::OfferImpossible { seat }];
    }
    if (own & position.occupied()).is_empty() {
        return vec![SetUpFault::OfferInsteadOfPass { seat }];
    }
    let (price, bank) = (price(pits), u16::from(position.banks[payer]));
    if u16::from(price) > bank { vec![SetUpFault::OfferNotAffordable { price, bank, payer }] } else { Vec::new() }
}

/// A position that is over must be as the end leaves it.
fn not_handed_out(rules: &Rules, position: &Position, reason: EndReason) -> Option<SetUpFault> {
    let mut swept = *position;
    rules.finish(&mut swept, reason, &mut ());
    let seeds = position.on_board() - swept.on_board();
    (seeds > 0).then_some(SetUpFault::NotHandedOut { seeds })
}
