//! The command `updraft`.

use std::process::ExitCode;

use updraft::program;

#[global_allocator]
static ALLOCATOR: program::Allocator = program::Allocator;

fn main() -> ExitCode {
    program::main()
}
