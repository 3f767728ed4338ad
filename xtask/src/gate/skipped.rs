//! The tests that did not run, told once more where nobody overlooks it.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Why skipped tests cannot be told.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the list of skipped tests")]
pub struct SkippedError(#[from] io::Error);

/// A file to which tests that skip themselves add a line.
pub struct SkippedTests(NamedTempFile);

impl SkippedTests {
    /// An empty list.
    pub fn new() -> Result<Self, SkippedError> {
        Ok(Self(NamedTempFile::with_prefix("refit-skipped-")?))
    }

    /// Where tests write to.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Prints the list, if there is anything on it.
    pub fn report(&self) -> Result<(), SkippedError> {
        let list = std::fs::read_to_string(self.path())?;
        if !list.is_empty() {
            println!("\n=== {} tests DID NOT RUN", list.lines().count());
            print!("{list}");
        }
        Ok(())
    }
}
