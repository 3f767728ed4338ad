//! What an extension author writes.

use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;
use refit_api::hooks::{RawObject, RetryAfterSeconds, Settings, UpdateMachineRequest};
use serde_json::Value;
use tokio::sync::watch;

use crate::MachineObject;
use crate::claims::{Claims, field};

/// An update extension: which fields of a machine it can change, and how.
///
/// ```
/// use refit_sdk::{Claims, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
///
/// struct Memory;
///
/// impl Updater for Memory {
///     fn claims(&self) -> Claims {
///         Paths::none().infrastructure_of("SimMachine", "spec.memory").into()
///     }
///
///     async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
///         let memory = machine.infrastructure_field("spec.memory");
///         machine.report(format!("resizing to {memory:?}"));
///         // Look at the host, do what is missing.
///         Ok(Progress::Done)
///     }
/// }
/// ```
pub trait Updater: Send + Sync + 'static {
    /// The fields that can be changed on a running machine. Asked once, when the extension is built.
    fn claims(&self) -> Claims;

    /// Brings one machine to its desired state.
    ///
    /// It may take its time: the SDK answers the controller, which asks every few seconds, until this is done. It never
    /// runs twice at once for one machine in one process.
    ///
    /// It must converge: look at what the host is, and do what is missing. The process can end in the middle and
    /// be started again; then it runs again, from the beginning.
    fn update(&self, machine: MachineUpdate) -> impl Future<Output = Result<Progress, UpdateFailure>> + Send;
}

/// How far the update of a machine has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The machine is what it should be.
    Done,
    /// Something outside goes on; call [`Updater::update`] again after that time.
    InProgress {
        /// What is going on, for people. No secrets, and nothing that changes with every call.
        message: String,
        retry_after: RetryAfterSeconds,
    },
}

/// Why a machine could not be updated, for people. It reaches conditions and logs: no secrets in it.
///
/// It says that nothing is at work on the host any more: the controller asks again, a few times, and meanwhile the machine may be
/// given another target. While something outside still goes on, say [`Progress::InProgress`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpdateFailure(pub String);

impl UpdateFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A machine to be updated: what it should be.
#[derive(Debug, Clone)]
pub struct MachineUpdate {
    namespace: String,
    name: String,
    request: UpdateMachineRequest,
    words: watch::Sender<String>,
}

impl MachineUpdate {
    pub(crate) fn new(name: MachineName, request: UpdateMachineRequest, words: watch::Sender<String>) -> Self {
        Self { namespace: name.namespace, name: name.name, request, words }
    }

    /// The namespace of the Machine.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the Machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings of the ExtensionConfig.
    pub fn settings(&self) -> &Settings {
        &self.request.settings
    }

    /// An object of the machine as it should be. None for a bootstrap config that the machine does not have.
    pub fn object(&self, object: MachineObject) -> Option<&RawObject> {
        let desired = &self.request.desired;
        match object {
            MachineObject::Machine => Some(&desired.machine),
            MachineObject::Infrastructure => Some(&desired.infrastructure_machine),
            MachineObject::Bootstrap => desired.bootstrap_config.as_ref(),
        }
    }

    /// A field of the Machine as it should be, as in `spec.version`.
    pub fn machine_field(&self, path: &str) -> Option<&Value> {
        self.field(MachineObject::Machine, path)
    }

    /// A field of the infrastructure provider's object as it should be.
    pub fn infrastructure_field(&self, path: &str) -> Option<&Value> {
        self.field(MachineObject::Infrastructure, path)
    }

    /// A field of the bootstrap provider's object as it should be.
    pub fn bootstrap_field(&self, path: &str) -> Option<&Value> {
        self.field(MachineObject::Bootstrap, path)
    }

    /// Says what is going on. The words reach the Machine's condition: no secrets, nothing that changes every second.
    pub fn report(&self, words: impl Into<String>) {
        self.words.send_replace(words.into());
    }

    fn field(&self, object: MachineObject, path: &str) -> Option<&Value> {
        field(self.object(object)?, &["spec"], path)
    }
}

/// Whose update it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineName {
    pub namespace: String,
    pub name: String,
}

/// An [`Updater`] of any type.
pub(crate) trait AnyUpdater: Send + Sync {
    fn run(self: std::sync::Arc<Self>, machine: MachineUpdate) -> BoxFuture<'static, Result<Progress, UpdateFailure>>;
}

impl<U: Updater> AnyUpdater for U {
    fn run(self: std::sync::Arc<Self>, machine: MachineUpdate) -> BoxFuture<'static, Result<Progress, UpdateFailure>> {
        async move { self.update(machine).await }.boxed()
    }
}
