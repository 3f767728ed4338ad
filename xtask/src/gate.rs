//! `cargo xtask test`: everything that a change must pass, cheapest first.

use std::path::Path;
use std::time::Instant;

mod cargo;
mod purity;
mod skipped;

use cargo::{CargoError, cargo};
use purity::PurityError;
use skipped::{SkippedError, SkippedTests};

use crate::generate::{self, GenerateError};
use crate::peers::{self, PeersTaskError};

/// Why a change does not pass.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    Cargo(#[from] CargoError),
    #[error(transparent)]
    Generate(#[from] GenerateError),
    #[error(transparent)]
    Purity(#[from] PurityError),
    #[error(transparent)]
    Peers(#[from] PeersTaskError),
    #[error(transparent)]
    Skipped(#[from] SkippedError),
}

/// Runs all steps, and stops at the first that fails.
pub fn run() -> Result<(), GateError> {
    let skipped = SkippedTests::new()?;
    let start = Instant::now();
    step("format", || Ok(cargo(&["fmt", "--all", "--check"], &[])?))?;
    step("generated files", || Ok(generate::check()?))?;
    step("clippy", clippy)?;
    step("purity of refit-plan", || Ok(purity::check()?))?;
    step("peers", peers)?;
    step("tests", || tests(skipped.path()))?;
    step("documentation", documentation)?;
    println!("\nall steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(skipped.report()?)
}

fn step(name: &str, run: impl FnOnce() -> Result<(), GateError>) -> Result<(), GateError> {
    println!("\n=== {name}");
    let start = Instant::now();
    let outcome = run();
    let word = if outcome.is_ok() { "passed" } else { "FAILED" };
    println!("=== {name}: {word} in {:.1} s", start.elapsed().as_secs_f64());
    outcome
}

fn clippy() -> Result<(), GateError> {
    Ok(cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[])?)
}

/// Without Go the tests that need it skip themselves, which is said again at the end. In CI that is a failure.
fn peers() -> Result<(), GateError> {
    match peers::print() {
        Err(error) if error.is_go_missing() && !refit_peers::is_ci() => {
            println!("{}", refit_peers::chain(&error));
            Ok(())
        }
        outcome => Ok(outcome?),
    }
}

/// Property tests start from one seed here, so that a change that passed passes again. Plain `cargo test` searches on.
fn tests(skipped: &Path) -> Result<(), GateError> {
    let environment = [(refit_peers::SKIPPED_TESTS, skipped.as_os_str()), ("PROPTEST_RNG_SEED", "1".as_ref())];
    Ok(cargo(&["test", "--workspace", "--locked"], &environment)?)
}

fn documentation() -> Result<(), GateError> {
    Ok(cargo(&["doc", "--workspace", "--no-deps", "--locked"], &[("RUSTDOCFLAGS", "-D warnings".as_ref())])?)
}
