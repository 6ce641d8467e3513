//! The command `updraft`.

use std::process::ExitCode;

use clap::Parser;
use updraft::cli::{self, Args};

#[global_allocator]
static ALLOCATOR: updraft::room::Allocator = updraft::room::Allocator;

fn main() -> ExitCode {
    updraft::room::large_blocks::return_at_once();
    match cli::run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::report(&error);
            error.exit_code()
        }
    }
}
