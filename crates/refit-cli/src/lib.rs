//! The `refit` command: parsing of arguments and printing. What it prints is made in the crates below.

mod crds;
mod error;
mod render;
mod simulate;

use std::io::Write;

use clap::{Parser, Subcommand};
use refit_api::openapi;

pub use error::{Error, chain};
pub use render::{Format, render, yaml};

/// Changes the machines of a Kubernetes cluster in place: same host, same disk, new spec.
#[derive(Debug, Parser)]
#[command(name = "refit", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the CustomResourceDefinitions that refit needs, for `kubectl apply -f -`
    Crds {
        /// Only these kinds: name, plural, short name or full CRD name
        kinds: Vec<String>,
        /// How to print it
        #[arg(long, short, value_enum, default_value_t)]
        output: Format,
    },
    /// Play a rollout through and show every step, before anything is touched
    Simulate(simulate::Simulate),
    /// Print the OpenAPI document of the hooks that an update extension serves
    Openapi {
        /// How to print it
        #[arg(long, short, value_enum, default_value_t)]
        output: Format,
    },
}

/// Carries out the command. Data goes to `out`, nothing else does.
pub fn run(arguments: Arguments, out: &mut impl Write) -> Result<(), Error> {
    match arguments.command {
        Command::Crds { kinds, output } => print(&crds::select(&kinds)?, output, out),
        Command::Openapi { output } => print(&[openapi::hooks()], output, out),
        Command::Simulate(simulate) => simulate.run(out),
    }
}

fn print(documents: &[serde_json::Value], format: Format, out: &mut impl Write) -> Result<(), Error> {
    write(out, &render(documents, format))
}

/// Writes the text. A reader that has seen enough (`refit crds | head`) is no error.
fn write(out: &mut impl Write, text: &str) -> Result<(), Error> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(()),
    }
}
