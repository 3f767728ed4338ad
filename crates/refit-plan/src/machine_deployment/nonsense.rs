//! A MachineDeployment that asks for fewer machines than none. Admission lets it pass, as upstream's does, which then deletes
//! all machines.

use super::{MachineSetPlan, MachineSetView, Observed, Plan, Strategy};
use crate::waiting::WaitingOn;

/// Leaves every MachineSet as it is, and says why.
pub fn hold(observed: &Observed<'_>) -> Plan {
    let on_delete = observed.deployment.strategy == Strategy::OnDelete;
    let unchanged = |view: &MachineSetView, disable_machine_create: bool| MachineSetPlan {
        name: view.name.clone(),
        replicas: view.spec_replicas.max(0),
        handover: view.handover.clone(),
        disable_machine_create,
        notes: Vec::new(),
    };
    let new = observed.new.iter().map(|view| unchanged(view, false));
    let old = observed.old.iter().map(|old| unchanged(&old.view, on_delete));
    let replicas = observed.deployment.replicas;
    let what = format!("spec.replicas is {replicas}, so nothing is changed; set it to 0 or more");
    let waiting_on = vec![WaitingOn::InvalidSpec { what }];
    Plan { machine_sets: new.chain(old).collect(), wanted: Vec::new(), waiting_on }
}
