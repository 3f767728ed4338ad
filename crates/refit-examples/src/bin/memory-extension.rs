//! Serves the extension that changes a machine's memory.

use std::process::ExitCode;

use refit_examples::{LoggedHost, MemoryUpdater};
use refit_sdk::{Extension, RegistrationError};

fn main() -> Result<ExitCode, RegistrationError> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    Ok(refit_sdk::run(Extension::builder(MemoryUpdater::new(LoggedHost)).build()?))
}
