//! The `refit` command.

use std::process::ExitCode;

use clap::Parser;

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
