//! `mancala simulate`: random games in bulk, and what came of them.

use super::game_args::{GameArgs, GameArgsError};
use super::tally::Tally;
use crate::game::observer::{Observer, Step};
use crate::game::playout::playout_observed;
use crate::game::{Guards, Position, Record, Rules};
use crate::random::SeededDice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    game: GameArgs,
    /// How many games to play
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    games: u64,
    /// What the moves are drawn by; the same seed gives the same games everywhere
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// End a game when a position has occurred this often; 0: never [default: as the game's rules say]
    #[arg(long, value_name = "TIMES")]
    repetition: Option<u32>,
    /// End a game after so many plies without a capture; 0: never [default: as the game's rules say]
    #[arg(long, value_name = "PLIES")]
    quiet: Option<u32>,
    /// End a game after so many plies [default: as the game's rules say]
    // Never off: a game without any guard may have no end.
    #[arg(long, value_name = "PLIES", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_plies: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Why no games were played.
#[derive(Debug, Error)]
pub enum Error {
    /// The game or the position can't be played.
    #[error(transparent)]
    Game(#[from] GameArgsError),
    /// Standard output is closed.
    #[error("can't write the result: {0}")]
    Output(#[from] io::Error),
}

/// Plays the games and prints the result. What depends on the machine's speed goes to standard error, or to a member `timing`
/// of the JSON object, so that all else is the same everywhere.
///
/// # Errors
/// See [`Error`].
pub fn run(args: &Args) -> Result<(), Error> {
    let (rules, start) = args.game.open()?;
    let guards = args.guards(&rules);
    let progress = Progress::new(args.games);
    let from = Instant::now();
    let tally = play(rules, guards, start, args, |done| progress.show(done));
    let elapsed = from.elapsed();
    progress.clear();
    let plies_per_second = tally.plies() as f64 / elapsed.as_secs_f64().max(f64::EPSILON);
    let out = &mut io::stdout().lock();
    if args.json {
        let mut object = tally.json(rules.game(), args.seed);
        object["timing"] = serde_json::json!({
            "seconds": elapsed.as_secs_f64(),
            "plies_per_second": plies_per_second.round(),
        });
        writeln!(out, "{object}")?;
    } else {
        write!(out, "{}", tally.text(rules.game(), args.seed))?;
        eprintln!("{:.3} s, {:.2} million plies/s", elapsed.as_secs_f64(), plies_per_second / 1e6);
    }
    Ok(())
}

impl Args {
    fn guards(&self, rules: &Rules) -> Guards {
        let usual = Guards::of(rules.game());
        Guards {
            repetition: self.repetition.unwrap_or(usual.repetition),
            quiet: self.quiet.unwrap_or(usual.quiet),
            max_plies: self.max_plies.unwrap_or(usual.max_plies),
        }
    }
}

fn play(rules: Rules, guards: Guards, start: Position, args: &Args, mut show: impl FnMut(u64)) -> Tally {
    let mut record = Record::new(rules, guards, start);
    let mut tally = Tally::default();
    let mut voids = Voids(0);
    for game in 0..args.games {
        record.restart();
        let mut dice = SeededDice::for_game(args.seed, game);
        let outcome = playout_observed(&mut record, guards.max_plies, &mut dice, &mut voids);
        tally.add(outcome.expect("max_plies ends every game"), record.moves().len() as u32);
        if game % 1_024 == 1_023 {
            show(game);
        }
    }
    tally.endless_sowings = voids.0;
    tally
}

/// Counts endless sowings.
struct Voids(u64);

impl Observer for Voids {
    /// Single seeds are of no interest.
    const WATCHES: bool = false;
    #[inline(always)]
    fn step(&mut self, step: Step) {
        self.0 += u64::from(step == Step::Void);
    }
}

/// A bar on standard error, if that is a terminal, once the run has taken a second.
struct Progress {
    bar: ProgressBar,
    from: Instant,
}

impl Progress {
    fn new(games: u64) -> Progress {
        let target = if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} games, {eta} left");
        let bar = ProgressBar::with_draw_target(Some(games), target).with_style(style.expect("the template is well-formed"));
        Progress { bar, from: Instant::now() }
    }

    fn show(&self, done: u64) {
        if self.from.elapsed() > Duration::from_secs(1) {
            self.bar.set_position(done);
        }
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(arguments: &str) -> Result<Args, String> {
        let words = ["simulate"].into_iter().chain(arguments.split('|'));
        Command::try_parse_from(words).map(|command| command.args).map_err(|error| error.to_string())
    }

    fn played(arguments: &str) -> (Tally, String) {
        let args = parsed(arguments).unwrap();
        let (rules, start) = args.game.open().unwrap();
        let tally = play(rules, args.guards(&rules), start, &args, |_| ());
        let text = tally.text(rules.game(), args.seed);
        (tally, text)
    }

    /// Whoever changes a line here has changed the rules, the dice, or the order in which legal moves are listed.
    #[test]
    fn a_seed_means_these_games() {
        for (game, expected) in [
            (
                "ali_guli_mane",
                "\
                 Ali Guli Mane: 200 games, seed 1\n\
                 \x20 South wins              153  76.50 %\n\
                 \x20 North wins               43  21.50 %\n\
                 \x20 draws                     4   2.00 %\n\
                 \x20 no_seeds                200 100.00 %\n\
                 \x20 plies: mean 24.4, least 8, most 44\n\
                 \x20 endless sowings: 0\n\
                 ",
            ),
            (
                "ayoayo",
                "\
                 Ayoayo: 200 games, seed 1\n\
                 \x20 South wins              104  52.00 %\n\
                 \x20 North wins               82  41.00 %\n\
                 \x20 draws                    14   7.00 %\n\
                 \x20 cannot_feed             167  83.50 %\n\
                 \x20 board_empty              33  16.50 %\n\
                 \x20 plies: mean 35.1, least 13, most 61\n\
                 \x20 endless sowings: 1\n\
                 ",
            ),
            (
                "gore",
                "\
                 Goré: 200 games, seed 1\n\
                 \x20 South wins              103  51.50 %\n\
                 \x20 North wins               97  48.50 %\n\
                 \x20 draws                     0   0.00 %\n\
                 \x20 all_below_three           2   1.00 %\n\
                 \x20 repetition              198  99.00 %\n\
                 \x20 plies: mean 406.9, least 52, most 1940\n\
                 \x20 endless sowings: 0\n\
                 ",
            ),
            (
                "hoyito3",
                "\
                 Hoyito III: 200 games, seed 1\n\
                 \x20 South wins               80  40.00 %\n\
                 \x20 North wins               77  38.50 %\n\
                 \x20 draws                    43  21.50 %\n\
                 \x20 final_four              200 100.00 %\n\
                 \x20 plies: mean 112.9, least 28, most 382\n\
                 \x20 endless sowings: 0\n\
                 ",
            ),
            (
                "kiothi",
                "\
                 Kiothi: 200 games, seed 1\n\
                 \x20 South wins              107  53.50 %\n\
                 \x20 North wins               79  39.50 %\n\
                 \x20 draws                    14   7.00 %\n\
                 \x20 no_move                 200 100.00 %\n\
                 \x20 plies: mean 53.1, least 30, most 87\n\
                 \x20 endless sowings: 0\n\
                 ",
            ),
        ] {
            let (_, text) = played(&format!("{game}|--games|200|--seed|1"));
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn games_do_not_depend_on_how_many_there_are() {
        let plies = |games: u64| played(&format!("gore|--games|{games}|--seed|9")).0.plies();
        assert!(plies(1) < plies(2) && plies(2) < plies(3));
        assert_eq!(plies(2), played("gore|--games|2|--seed|9").0.plies());
    }

    #[test]
    fn guards_and_positions_are_heeded() {
        let (_, text) = played("ayoayo|--games|7|--max-plies|3");
        assert!(text.contains("max_plies") && text.contains("mean 3.0, least 3, most 3"), "{text}");
        let (_, text) = played("hoyito3|--games|1|--repetition|2|--position|hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 25-23 S sow");
        assert!(text.contains("repetition") && text.contains("mean 2.0"), "{text}");
        let (_, text) = played("gore|--games|5|--position|gore 0,0,0,0/0,0,0,0 25-23 S over:quiet");
        assert!(text.contains("South wins") && text.contains("mean 0.0"), "{text}");
        let (_, text) =
            played("hoyito3|--games|1|--repetition|0|--quiet|5|--position|hoyito3 0,0,0,0,0,0/0,0,0,0,0,0 25-23 S sow");
        assert!(text.contains("quiet") && text.contains("mean 5.0"), "{text}");
    }

    #[test]
    fn bounds_are_told() {
        for (arguments, expected) in [
            ("gore|--games|0", "0 is not in 1..=1000000000"),
            ("gore|--games|1000000001", "1000000001 is not in 1..=1000000000"),
            ("gore|--games|1|--max-plies|0", "0 is not in 1..=1000000"),
            ("gore|--games|1|--seed=-1", "invalid digit"),
        ] {
            let said = parsed(arguments).err().unwrap_or_default();
            assert!(said.contains(expected), "{arguments}: {said}");
        }
    }
}
