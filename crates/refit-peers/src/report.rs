//! What people get to see: progress, and errors with their causes.

use std::error::Error;
use std::io::Write;

/// An error and its causes on one line.
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

/// Writes a line to stderr. Unlike `eprintln!`, it is seen even while the test harness captures a test's output: a
/// build of minutes must not look like a hang, and a skipped test must not look like a passed one.
pub(crate) fn say(line: &str) {
    // Nobody is left to be told when stderr is closed.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
