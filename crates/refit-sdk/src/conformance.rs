//! Holds a running extension, in any language, to the rules of the protocol.
//!
//! The kit calls an extension as controllers do, and as broken or hostile callers might. For each rule it says whether
//! it is kept and, if not, what was seen, why it matters and what to do.
//!
//! UpdateMachine is called too, for a machine that does not exist, unless the options say otherwise.

mod call;
mod checks;
mod report;
mod rules;
mod sample;
mod target;

use std::time::Duration;

pub use call::CallError;
pub use report::{Finding, Outcome, Report};
pub use rules::Rule;
pub use sample::{Sample, SampleError};
pub use target::{ClientFiles, Target, TargetError};

/// How thoroughly to look.
#[derive(Debug, Clone)]
pub struct Options {
    /// Only this handler, and what concerns the extension as a whole.
    pub handler: Option<String>,
    /// Whether UpdateMachine is called.
    pub updates: bool,
    /// Whether requests of around 20 MiB are sent.
    pub large_bodies: bool,
    /// How long an update of the sample machine may take before that is a warning.
    pub update_patience: Duration,
    /// The machine that the extension is asked about.
    pub sample: Sample,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            handler: None,
            updates: true,
            large_bodies: true,
            update_patience: Duration::from_secs(60),
            sample: Sample::default(),
        }
    }
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("the extension cannot be reached")]
    Unreachable(#[source] CallError),
    #[error("the extension has no handler {0:?}")]
    NoSuchHandler(String),
}

/// Calls the extension in every way there is a rule for.
pub async fn check(target: &Target, options: &Options) -> Result<Report, CheckError> {
    checks::run(target, options).await
}
