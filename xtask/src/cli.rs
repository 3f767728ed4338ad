//! The command line.

use std::error::Error;

use clap::{Parser, Subcommand};

use crate::{gate, generate, peers};

/// Tasks of people who work on refit.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
pub struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Write the files that are generated from the code.
    Generate {
        /// Write nothing, and fail when a file differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Build the real servers that the tests run against, and print where they are.
    Peers,
    /// Run everything that a change must pass.
    Test,
}

/// Runs a task.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    match arguments.task {
        Task::Generate { check: false } => generate::write()?,
        Task::Generate { check: true } => generate::check()?,
        Task::Peers => peers::print()?,
        Task::Test => gate::run()?,
    }
    Ok(())
}
