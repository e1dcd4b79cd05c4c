//! `mancala perft`: counts of move sequences, by which implementations of the rules are compared.

use super::game_args::{GameArgs, GameArgsError};
use crate::game::perft::{OpeningNotCounted, perft};
use std::io::{self, Write};
use std::time::Instant;
use thiserror::Error;

/// The deepest count on offer. None that ends within a day comes near it.
const MAX_DEPTH: i64 = 20;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    game: GameArgs,
    /// Count sequences of 1 to so many moves
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    depth: u32,
}

/// Why nothing, or nothing more, was counted.
#[derive(Debug, Error)]
pub enum Error {
    /// The game or the position can't be played.
    #[error(transparent)]
    Game(#[from] GameArgsError),
    /// Redistributions come up.
    #[error("{0} (--position)")]
    Opening(#[from] OpeningNotCounted),
    /// Standard output is closed.
    #[error("can't write the counts: {0}")]
    Output(#[from] io::Error),
}

/// Prints a line for each depth as soon as it is counted: depth, sequences, seconds.
///
/// # Errors
/// See [`Error`].
pub fn run(args: &Args) -> Result<(), Error> {
    print(args, &mut io::stdout().lock())
}

fn print(args: &Args, out: &mut impl Write) -> Result<(), Error> {
    let (rules, position) = args.game.open()?;
    // Before anything is printed: a position of the opening has no count at all.
    perft(&rules, &position, 1)?;
    writeln!(out, "{:>5} {:>20} {:>10}", "depth", "sequences", "seconds")?;
    for depth in 1..=args.depth {
        let from = Instant::now();
        let count = perft(&rules, &position, depth)?;
        writeln!(out, "{depth:>5} {count:>20} {:>10.3}", from.elapsed().as_secs_f64())?;
    }
    Ok(())
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

    fn printed(arguments: &str) -> Result<Vec<Vec<String>>, String> {
        let words = ["perft"].into_iter().chain(arguments.split('|'));
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        print(&command.args, &mut out).map_err(|error| error.to_string())?;
        let text = String::from_utf8(out).expect("text is printed");
        Ok(text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect())
    }

    #[test]
    fn counts_are_printed_by_depth() {
        let lines = printed("ayoayo|--depth|3").unwrap();
        let counts: Vec<_> = lines.iter().map(|line| format!("{} {}", line[0], line[1])).collect();
        assert_eq!(counts, ["depth sequences", "1 6", "2 28", "3 132"]);
    }

    #[test]
    fn a_position_that_is_over_has_no_sequences() {
        let lines = printed("gore|--depth|2|--position|gore 0,0,0,0/0,0,0,0 24-24 S over:quiet").unwrap();
        assert_eq!(lines.iter().map(|line| line[1].as_str()).collect::<Vec<_>>(), ["sequences", "0", "0"]);
    }

    #[test]
    fn what_can_not_be_counted_is_explained() {
        for (arguments, expected) in [
            ("oware|--depth|1", "possible values: ali_guli_mane, ayoayo, gore, hoyito3, kiothi"),
            ("gore|--depth|0", "0 is not in 1..=20"),
            ("gore|--depth|21", "21 is not in 1..=20"),
            ("gore|--depth|1|--option|bonus", "write it as NAME=VALUE"),
            ("gore|--depth|1|--option|a=b", "--option: number 1: gore has no option of this name; it has none"),
            ("gore|--depth|1|--position|gore 6", "--position: at character 7: expected another pit (,) or North's row (/)"),
            (
                "gore|--depth|1|--position|gore 6/6,6,6,6 0-0 S bonus",
                "--position: South's row has 1 pits and must have 4\n\
                 --position: board and banks hold 30 seeds together and must hold 48\n\
                 --position: Goré has no phase bonus",
            ),
            (
                "kiothi|--depth|1",
                "Kiothi's opening redistributions can't be enumerated; start from a position after them (--position)",
            ),
        ] {
            let said = printed(arguments).unwrap_err();
            assert!(said.contains(expected), "{arguments}: {said}");
        }
    }
}
