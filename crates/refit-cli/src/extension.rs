//! `refit extension`: begins an update extension, and checks one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use refit_sdk::conformance::{self, ClientFiles, Options, Report, Sample, Target};
use refit_sdk::scaffold::{self, SdkSource};

use crate::{Error, write};

#[derive(Debug, Subcommand)]
pub enum Extension {
    /// Write a small, complete, tested project for an update extension
    New(New),
    /// Hold a running extension, in any language, to the rules of the protocol
    Check(Check),
}

/// The folder NAME is made where you are; nothing is overwritten.
#[derive(Debug, Args)]
pub struct New {
    /// The name: lowercase letters, digits and '-'
    name: String,
    /// Where to make the folder
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// Take refit-sdk from a folder, not from the registry
    #[arg(long, conflicts_with = "sdk_git")]
    sdk_path: Option<PathBuf>,
    /// Take refit-sdk from a git repository, not from the registry
    #[arg(long)]
    sdk_git: Option<String>,
}

/// UpdateMachine is called too, for a machine that does not exist.
#[derive(Debug, Args)]
pub struct Check {
    /// Where the extension is: https://host:port, and a path if hooks are beneath one
    url: String,
    /// Trust only the authorities in this PEM file, not the system's
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// The certificate that is shown to the extension, a PEM file
    #[arg(long, requires = "client_key")]
    client_cert: Option<PathBuf>,
    /// The key of that certificate, a PEM file
    #[arg(long, requires = "client_cert")]
    client_key: Option<PathBuf>,
    /// Allow http://, on loopback addresses only
    #[arg(long)]
    insecure_plain_http: bool,
    /// Check only this handler
    #[arg(long)]
    handler: Option<String>,
    /// Ask about the machine in this YAML or JSON file: current and desired, each with machine,
    /// infrastructureMachine and maybe bootstrapConfig
    #[arg(long)]
    sample: Option<PathBuf>,
    /// Do not call UpdateMachine
    #[arg(long)]
    no_updates: bool,
    /// How many seconds the update of the sample machine may take
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=3600))]
    update_patience_seconds: u64,
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
    /// One object with all findings
    Json,
}

impl Extension {
    pub fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        match self {
            Self::New(new) => new.run(out),
            Self::Check(check) => check.run(out),
        }
    }
}

impl New {
    fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        let source = match (&self.sdk_path, &self.sdk_git) {
            (Some(path), _) => SdkSource::Path(absolute(path)?),
            (None, Some(url)) => SdkSource::Git(url.clone()),
            (None, None) => SdkSource::Version,
        };
        let folder = self.directory.join(&self.name);
        let files = scaffold::write(&self.name, &source, &folder).map_err(Error::Scaffold)?;
        let lines: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        write(out, &lines)
    }
}

impl Check {
    /// Prints the report. A rule that is broken is an error after all has been printed.
    fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        let pair = self.client_cert.clone().zip(self.client_key.clone());
        let files = ClientFiles { ca: self.ca_file.clone(), pair };
        let target = Target::new(&self.url, &files, self.insecure_plain_http).map_err(Error::Target)?;
        let options = self.options()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Runtime)?;
        let report = runtime.block_on(conformance::check(&target, &options)).map_err(Error::Check)?;
        write(out, &self.render(&report))?;
        match report.broken().count() {
            0 => Ok(()),
            count => Err(Error::BrokenRules { count }),
        }
    }

    fn options(&self) -> Result<Options, Error> {
        let sample = self.sample.as_deref().map_or_else(|| Ok(Sample::default()), read_sample)?;
        Ok(Options {
            handler: self.handler.clone(),
            updates: !self.no_updates,
            update_patience: Duration::from_secs(self.update_patience_seconds),
            sample,
            ..Options::default()
        })
    }

    fn render(&self, report: &Report) -> String {
        match self.output {
            Output::Text => report.text(),
            Output::Json => format!("{:#}\n", serde_json::json!(report)),
        }
    }
}

fn read_sample(file: &Path) -> Result<Sample, Error> {
    let text = std::fs::read_to_string(file).map_err(|source| Error::Read { file: file.to_owned(), source })?;
    let document = refit_api::decode::from_yaml(&text).map_err(Error::SampleFile)?;
    Sample::from_value(&document).map_err(Error::Sample)
}

/// Cargo reads a relative path from the new project's folder, where nobody stands yet.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::Read { file: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
