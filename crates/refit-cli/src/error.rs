//! What can go wrong on the command line, and the exit code of each.

use std::path::PathBuf;

use refit_api::decode::DecodeError;
use refit_apiserver::server::ServerError;
use refit_apiserver::standalone::StandaloneError;
use refit_apiserver::store::{OpenError, RestoreError};
use refit_plan::simulation::ScenarioError;
use refit_plane::bench::BenchError;
use refit_plane::demo::DemoError;
use refit_plane::{BackendError, ControllerError, DataError, UpError};
use refit_sdk::conformance::{CheckError, SampleError, TargetError};
use refit_sdk::scaffold::ScaffoldError;

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
    #[error(transparent)]
    Scaffold(ScaffoldError),
    #[error(transparent)]
    Target(TargetError),
    #[error(transparent)]
    SampleFile(DecodeError),
    #[error(transparent)]
    Sample(SampleError),
    #[error(transparent)]
    Check(CheckError),
    #[error("the extension breaks {count} {}", if *count == 1 { "rule" } else { "rules" })]
    BrokenRules { count: usize },
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    #[error(transparent)]
    ApiServer(StandaloneError),
    #[error(transparent)]
    Data(DataError),
    #[error(transparent)]
    Up(UpError),
    #[error(transparent)]
    Controller(ControllerError),
    #[error(transparent)]
    Demo(DemoError),
    #[error(transparent)]
    Bench(BenchError),
    #[error("cannot print the result")]
    Print(#[source] std::io::Error),
}

impl Error {
    /// The exit codes of `refit`, documented in `docs/src/reference/exit-codes.md`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Print(_) | Self::Read { .. } | Self::Runtime(_) => 1,
            Self::Scaffold(ScaffoldError::Exists(_) | ScaffoldError::Write { .. }) => 1,
            Self::Scaffold(ScaffoldError::Name { .. }) => 2,
            Self::UnknownKind { .. } | Self::Scenario(_) => 2,
            Self::Target(_) | Self::SampleFile(_) | Self::Sample(_) | Self::Check(CheckError::NoSuchHandler(_)) => 2,
            Self::BrokenRules { .. } => 5,
            Self::Check(CheckError::Unreachable(_)) => 6,
            Self::Violations { .. } => 3,
            Self::Unsettled { .. } => 4,
            Self::ApiServer(error) => apiserver_code(error),
            Self::Data(error) => data_code(error),
            Self::Up(UpError::Backend(error)) => backend_code(error),
            Self::Up(UpError::Process(_) | UpError::Workers(_)) => 1,
            Self::Controller(ControllerError::Listen { .. }) => 7,
            Self::Controller(ControllerError::NotLeading) => 10,
            Self::Controller(ControllerError::Process(_) | ControllerError::Client(_)) => 1,
            Self::Bench(BenchError::TooLong { .. }) => 4,
            Self::Bench(
                BenchError::Backend(_)
                | BenchError::Workers(_)
                | BenchError::Client(_)
                | BenchError::Request(_)
                | BenchError::Interrupted
                | BenchError::Process(_),
            ) => 1,
            Self::Demo(DemoError::Wrong { .. }) => 3,
            Self::Demo(DemoError::TooLong { .. }) => 4,
            Self::Demo(
                DemoError::Backend(_) | DemoError::Workers(_) | DemoError::Client(_) | DemoError::Request(_),
            ) => 1,
        }
    }
}

fn apiserver_code(error: &StandaloneError) -> u8 {
    match error {
        StandaloneError::Server(ServerError::Bind { .. }) => 7,
        StandaloneError::Store(error) => store_code(error),
        StandaloneError::Server(ServerError::Tls(_) | ServerError::Credentials(_)) => 1,
        StandaloneError::Credentials(_)
        | StandaloneError::Cluster(_)
        | StandaloneError::Definition { .. }
        | StandaloneError::Audit { .. }
        | StandaloneError::Process(_) => 1,
    }
}

fn data_code(error: &DataError) -> u8 {
    match error {
        DataError::Store(error) | DataError::Restore(RestoreError::Folder(error)) => store_code(error),
        DataError::Backup(_) | DataError::OddFile { .. } | DataError::Restore(RestoreError::Backup(_)) => 9,
        DataError::NoStore { .. }
        | DataError::Exists { .. }
        | DataError::File { .. }
        | DataError::Snapshot(_)
        | DataError::Restore(RestoreError::Exists { .. } | RestoreError::Disk(_))
        | DataError::Client(_)
        | DataError::Request(_)
        | DataError::Refused { .. } => 1,
    }
}

fn backend_code(error: &BackendError) -> u8 {
    match error {
        BackendError::Server(ServerError::Bind { .. }) => 7,
        BackendError::Store(error) => store_code(error),
        BackendError::Server(ServerError::Tls(_) | ServerError::Credentials(_))
        | BackendError::Cluster(_)
        | BackendError::Credentials(_)
        | BackendError::Definition(_)
        | BackendError::Client(_)
        | BackendError::Workloads(_)
        | BackendError::Folder(_) => 1,
    }
}

fn store_code(error: &OpenError) -> u8 {
    match error {
        OpenError::Locked { .. } => 8,
        OpenError::Format { .. } | OpenError::Damaged { .. } => 9,
        OpenError::Folder { .. } | OpenError::Disk { .. } => 1,
    }
}

/// The error and its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
