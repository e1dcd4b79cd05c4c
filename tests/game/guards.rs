//! The guards: what they count, their order, and how a game that they end is handed out. And the bound of endless sowings.

use crate::support::{accepted, mv, rules_of};
use mancala::game::observer::{Observer, Step};
use mancala::game::{Game, Guards, MAX_LAPS, Move, Record, Rules};
use std::collections::HashSet;

fn record(options: &[&str], guards: Guards, start: &str) -> Record {
    let rules = rules_of(start, options);
    Record::new(rules, guards, accepted(&rules, start))
}

/// The record's position, as text, after these moves.
fn played(mut record: Record, moves: &[&str]) -> String {
    for (ply, text) in moves.iter().enumerate() {
        record.play(mv(text), &mut ()).unwrap_or_else(|illegal| panic!("ply {ply}, {text} in {}: {illegal}", record.position()));
    }
    record.position().to_string()
}

/// Two seats that can only pass: the first position occurs for the third time with the fourth pass.
const NOBODY_MOVES: &str = "hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S sow";

#[test]
fn guards_are_looked_at_in_order() {
    for (repetition, quiet, max_plies, reason) in
        [(3, 4, 4, "repetition"), (0, 4, 4, "quiet"), (4, 4, 4, "quiet"), (0, 0, 4, "max_plies"), (4, 5, 4, "max_plies")]
    {
        let guards = Guards { repetition, quiet, max_plies };
        let before = played(record(&[], guards, NOBODY_MOVES), &["pass"; 3]);
        assert!(before.ends_with("N sow"), "{guards:?}: {before}");
        let to = played(record(&[], guards, NOBODY_MOVES), &["pass"; 4]);
        assert!(to.ends_with(&format!("S over:{reason}")), "{guards:?}: {to}");
    }
}

#[test]
fn guards_of_zero_are_off() {
    let passed = played(record(&[], Guards::OFF, NOBODY_MOVES), &["pass"; 100]);
    assert_eq!(passed, NOBODY_MOVES);
}

#[test]
fn guards_have_the_defaults_of_their_page() {
    for game in Game::ALL {
        let quiet = if game == Game::Hoyito3 { 400 } else { 200 };
        assert_eq!(Guards::of(game), Guards { repetition: 3, quiet, max_plies: 2_000 });
    }
}

/// Offer and decline, in turns: the answers are plies, but not quiet ones.
#[test]
fn guards_and_answers() {
    let start = "gore 5,5,5,3/5,5,5,3 6-6 S sow";
    let moves = ["offer 0", "decline", "offer 4", "decline", "offer 0", "decline", "offer 4", "decline"];
    let guards = |repetition, quiet, max_plies| Guards { repetition, quiet, max_plies };
    // Ply 8 brings the first position back for the second time after ply 4; refusals don't make it another one.
    let to = played(record(&[], guards(3, 0, 8), start), &moves);
    assert_eq!(to, "gore 0,0,0,0/0,0,0,0 24-24 S over:repetition refused=SN");
    // The fourth offer is ply 7 and the fourth quiet one.
    let to = played(record(&[], guards(0, 4, 7), start), &moves[..7]);
    assert_eq!(to, "gore 0,0,0,0/0,0,0,0 24-24 S over:quiet refused=SN");
    // An answer is a ply for max_plies, and an offer that it ends stays unanswered.
    let to = played(record(&[], guards(0, 0, 2), start), &moves[..2]);
    assert_eq!(to, "gore 0,0,0,0/0,0,0,0 24-24 N over:max_plies refused=N");
    let to = played(record(&[], guards(0, 0, 1), start), &moves[..1]);
    assert_eq!(to, "gore 0,0,0,0/0,0,0,0 24-24 N over:max_plies");
}

/// A void sowing is a quiet ply too, and a capture begins the count anew.
#[test]
fn quiet_counts_what_captures_nothing() {
    let endless = "ayoayo 2,1,3,2,1,2/1,2,0,1,4,1 7-21 N sow last=N";
    let quiet = |quiet| Guards { repetition: 0, quiet, max_plies: 0 };
    assert!(played(record(&[], quiet(1), endless), &["7"]).ends_with("S over:quiet last=N"));
    // Two quiet plies, South's capture of two in pit 5, and three more quiet ones.
    let mut game = record(&[], quiet(3), "gore 1,1,1,2/9,1,9,1 12-11 S sow");
    for (text, captured, over) in
        [("0", 0, false), ("7", 0, false), ("3", 2, false), ("4", 0, false), ("0", 0, false), ("7", 0, true)]
    {
        let ply = game.play(mv(text), &mut ()).unwrap();
        assert_eq!((ply.captured, game.position().is_over()), (captured, over), "{text}: {}", game.position());
    }
}

/// When a guard ends a game, every seed goes to the seat that controls its pit, whatever the game's own rule for its end says.
#[test]
fn guards_hand_out_by_control() {
    let now = Guards { repetition: 0, quiet: 0, max_plies: 1 };
    let empty = "0,0,0,0,0,0";
    let ayoayo = "ayoayo 1,0,0,0,0,2/0,0,3,0,0,0 20-22 S sow last=N";
    assert_eq!(played(record(&[], now, ayoayo), &["0"]), format!("ayoayo {empty}/{empty} 23-25 N over:max_plies last=S"));
    let hoyito = "hoyito3 1,0,0,0,0,2/0,0,3,0,0,0 20-22 S sow heir=N";
    assert_eq!(played(record(&[], now, hoyito), &["0"]), format!("hoyito3 {empty}/{empty} 23-25 N over:max_plies heir=N"));
    let kiothi = "kiothi 1,0,0,0,0,0,0,0,0,2*/0,3*,0,0,0,0,0,0,0,0 20-34 S sow";
    let swept = "kiothi 0,0,0,0,0,0,0,0,0,0*/0,0*,0,0,0,0,0,0,0,0 23-37 N over:max_plies";
    assert_eq!(played(record(&[], now, kiothi), &["0"]), swept);
    let gore = "gore 1,0,0,5^/5,4,0^,0 20-13 S sow";
    assert_eq!(played(record(&[], now, gore), &["0"]), "gore 0,0,0,0^/0,0,0^,0 21-27 N over:max_plies");
    // Ali Guli Mane goes by its option.
    let ali = "ali_guli_mane 1,0,0,0,0,0,2/0,0,3,0,0,0,0 30-34 S sow";
    assert_eq!(played(record(&[], now, ali), &["0"]), "ali_guli_mane 0,1,0,0,0,0,2/0,0,3,0,0,0,0 30-34 N over:max_plies");
    let row_owner = record(&["leftovers=row_owner"], now, ali);
    assert_eq!(played(row_owner, &["0"]), "ali_guli_mane 0,0,0,0,0,0,0/0,0,0,0,0,0,0 33-37 N over:max_plies");
}

/// A game that its own rules end with the last ply allowed has ended by them.
#[test]
fn rules_go_before_guards() {
    let guards = Guards { repetition: 1, quiet: 1, max_plies: 1 };
    let to = played(record(&[], guards, "hoyito3 1,3,0,0,0,0/0,0,0,4,0,0 20-20 S sow"), &["0"]);
    assert!(to.ends_with("over:final_four"), "{to}");
}

// Endless sowings.

/// Counts lifts, and whether a state (board and pit to lift) came back.
struct Lifts {
    pits: Vec<u8>,
    count: u32,
    states: HashSet<(Vec<u8>, u8)>,
}

impl Observer for Lifts {
    fn step(&mut self, step: Step) {
        match step {
            Step::Lift { pit, seeds, .. } => {
                self.states.insert((self.pits.clone(), pit));
                self.pits[usize::from(pit)] -= seeds;
                self.count += 1;
            }
            Step::Drop(pit) => self.pits[usize::from(pit)] += 1,
            _ => {}
        }
    }
}

/// A relay that never comes back to an earlier state in 10,000 laps is endless all the same.
#[test]
fn sowings_of_too_many_laps_are_endless() {
    for (text, pit) in [
        ("ali_guli_mane 3,2,3,x,x,5,8/x,5,8,x,x,x,3 33-0 S sow", 0),
        ("ali_guli_mane 6,5,x,3,6,7,2/x,x,x,x,5,6,11 19-0 S sow", 3),
    ] {
        let rules = Rules::new(Game::AliGuliMane);
        let from = accepted(&rules, text);
        let mut lifts = Lifts { pits: from.pits().to_vec(), count: 0, states: HashSet::new() };
        let (to, ply) = rules.check(&from, Move::sow(pit)).unwrap().play(&mut lifts);
        assert!(ply.endless);
        assert_eq!(to.to_string(), text.replace("S sow", "N sow"), "void: only the turn passes");
        assert_eq!((lifts.count, lifts.states.len() as u32), (MAX_LAPS, MAX_LAPS), "no state came back");
    }
}
