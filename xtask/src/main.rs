//! The tasks of people who work on refit: `cargo xtask --help`.

mod cli;
mod gate;
mod generate;
mod peers;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::run(&cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", refit_peers::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
