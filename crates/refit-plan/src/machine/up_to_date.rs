//! Whether a Machine is what its MachineDeployment wants.

use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::conditions::machine::{
    not_up_to_date, not_up_to_date_until_kubelet_is, not_up_to_date_while_updating, up_to_date,
};
use refit_api::conditions::{NewCondition, Status, get};
use refit_api::vocabulary::condition_types as types;

use super::draft::Draft;
use super::quiet::Passing;
use crate::machine_deployment::compare_templates;

/// The condition `UpToDate`; nothing for a Machine without MachineDeployment, whose owner says it.
///
/// It is the MachineSet that is compared, as that is what the MachineDeployment decides by.
pub(super) fn condition(draft: &mut Draft<'_>) -> Option<NewCondition> {
    let (set, deployment) = (draft.seen.machine_set.as_ref()?, draft.seen.machine_deployment.as_ref()?);
    let mut differences = compare_templates(&set.spec.template, &deployment.spec.template).condition_messages;
    if is_forced(draft, set, deployment) {
        differences.push("MachineDeployment spec.rolloutAfter expired".to_owned());
    }
    if !differences.is_empty() {
        draft.will_pass(Passing::OutOfDate);
        return Some(not_up_to_date(&differences));
    }
    let updating = get(&draft.machine.status.conditions, types::UPDATING);
    if let Some(updating) = updating.filter(|updating| Status::of(updating) == Status::True) {
        return Some(not_up_to_date_while_updating(&updating.message));
    }
    Some(match lagging_kubelet(&draft.machine) {
        Some((found, wanted)) => not_up_to_date_until_kubelet_is(found, wanted),
        None => up_to_date(),
    })
}

/// The version that the kubelet reports and the one that is wanted, where they differ. Where no version is wanted, every
/// one is right.
pub(crate) fn lagging_kubelet(machine: &Machine) -> Option<(&str, &str)> {
    let wanted = machine.spec.version.as_deref().filter(|version| !version.is_empty())?;
    let found = machine.status.node_info.as_ref().map(|info| info.kubelet_version.as_str())?;
    (!found.is_empty() && found != wanted).then_some((found, wanted))
}

/// Whether the user asked for all Machines that are older than a time that has passed.
fn is_forced(draft: &Draft<'_>, set: &MachineSet, deployment: &MachineDeployment) -> bool {
    let after = deployment.spec.rollout.after.as_ref().filter(|after| after.0 < draft.seen.now);
    after.is_some_and(|after| set.metadata.creation_timestamp.as_ref().is_none_or(|created| created.0 < after.0))
}
