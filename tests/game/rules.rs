//! Rules, rulings and options that the vectors, which are of default options, do not show: one case each,
//! small enough to check by hand. Rows read as on paper for South; North's is from its own left, that is, from right to left.

use crate::support::{TestDice, accepted, after, listed, mv, rules_of};
use mancala::game::{Game, Move, PitSet, Rules, Seat};
use std::collections::HashMap;

/// `after` in a game whose options are the default ones.
fn plain(from: &str, mv: &str) -> String {
    after(&rules_of(from, &[]), from, mv)
}

// Ayoayo.

/// Rule 6: South sows its last seed away, and North (two seeds, neither of which gets round to South's row) can't feed it.
#[test]
fn ayoayo_leftovers() {
    let from = "ayoayo 0,0,0,0,0,1/0,1,0,0,0,0 23-23 S sow last=N";
    assert_eq!(plain(from, "5"), "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 25-23 N over:cannot_feed last=S");
    let row_owner = rules_of(from, &["leftovers=row_owner"]);
    assert_eq!(after(&row_owner, from, "5"), "ayoayo 0,0,0,0,0,0/0,0,0,0,0,0 23-25 N over:cannot_feed last=S");
}

/// Rule 4: only moves after which the other row holds a seed, and a seat that can be fed passes (rule 5).
#[test]
fn ayoayo_feeding() {
    let hungry_north = "ayoayo 1,0,0,0,0,1/0,0,0,0,0,0 23-23 S sow last=N";
    assert_eq!(listed(&rules_of(hungry_north, &[]), hungry_north), ["5"]);
    let north_to_act = hungry_north.replace("S sow", "N sow");
    assert_eq!(listed(&rules_of(hungry_north, &[]), &north_to_act), ["pass"]);
    assert_eq!(plain(&north_to_act, "pass"), "ayoayo 1,0,0,0,0,1/0,0,0,0,0,0 23-23 S sow last=N");
}

// Kiothi.

/// Rule 1.
#[test]
fn kiothi_openings() {
    for (opening, row) in
        [("six_of_five", "0,0,0,0,5,5,5,5,5,5"), ("five_of_five", "0,0,0,0,0,5,5,5,5,5"), ("five_of_six", "0,0,0,0,0,6,6,6,6,6")]
    {
        let rules = rules_of("kiothi", &[&format!("opening={opening}")]);
        assert_eq!(rules.start().to_string(), format!("kiothi {row}/{row} 0-0 S open1"));
        assert_eq!(accepted(&rules, &format!("kiothi {row}/{row} 0-0 N open2")).to_act(), Seat::North);
    }
}

/// Rules 2 and 3: both redistribute, South first; then what is occupied is marked.
#[test]
fn kiothi_redistributions() {
    let rules = Rules::new(Game::Kiothi);
    let first = after(&rules, &rules.start().to_string(), "4+5>0:1,10:2,4:7");
    assert_eq!(first, "kiothi 1,0,0,0,7,0,5,5,5,5/2,0,0,0,5,5,5,5,5,5 0-0 N open2");
    // North may empty the pit that South has filled.
    let second = after(&rules, &first, "10+19>9:7");
    assert_eq!(second, "kiothi 1*,0,0,0,7*,0,5*,5*,5*,12*/0,0,0,0,5*,5*,5*,5*,5*,0 0-0 S sow");
}

/// Rule 9: eleven from pit 9 give one to each of North's pits and end in pit 0, which is South's leftmost and empty.
#[test]
fn kiothi_leftmost_bonus() {
    let run = ["leftmost_bonus=run"];
    let south = "kiothi 0,0,0,0,0,0,0,0,3,11/2*,0,0,0,0,0,0,0,0,0 22-22 S sow";
    // 19 and the capturing seed, and 18, 17, 16.
    assert_eq!(plain(south, "9x11"), "kiothi 0,0,0,0,0,0,0,0,3,0/3*,1,1,1,1,1,0,0,0,0 27-22 N sow");
    // 19 and the capturing seed, and all down to the marked pit.
    let all = after(&rules_of(south, &run), south, "9x11");
    assert_eq!(all, "kiothi 0,0,0,0,0,0,0,0,3,0/3*,0,0,0,0,0,0,0,0,0 32-22 N sow");

    // A marked pit among the three: none of them is taken, but a run up to it is.
    let marked = "kiothi 0,0,0,0,0,0,0,0,3,11/2*,0,0,0,0,0,0,1*,0,0 22-21 S sow";
    assert_eq!(plain(marked, "9x11"), "kiothi 0,0,0,0,0,0,0,0,3,0/3*,1,1,1,1,1,1,2*,1,0 24-21 N sow");
    let short = after(&rules_of(marked, &run), marked, "9x11");
    assert_eq!(short, "kiothi 0,0,0,0,0,0,0,0,3,0/3*,1,1,1,1,1,1,2*,0,0 25-21 N sow");

    let north = "kiothi 2*,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,3,11 22-22 N sow";
    assert_eq!(plain(north, "19x11"), "kiothi 3*,1,1,1,1,1,0,0,0,0/0,0,0,0,0,0,0,0,3,0 22-27 S sow");
    let all = after(&rules_of(north, &run), north, "19x11");
    assert_eq!(all, "kiothi 3*,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,3,0 22-32 S sow");

    // One pit further the capture is a plain one.
    let next = "kiothi 0,0,0,0,0,0,0,0,3,12/2*,0,0,0,0,0,0,0,0,0 22-21 S sow";
    for options in [&[][..], &run] {
        let to = after(&rules_of(next, options), next, "9x12");
        assert_eq!(to, "kiothi 1,0,0,0,0,0,0,0,3,0/3*,1,1,1,1,1,1,1,0,1 24-21 N sow");
    }
}

/// Rule 8: a marked pit is safe.
#[test]
fn kiothi_marks_protect() {
    let marked = "kiothi 1,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,4*,0 28-27 S sow";
    assert_eq!(plain(marked, "0"), "kiothi 0,1,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,4*,0 28-27 N sow");
    let unmarked = marked.replace('*', "");
    assert!(plain(&unmarked, "0").starts_with("kiothi 0,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 33-27 N over"));
}

/// Rule 7: a mark goes by a whole, a partial or a relayed lift, and not by seeds that fall in.
#[test]
fn kiothi_marks_go() {
    // 9x1 falls in North's marked pit 10, which is lifted: its two reach 11 (marked, but no last seed) and 12, empty.
    let from = "kiothi 0,0,0,0,0,0,0,0,0,4*/1*,3*,0,0,0,0,0,0,0,0 26-26 S sow";
    assert_eq!(plain(from, "9x1"), "kiothi 0,0,0,0,0,0,0,0,0,3/0,4*,1,0,0,0,0,0,0,0 26-26 N sow");
}

/// Rule 5: twenty from a pit of twenty end in their own empty pit; of twenty-one, in the remainder.
#[test]
fn kiothi_once_round() {
    let twenty = "kiothi 0,0,0,20,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 20-20 S sow";
    // The last one captures what has just fallen in the opposite pit, 16.
    assert_eq!(plain(twenty, "3x20"), "kiothi 1,1,1,0,1,1,1,1,1,1/1,1,1,1,1,1,0,1,1,1 22-20 N sow");
    let more = "kiothi 0,0,0,21,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 20-19 S sow";
    let rules = Rules::new(Game::Kiothi);
    for (illegal, last) in [("3x20", "pit 3"), ("3x21", "pit 4")] {
        let refusal = rules.check(&accepted(&rules, more), mv(illegal)).unwrap_err();
        assert_eq!(refusal.reason(), "FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT");
        assert!(refusal.to_string().contains(last), "{refusal}");
    }
    assert!(listed(&rules, more).contains(&"3x19".to_owned()), "pit 2 is empty when the nineteenth falls in");
    assert_eq!(rules.check(&accepted(&rules, twenty), mv("3")).unwrap().mv(), mv("3x20"), "no number means all");
}

/// Rule 10: the last capture leaves nothing, so that neither can move, and nobody is given anything.
#[test]
fn kiothi_neither_can_move() {
    let from = "kiothi 1,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,1,0 29-29 S sow";
    assert_eq!(plain(from, "0x1"), "kiothi 0,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 31-29 N over:no_move");
}

/// Rule 10: North has nothing to sow, and South can move: all goes to South.
#[test]
fn kiothi_one_can_not_move() {
    let from = "kiothi 1,0,0,4,0,0,0,0,0,0/0,0,0,0,0,0,0,0,1,0 27-27 S sow";
    assert_eq!(plain(from, "0x1"), "kiothi 0,0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,0,0 33-27 N over:no_move");
}

/// Rule 2: fifteen pairs of pits, ten warriors each, on twenty pits.
#[test]
fn kiothi_redistribution_family() {
    let rules = Rules::new(Game::Kiothi);
    let family = rules.redistributions(&rules.start()).expect("the first turn is a redistribution");
    assert_eq!(family.total, 15 * 20_030_010);
    assert_eq!(family.choices, (4..10).collect());
    assert_eq!(family.targets, (0..20).collect());
    assert!(rules.legal_moves(&rules.start()).is_empty(), "they are never listed");
}

/// Every placement is as likely as any other, so that pairs are drawn by the number of their placements.
#[test]
fn kiothi_redistributions_are_drawn_evenly() {
    const DRAWS: u32 = 40_000;
    let rules = Rules::new(Game::Kiothi);
    // Two pits of one and one of two: 210 placements of two seeds, twice 1,540 of three.
    let position = accepted(&rules, "kiothi 1,1,2,0,0,0,0,0,0,0/5,5,0,0,0,0,0,0,0,0 23-23 S open1");
    let total = 210 + 2 * 1_540;
    assert_eq!(rules.redistributions(&position).unwrap().total, total);
    let mut dice = TestDice(7);
    let mut pairs: HashMap<String, u32> = HashMap::new();
    let mut all: HashMap<String, u32> = HashMap::new();
    let mut by_pit = [0u32; 20];
    for _ in 0..DRAWS {
        let mv = rules.sample(&position, &mut dice).unwrap();
        assert!(rules.check(&position, mv).is_ok(), "{mv}");
        let Move::Redistribute(drawn) = mv else { panic!("{mv}") };
        *pairs.entry(drawn.emptied.to_string()).or_default() += 1;
        *all.entry(mv.to_string()).or_default() += 1;
        by_pit.iter_mut().zip(drawn.placed).for_each(|(sum, seeds)| *sum += u32::from(seeds));
    }
    // Five standard deviations either way.
    let assert_share = |found: u32, share: f64, what: &str| {
        let expected = f64::from(DRAWS) * share;
        assert!((f64::from(found) - expected).abs() < 5.0 * expected.sqrt(), "{what}: {found}, and {expected} were expected");
    };
    for (pair, ways) in [("0+1", 210.0), ("0+2", 1_540.0), ("1+2", 1_540.0)] {
        assert_share(pairs[pair], ways / total as f64, pair);
    }
    let seeds_a_draw = (210.0 * 2.0 + 2.0 * 1_540.0 * 3.0) / total as f64;
    by_pit.iter().enumerate().for_each(|(pit, &seeds)| assert_share(seeds, seeds_a_draw / 20.0, &format!("pit {pit}")));
    // Each of the 3,290 is expected twelve times; none is left out, and none is drawn far too often.
    assert_eq!(all.len() as u64, total);
    assert!(all.values().all(|&times| times < 40), "{:?}", all.values().max());
}

// Ali Guli Mane.

/// Rule 3.
#[test]
fn ali_guli_mane_bonus() {
    let bonus = "ali_guli_mane 0,0,0,5,x,3,1/0,1,x,x,0,x,0 25-35 S bonus";
    let optional = rules_of(bonus, &["bonus=optional"]);
    assert_eq!(listed(&optional, bonus), ["3", "5", "6", "pass"]);
    assert_eq!(after(&optional, bonus, "pass"), bonus.replace("S bonus", "N sow"));
    let compulsory = rules_of(bonus, &["bonus=compulsory"]);
    assert_eq!(listed(&compulsory, bonus), ["3", "5", "6"]);
    // The first sowing of a turn can't be waived.
    let first = bonus.replace("bonus", "sow");
    assert_eq!(listed(&optional, &first), ["3", "5", "6"]);
}

/// Rule 3: a capture with the last seeds of the row earns nothing.
#[test]
fn ali_guli_mane_bonus_is_void() {
    let from = "ali_guli_mane 0,0,0,0,0,0,1/0,0,3,0,0,0,0 33-33 S sow";
    assert_eq!(plain(from, "6"), "ali_guli_mane 0,0,0,0,0,0,0/1,0,0,0,0,0,0 36-33 N sow");
}

/// Rule 5: North's row is empty when its turn begins, and South's seed is left.
#[test]
fn ali_guli_mane_leftovers() {
    let from = "ali_guli_mane 1,0,0,0,0,0,0/0,0,0,0,0,0,0 35-34 S sow";
    assert_eq!(plain(from, "0"), "ali_guli_mane 0,1,0,0,0,0,0/0,0,0,0,0,0,0 35-34 N over:no_seeds");
    let row_owner = rules_of(from, &["leftovers=row_owner"]);
    assert_eq!(after(&row_owner, from, "0"), "ali_guli_mane 0,0,0,0,0,0,0/0,0,0,0,0,0,0 36-34 N over:no_seeds");
}

/// Rule 7: a closed pit is not sown into, and is not the next, the one beyond or the one opposite.
#[test]
fn ali_guli_mane_closed_pits() {
    // Two from pit 0 fall in 1 and 3. After 3 comes 5: its one seed falls in 6. After 6 comes 7, empty; beyond it, 8 is taken.
    let sown = "ali_guli_mane 2,0,x,0,x,1,0/0,3,0,0,0,0,0 32-32 S sow";
    assert_eq!(plain(sown, "0"), "ali_guli_mane 0,1,x,1,x,0,1/0,0,0,0,0,0,0 35-32 S bonus");
    // Beyond the empty pit 2 lies 4, since 3 is closed; opposite 4 is 9.
    let beyond = "ali_guli_mane 1,0,0,x,2,0,0/0,0,3,0,0,0,0 32-32 S sow";
    assert_eq!(plain(beyond, "0"), "ali_guli_mane 0,1,0,x,0,0,0/0,0,0,0,0,0,0 37-32 S bonus");
    // Pit 9 closed: only 4 is taken.
    let opposite = "ali_guli_mane 1,0,0,x,2,0,0/0,0,x,0,0,0,0 33-34 S sow";
    assert_eq!(plain(opposite, "0"), "ali_guli_mane 0,1,0,x,0,0,0/0,0,x,0,0,0,0 35-34 S bonus");
}

// Hoyito III.

/// Rule 4: South takes four, four are left, and they go to South, or to the heir if there is one.
#[test]
fn hoyito_heir() {
    let from = "hoyito3 1,3,0,0,0,0/0,0,0,4,0,0 20-20 S sow";
    assert_eq!(plain(from, "0"), "hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 28-20 N over:final_four");
    for (heir, banks) in [("heir=N", "24-24"), ("heir=S", "28-20")] {
        let to = plain(&format!("{from} {heir}"), "0");
        assert_eq!(to, format!("hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 {banks} N over:final_four {heir}"));
    }
}

/// Rules 2 and 3: another turn with what is in the row; none without; and a pass.
#[test]
fn hoyito_turns() {
    let again = "hoyito3 1,3,0,0,0,2/0,0,0,5,0,0 18-19 S sow";
    assert_eq!(plain(again, "0"), "hoyito3 0,0,0,0,0,2/0,0,0,5,0,0 22-19 S sow");
    let void = "hoyito3 1,3,0,0,0,0/0,0,0,5,0,0 20-19 S sow";
    assert_eq!(plain(void, "0"), "hoyito3 0,0,0,0,0,0/0,0,0,5,0,0 24-19 N sow");
    let stranded = "hoyito3 0,0,0,0,0,0/0,0,0,5,0,0 24-19 S sow";
    assert_eq!(listed(&Rules::new(Game::Hoyito3), stranded), ["pass"]);
    assert_eq!(plain(stranded, "pass"), "hoyito3 0,0,0,0,0,0/0,0,0,5,0,0 24-19 N sow");
}

// Goré.

/// Rule 5: the pits change hands with their contents, and six seeds are paid into each.
#[test]
fn gore_offers() {
    let from = "gore 6,6,0,6/6,1,2,0 9-12 S sow";
    let offered = plain(from, "offer 1+2");
    assert_eq!(offered, "gore 6,6,0,6/6,1,2,0 9-12 N answer:1+2");
    let accepted = plain(&offered, "accept");
    assert_eq!(accepted, "gore 6,12^,6^,6/6,1,2,0 9-0 N sow");
    assert_eq!(listed(&Rules::new(Game::Gore), &accepted)[..5], ["1", "2", "4", "5", "6"], "North sows from what it bought");
    let declined = plain(&offered, "decline");
    assert_eq!(declined, "gore 6,6,0,6/6,1,2,0 9-12 N sow refused=N");
    // A refusal is remembered beside an earlier one.
    let both = plain("gore 6,6,0,6/6,1,2,0 9-12 S answer:4 refused=N", "decline");
    assert_eq!(both, "gore 6,6,0,6/6,1,2,0 9-12 S sow refused=SN");
    // South buys one of its own pits back.
    let back = plain("gore 6,6^,6,0/9,1,2,0 9-9 S answer:1", "accept");
    assert_eq!(back, "gore 6,12,6,0/9,1,2,0 3-9 S sow");
}

/// Rule 8.
#[test]
fn gore_without_glory() {
    let rules = Rules::new(Game::Gore);
    for (refused, without_glory) in [("refused=N", true), ("refused=SN", true), ("refused=S", false)] {
        let from = accepted(&rules, &format!("gore 0,0,0,3/0,0,0,0 0-45 S sow {refused}"));
        let outcome = rules.check(&from, mv("3")).unwrap().play(&mut ()).0.outcome().expect("three pits hold one each");
        assert_eq!(outcome.winner, Some(Seat::North));
        assert_eq!((outcome.banks[Seat::South], outcome.banks[Seat::North]), (0, 48));
        assert_eq!(outcome.without_glory, without_glory, "{refused}");
    }
    // A draw is nobody's win.
    let from = accepted(&rules, "gore 0,0,0,3/0,0,0,0 24-21 S sow refused=SN");
    let outcome = rules.check(&from, mv("3")).unwrap().play(&mut ()).0.outcome().unwrap();
    assert_eq!((outcome.winner, outcome.without_glory), (None, false));
}

/// Rule 4: runs forward and backward, over the corners of the board and through the captor's own pits.
#[test]
fn gore_runs() {
    // Pit 3's one seed makes pit 4 two. Forward: 5 (4), 6 (2), 7 (4), then South's 0 (2) and 1 (4); 2 holds three.
    let forward = "gore 2,4,3,1/1,4,2,4 13-14 S sow";
    assert_eq!(plain(forward, "3"), "gore 0,0,3,0/0,0,0,0 31-14 N sow");
    // Five from pit 1 make 2, 3, 4, 5, 6 hold four, four, two, four, two: backward from 6 all are taken; 7 holds five.
    let backward = "gore 0,5,3,3/1,3,1,5 13-14 S sow";
    assert_eq!(plain(backward, "1"), "gore 0,0,0,0/0,0,0,5 29-14 N sow");
    // The last pit makes two, but South controls it: nothing.
    let own = "gore 2,4,3,1/1^,4,2,4 13-14 S sow";
    assert_eq!(plain(own, "3"), "gore 2,4,3,0/2^,4,2,4 13-14 N sow");
    // The last pit is in South's own row, but North controls it: taken, and the run goes on to 2 (4).
    let crossed = "gore 1,1^,4,3/5,5,5,5 9-10 S sow";
    assert_eq!(plain(crossed, "0"), "gore 0,0^,0,3/5,5,5,5 15-10 N sow");
}

/// Rule 7: by controller, not by row.
#[test]
fn gore_end() {
    let from = "gore 2^,0,0,3/0,1^,0,2 20-20 S sow";
    // North has 0 (2), 4 (1), 6 (1), 7 (2); South has 5 (2).
    assert_eq!(plain(from, "3"), "gore 0^,0,0,0/0,0^,0,0 22-26 N over:all_below_three");
}

/// The ring as the pages draw it.
#[test]
fn rings() {
    for game in Game::ALL {
        let ring = game.ring();
        let rows = ring.row(Seat::South) | ring.row(Seat::North);
        assert_eq!(rows, ring.all());
        assert!((ring.row(Seat::South) & ring.row(Seat::North)).is_empty());
        let round: PitSet = std::iter::successors(Some(0), |&pit| Some(ring.next(pit))).take(usize::from(ring.pits())).collect();
        assert_eq!(round, ring.all());
        for pit in ring.all().iter() {
            assert_eq!(ring.previous(ring.next(pit)), pit);
            assert_eq!(ring.opposite(ring.opposite(pit)), pit);
            assert_eq!(ring.row_of(ring.opposite(pit)), ring.row_of(pit).other());
        }
    }
}
