//! Running cargo in the workspace.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, ExitStatus};

use crate::workspace;

/// Why a run of cargo did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    #[error("cannot run cargo")]
    Run(#[source] io::Error),
    #[error("`cargo {arguments}` failed with {status}")]
    Failed { arguments: String, status: ExitStatus },
}

/// Runs cargo with variables added to its environment; its output goes to ours.
pub fn cargo(arguments: &[&str], environment: &[(&str, &OsStr)]) -> Result<(), CargoError> {
    let mut command = command(arguments);
    let status = command.envs(environment.iter().copied()).status().map_err(CargoError::Run)?;
    if status.success() { Ok(()) } else { Err(CargoError::Failed { arguments: arguments.join(" "), status }) }
}

/// Runs cargo and gives what it prints.
pub fn cargo_output(arguments: &[&str]) -> Result<String, CargoError> {
    let output = command(arguments).output().map_err(CargoError::Run)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CargoError::Failed { arguments: arguments.join(" "), status: output.status })
}

/// The cargo that runs this task.
fn command(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace::root());
    command
}
