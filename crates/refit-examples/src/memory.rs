//! Changes the memory of a machine.

use refit_sdk::{Claims, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
use serde_json::Value;

use crate::host::{Host, HostChange};

/// The kind whose memory is changed unless another is named.
pub const KIND: &str = "SimMachine";
/// The field that is the memory unless another is named.
pub const PATH: &str = "spec.memory";

/// Changes one field of the infrastructure provider's object: how much memory the machine has.
#[derive(Debug, Clone)]
pub struct MemoryUpdater<H> {
    /// The kind of the infrastructure provider's object.
    pub kind: String,
    /// Its field for the memory.
    pub path: String,
    pub host: H,
}

impl<H> MemoryUpdater<H> {
    /// Changes `spec.memory` of a `SimMachine`.
    pub fn new(host: H) -> Self {
        Self { kind: KIND.to_owned(), path: PATH.to_owned(), host }
    }
}

impl<H: Host> Updater for MemoryUpdater<H> {
    fn claims(&self) -> Claims {
        Paths::none().infrastructure_of(&self.kind, &self.path).into()
    }

    async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
        let memory = match machine.infrastructure_field(&self.path) {
            Some(Value::String(memory)) => memory.clone(),
            Some(Value::Number(memory)) => memory.to_string(),
            _ => return Err(UpdateFailure(format!("the machine has no {} to be set", self.path))),
        };
        machine.report(format!("setting the memory to {memory}"));
        let changed = self.host.change(machine.namespace(), machine.name(), HostChange::Memory(memory)).await;
        changed.map(|()| Progress::Done).map_err(|error| UpdateFailure::new(error.to_string()))
    }
}
