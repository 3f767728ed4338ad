//! The `refit` command: parsing of arguments and printing. What it prints is made in the crates below.

mod apiserver;
mod bench;
mod controller;
mod crds;
mod demo;
mod error;
mod extension;
mod render;
mod shell;
mod simulate;
mod up;

use std::io::{IsTerminal, Write};

use clap::{Parser, Subcommand};
use refit_api::openapi;
use tracing_subscriber::EnvFilter;

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
    /// Run the embedded Kubernetes API server
    #[command(name = "apiserver")]
    ApiServer(apiserver::ApiServer),
    /// Measure what refit costs
    #[command(subcommand, arg_required_else_help = true)]
    Bench(bench::Bench),
    /// Run the controllers alone, against any API server
    Controller(controller::Controller),
    /// Print the CustomResourceDefinitions that refit needs, for `kubectl apply -f -`
    Crds {
        /// Only these kinds: name, plural, short name or full CRD name
        kinds: Vec<String>,
        /// How to print it
        #[arg(long, short, value_enum, default_value_t)]
        output: Format,
    },
    /// Show on simulated machines what refit does, live, and check it
    Demo(demo::Demo),
    /// Begin an update extension, or check one
    #[command(subcommand, arg_required_else_help = true)]
    Extension(extension::Extension),
    /// Play a rollout through and show every step, before anything is touched
    Simulate(simulate::Simulate),
    /// Print the OpenAPI document of the hooks that an update extension serves
    Openapi {
        /// How to print it
        #[arg(long, short, value_enum, default_value_t)]
        output: Format,
    },
    /// Run a whole management plane in one process, with simulated machines
    Up(up::Up),
}

/// Carries out the command. Data goes to `out`, nothing else does.
pub fn run(arguments: Arguments, out: &mut (impl Write + Send)) -> Result<(), Error> {
    match arguments.command {
        Command::ApiServer(server) => server.run(),
        Command::Bench(bench) => bench.run(out),
        Command::Controller(controller) => controller.run(),
        Command::Demo(demo) => demo.run(out),
        Command::Up(up) => up.run(out),
        Command::Crds { kinds, output } => print(&crds::select(&kinds)?, output, out),
        Command::Openapi { output } => print(&[openapi::hooks()], output, out),
        Command::Simulate(simulate) => simulate.run(out),
        Command::Extension(extension) => extension.run(out),
    }
}

fn print(documents: &[serde_json::Value], format: Format, out: &mut impl Write) -> Result<(), Error> {
    write(out, &render(documents, format))
}

/// Logs to standard error what `RUST_LOG` says; without it, what `default` says. The HTTP/2 library would warn of every
/// connection that somebody abuses, at the pace of whoever does.
fn log(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(format!("{default},h2=off")));
    let is_terminal = std::io::stderr().is_terminal();
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(is_terminal);
    // Whoever has set up logging before us keeps it.
    let _ = subscriber.try_init();
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)
}

/// Writes the text. A reader that has seen enough (`refit crds | head`) is no error.
fn write(out: &mut impl Write, text: &str) -> Result<(), Error> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(()),
    }
}
