//! Text as moves, played from the start of a game under its guards.

use super::laws::total;
use super::planted;
use mancala::game::observer::{Board, Step};
use mancala::game::{Game, Guards, Move, Phase, Record, Rules, Seat};

/// A line that names a game, such as `kiothi opening=none quiet=9 north`, and a line for each move: a move as text, `back NUMBER` to
/// take back all but so many, or anything else, which chooses a listed move by its bytes.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    let Some(mut record) = lines.next().and_then(begin) else {
        // No game: then it is a move by itself.
        return text.lines().for_each(|line| {
            read(line);
        });
    };
    for line in lines.take(200) {
        if let Some(plies) = line.strip_prefix("back ").and_then(|plies| plies.parse::<u8>().ok()) {
            planted::never("all but nine moves are taken back", plies == 9);
            take_back(&mut record, usize::from(plies));
            continue;
        }
        let listed = record.rules().legal_moves(record.position());
        let by_bytes = || line.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(7) + usize::from(byte));
        match read(line).or_else(|| listed.get(by_bytes() % listed.len().max(1)).copied()) {
            Some(mv) => play(&mut record, &listed, mv),
            None => return,
        }
    }
    let plies = record.moves().len();
    take_back(&mut record, plies / 2);
}

fn begin(line: &str) -> Option<Record> {
    let mut words = line.split(' ');
    let game = Game::from_id(words.next()?)?;
    let mut guards = Guards::of(game);
    let mut first = Seat::South;
    let mut options = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("repetition", limit)) => guards.repetition = limit.parse().ok()?,
            Some(("quiet", limit)) => guards.quiet = limit.parse().ok()?,
            Some(("max_plies", limit)) => guards.max_plies = limit.parse().ok()?,
            Some(option) => options.push(option),
            None => first = if word == "north" { Seat::North } else { Seat::South },
        }
    }
    let rules = Rules::with_options(game, options).ok()?;
    Some(Record::new(rules, guards, rules.start_with(first)))
}

/// Text as a move, which is written so that it is read again.
fn read(text: &str) -> Option<Move> {
    let mv = text.parse().ok()?;
    let written = Move::to_string(&mv);
    assert_eq!(written.parse(), Ok(mv), "{text:?}");
    assert_eq!(written.parse().map(|mv| Move::to_string(&mv)), Ok(written), "{text:?}");
    Some(mv)
}

/// Listed, checked, previewed and played must all say the same of a move.
fn play(record: &mut Record, listed: &[Move], mv: Move) {
    let before = *record.position();
    let plies = record.moves().len();
    let checked = record.rules().check(&before, mv);
    let mut ahead_steps: Vec<Step> = Vec::new();
    let ahead = record.preview(mv, &mut ahead_steps);
    assert_eq!((*record.position(), record.moves().len()), (before, plies), "a preview changes nothing");
    let mut steps: Vec<Step> = Vec::new();
    let played = record.play(mv, &mut steps);
    let legal = match checked {
        Ok(legal) => legal.mv(),
        Err(illegal) => {
            assert!(!listed.contains(&mv), "{mv} is listed in {before}, but {illegal}");
            assert!(!illegal.reason().is_empty() && !illegal.to_string().is_empty());
            assert_eq!((ahead, played), (Err(illegal), Err(illegal)), "{mv} in {before}");
            assert_eq!((*record.position(), record.moves().len(), &steps[..]), (before, plies, &[][..]), "{mv} in {before}");
            return;
        }
    };
    let redistributed = matches!(before.phase(), Phase::Open1 | Phase::Open2);
    assert!(redistributed || listed.contains(&legal), "{mv} is legal in {before}, but not listed");
    let (ply, ahead) = (played.expect("a legal move is played"), ahead.expect("a legal move can be previewed"));
    let after = *record.position();
    assert_eq!((ahead.mv, ahead.position, ahead.ply), (legal, after, ply), "{mv} in {before}");
    assert_eq!(ahead_steps, steps, "{mv} in {before}");
    assert_eq!(record.moves().last(), Some(&legal));
    assert_eq!(total(&after), total(&before), "{mv} in {before}");
    assert_eq!(after.outcome().is_some(), after.is_over());

    let mut board = Board::from(&before);
    steps.iter().for_each(|&step| board.apply(step));
    let expected = Board::from(&after);
    // A move that ends the game gives the turn to nobody.
    let to_act = if after.is_over() { board.to_act } else { expected.to_act };
    assert_eq!(board, Board { to_act, ..expected }, "{mv} in {before}: {steps:?}");
}

/// What is left after moves are taken back is what playing the others gives.
fn take_back(record: &mut Record, plies: usize) {
    let mut expected = Record::new(*record.rules(), record.guards(), *record.start());
    for &mv in record.moves().iter().take(plies) {
        expected.play(mv, &mut ()).expect("it was legal");
    }
    record.take_back_to(plies);
    assert_eq!(format!("{record:?}"), format!("{expected:?}"));
}
