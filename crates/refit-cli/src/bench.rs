//! `refit bench`: what refit costs.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_plane::bench::{self, BenchOptions};

use crate::simulate::amount;
use crate::{Error, log, runtime, write};

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Update simulated machines in place, and report what it took
    Rollout(Rollout),
}

/// Only the update is measured, not the making of the machines.
#[derive(Debug, Args)]
pub struct Rollout {
    /// How many machines are updated
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(i32).range(1..=30_000))]
    machines: i32,
    /// How many machines may be unavailable at a time: a number or a percentage
    #[arg(long, default_value = "25%", value_parser = amount)]
    max_unavailable: IntOrString,
    /// Names the API server, where a namespace of its own is made and deleted again; without it, one is run in memory
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// How the report is printed
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// One object
    Json,
}

impl Bench {
    pub fn run(self, out: &mut impl Write) -> Result<(), Error> {
        log("off");
        let Self::Rollout(Rollout { machines, max_unavailable, kubeconfig, output }) = self;
        let options = BenchOptions { machines, max_unavailable: serde_json::json!(max_unavailable), kubeconfig };
        let say = |text: &str| drop(writeln!(std::io::stderr(), "refit: {text}"));
        let report = runtime()?.block_on(bench::rollout(options, say)).map_err(Error::Bench)?;
        match output {
            Output::Text => write(out, &report.text()),
            Output::Json => write(out, &format!("{:#}\n", report.json())),
        }
    }
}
