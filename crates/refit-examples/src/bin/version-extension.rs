//! Serves the extension that changes a machine's Kubernetes version.

use std::process::ExitCode;

use refit_examples::{LoggedHost, VersionUpdater};
use refit_sdk::{Extension, RegistrationError};

fn main() -> Result<ExitCode, RegistrationError> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    Ok(refit_sdk::run(Extension::builder(VersionUpdater::new(LoggedHost)).build()?))
}
