//! The `refit` command.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

/// Objects are many small strings and maps: with the C library's allocator, half of the time goes into it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments = refit_cli::Arguments::parse();
    match refit_cli::run(arguments, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("refit: {}", refit_cli::chain(&error));
            error.exit_code().into()
        }
    }
}
