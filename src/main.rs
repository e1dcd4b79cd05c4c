//! The program `mancala`: see `mancala --help`.

// Half of what calls cost beside their system calls is memory that is taken on one thread and given back on another, which this one
// is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    mancala::cli::run()
}
