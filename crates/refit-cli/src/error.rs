//! What can go wrong on the command line, and the exit code of each.

use std::path::PathBuf;

use refit_plan::simulation::ScenarioError;

/// An expected error of the command line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no kind {name:?}; the kinds are {}", known.join(", "))]
    UnknownKind { name: String, known: Vec<String> },
    #[error("cannot read {}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Scenario(ScenarioError),
    #[error("the rollout breaks {count} {}", if *count == 1 { "invariant" } else { "invariants" })]
    Violations { count: usize },
    #[error("the rollout has not come to its end in {rounds} rounds")]
    Unsettled { rounds: usize },
    #[error("cannot print the result")]
    Print(#[source] std::io::Error),
}

impl Error {
    /// The exit codes of `refit`, documented in `docs/src/reference/exit-codes.md`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Print(_) | Self::Read { .. } => 1,
            Self::UnknownKind { .. } | Self::Scenario(_) => 2,
            Self::Violations { .. } => 3,
            Self::Unsettled { .. } => 4,
        }
    }
}

/// The error and its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
