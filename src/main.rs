//! The program `mancala`: see `mancala --help`.

// What a call takes on one thread is given back on another, by the store's writer, where the system's allocator locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    mancala::cli::run()
}
