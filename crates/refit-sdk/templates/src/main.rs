//! Serves the extension.

use std::process::ExitCode;

use refit_sdk::{Extension, RegistrationError};
use @CRATE@::MyUpdater;

fn main() -> Result<ExitCode, RegistrationError> {
    Ok(refit_sdk::run(Extension::builder(MyUpdater).timeout_seconds(10).build()?))
}
