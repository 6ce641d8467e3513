//! The command `updraft`, for its binary and for tests of the process. Not an interface.

#[cfg(feature = "viewer")]
pub use crate::app::{AppError, Options, run as open_window};
pub use crate::room::{Allocator, freed_memory, large_blocks};

/// Runs the command with the arguments of the process.
#[cfg(feature = "cli")]
pub fn main() -> std::process::ExitCode {
    use crate::cli;

    large_blocks::return_at_once();
    match cli::run(&cli::arguments()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            cli::report(&error);
            error.exit_code()
        }
    }
}
