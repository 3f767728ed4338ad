//! Demonstrations: each makes its cluster, changes it, tells live what happens, and checks what came of it.

mod control_planes;
mod picture;
mod scenarios;
mod stage;
mod story;
mod workload;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::backend::BackendError;
use crate::client::ClientError;
use crate::workers::WorkersError;

pub use picture::{Facts, MachineView, Picture};

/// How long one step of a demonstration may take. The longest take a few seconds.
const STEP_LIMIT: Duration = Duration::from_secs(180);

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demo {
    /// More memory for the workers, in place.
    WorkerMemory,
    /// A change that nobody covers: the machines are replaced.
    Fallback,
    /// The same under `Require`: nothing is touched, until an extension is registered.
    Blocked,
    /// One change that two extensions cover together.
    SeveralExtensions,
    /// More workers are wished for in the middle of an update.
    ScaleDuringRollout,
    /// A control plane of three machines gets another version, in place.
    ControlPlane,
    /// The same with the only machine of a cluster.
    SingleNode,
}

impl Demo {
    pub const ALL: [Self; 7] = [
        Self::WorkerMemory,
        Self::Fallback,
        Self::Blocked,
        Self::SeveralExtensions,
        Self::ScaleDuringRollout,
        Self::ControlPlane,
        Self::SingleNode,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::WorkerMemory => "worker-memory",
            Self::Fallback => "fallback",
            Self::Blocked => "blocked",
            Self::SeveralExtensions => "several-extensions",
            Self::ScaleDuringRollout => "scale-during-rollout",
            Self::ControlPlane => "control-plane",
            Self::SingleNode => "single-node",
        }
    }
}

impl fmt::Display for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such demonstration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no demonstration {0:?}; there are {names}", names = Demo::ALL.map(Demo::name).join(", "))]
pub struct UnknownDemo(String);

impl FromStr for Demo {
    type Err = UnknownDemo;

    fn from_str(text: &str) -> Result<Self, UnknownDemo> {
        Self::ALL.into_iter().find(|demo| demo.name() == text).ok_or_else(|| UnknownDemo(text.to_owned()))
    }
}

/// Why a demonstration did not show what it should.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("the demonstration has no API server")]
    Backend(#[from] BackendError),
    #[error("the demonstration could not begin")]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the API server refused a request")]
    Request(#[from] Box<kube::Error>),
    #[error("it took more than {}s until {what}", STEP_LIMIT.as_secs())]
    TooLong { what: String },
    #[error("{count} of what should hold {} not", if *count == 1 { "does" } else { "do" })]
    Wrong { count: usize },
}

impl From<kube::Error> for DemoError {
    fn from(error: kube::Error) -> Self {
        Self::Request(Box::new(error))
    }
}

/// Takes the lines that a demonstration tells, as they come.
pub type Say<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Shows it. Must be called inside a tokio runtime with several threads.
pub async fn run(demo: Demo, say: Say<'_>) -> Result<(), DemoError> {
    match demo {
        Demo::WorkerMemory => scenarios::worker_memory(say).await,
        Demo::Fallback => scenarios::fallback(say).await,
        Demo::Blocked => scenarios::blocked(say).await,
        Demo::SeveralExtensions => scenarios::several_extensions(say).await,
        Demo::ScaleDuringRollout => scenarios::scale_during_rollout(say).await,
        Demo::ControlPlane => control_planes::control_plane(say).await,
        Demo::SingleNode => control_planes::single_node(say).await,
    }
}
