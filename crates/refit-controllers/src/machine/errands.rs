//! What a decision cannot do itself: asking extensions, draining, looking at volumes. The result goes into the memory.

use refit_api::hooks::{HookResponse, UpdateMachineResponse};
use refit_hooks::chain;
use refit_hooks::extensions::CallError;
use refit_plan::machine::{Answer, Drain, DrainState, Errand, Observed, Volumes, VolumesState};

use super::{Shared, drain, volumes};
use crate::cache::ObjectKey;
use crate::workload::{Connected, Workload};

impl Shared {
    /// Runs the errand, and remembers what came of it.
    pub(super) async fn run_errand(&self, key: &ObjectKey, observed: &Observed, workload: &Workload, errand: Errand) {
        let uid = observed.machine.metadata.uid.as_ref();
        match errand {
            Errand::Ask { call, about, request } => {
                let namespace = self.shell.namespace(&key.namespace);
                let response = self.shell.extensions.update_machine(&call.updater, &namespace, *request).await;
                let response = response.or_else(|error| failed(&error));
                let answer = Answer { call, about, at: self.shell.clock.now(), response };
                self.memories.note(key, uid, |memory| memory.answer = Some(answer));
            }
            Errand::Drain { node } => {
                let state = match &workload.connected {
                    Some(connected) => self.drain(observed, connected, &node).await,
                    None => DrainState::Failed { why: NOT_CONNECTED.to_owned() },
                };
                let drain = Drain { at: self.shell.clock.now(), state };
                self.memories.note(key, uid, |memory| memory.drain = Some(drain));
            }
            Errand::InspectVolumes { node } => {
                let state = match &workload.connected {
                    Some(connected) => self.volumes(observed, connected, &node).await,
                    None => VolumesState::Failed { why: NOT_CONNECTED.to_owned() },
                };
                let volumes = Volumes { at: self.shell.clock.now(), state };
                self.memories.note(key, uid, |memory| memory.volumes = Some(volumes));
            }
        }
    }

    async fn drain(&self, observed: &Observed, connected: &Connected, node: &str) -> DrainState {
        let drained = drain::drain(&self.shell, &self.events, observed, connected, node).await;
        drained.unwrap_or_else(|error| DrainState::Failed { why: chain(&error) })
    }

    async fn volumes(&self, observed: &Observed, connected: &Connected, node: &str) -> VolumesState {
        let inspected = volumes::inspect(&self.shell, observed, connected, node).await;
        inspected.unwrap_or_else(|error| VolumesState::Failed { why: chain(&error) })
    }
}

/// That an extension failed is an answer, too: the try is over then. Without one it may still be at work.
fn failed(error: &CallError) -> Result<UpdateMachineResponse, String> {
    error.answered_failure().map(UpdateMachineResponse::failed).ok_or_else(|| error.own_words())
}

const NOT_CONNECTED: &str = "there is no connection to the workload cluster";
