//! The program `mancala`: see `mancala --help`.

fn main() -> std::process::ExitCode {
    mancala::cli::run()
}
