//! The object of a rollout.

use refit_api::cluster::{ContractVersionedObjectReference, GROUP, MachineDeployment};
use refit_api::policy::InPlacePolicy;
use refit_api::resource::CustomKind;
use refit_api::rollout::{MachineRollout, MachineRolloutSpec};
use refit_api::vocabulary::labels;

use super::is_open;
use crate::ownership::controller;
use crate::policy;

/// A rollout, and those that were written down before.
pub(crate) struct Begin<'a> {
    pub deployment: &'a MachineDeployment,
    pub in_place: InPlacePolicy,
    pub keep_originals: bool,
    /// The MachineSet that machines are to belong to.
    pub machine_set: &'a str,
    /// The number of the rollout.
    pub number: i64,
    pub rollouts: &'a [&'a MachineRollout],
}

/// The MachineRollout of a rollout that is going on: the one that is there, or the one to create. Nothing if the
/// MachineDeployment never was in the API.
///
/// It is named after what it is about, so that creating it twice is creating it once.
pub(crate) fn begin(begin: &Begin<'_>) -> Option<MachineRollout> {
    let is_same = |it: &&&MachineRollout| {
        it.spec.revision == begin.machine_set && it.spec.number.is_none_or(|number| number == begin.number)
    };
    let same: Vec<&&MachineRollout> = begin.rollouts.iter().filter(is_same).collect();
    if let Some(open) = same.iter().find(|it| is_open(it)) {
        return Some((***open).clone());
    }
    let number = format!("{}-{}", begin.machine_set, begin.number);
    // Machines that came back to an old MachineSet after the end: somebody has adopted them, or restored them.
    let name = if same.is_empty() { number } else { format!("{number}-{}", same.len() + 1) };
    create(begin, name)
}

fn create(begin: &Begin<'_>, name: String) -> Option<MachineRollout> {
    let deployment = begin.deployment;
    let mut rollout = MachineRollout::default();
    rollout.metadata.name = Some(name);
    rollout.metadata.namespace = deployment.metadata.namespace.clone();
    rollout.metadata.owner_references = Some(vec![controller(deployment).ok()?]);
    let cluster = (labels::CLUSTER_NAME.to_owned(), deployment.spec.cluster_name.clone());
    rollout.metadata.labels = Some([cluster].into());
    rollout.spec = MachineRolloutSpec {
        target_ref: ContractVersionedObjectReference {
            api_group: GROUP.to_owned(),
            kind: MachineDeployment::DEFINITION.kind.to_owned(),
            name: deployment.metadata.name.clone().unwrap_or_default(),
        },
        revision: begin.machine_set.to_owned(),
        number: Some(begin.number),
        policy: begin.in_place,
        keep_originals: policy::keeps_originals(begin.in_place, begin.keep_originals),
    };
    Some(rollout)
}
