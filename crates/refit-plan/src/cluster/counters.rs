//! How many machines a Cluster has: what its control plane, MachineDeployments and MachineSets say of theirs, and the
//! Machines that belong to nobody else.
//!
//! Nothing here walks over the Machines of a MachineSet: it has counted them.

use std::collections::BTreeMap;

use refit_api::cluster::{
    ClusterReplicasStatus, Machine, MachineDeployment, MachineSet, StatusUpgradePlanVersion, StatusVersion,
};
use refit_api::conditions::is_true;
use refit_api::contract::{ContractField, ContractVersion, get_i64, get_list};
use refit_api::version::sort_oldest_first;
use refit_api::vocabulary::condition_types as types;
use serde_json::Value;

use super::Draft;
use crate::fleet;
use crate::machine::External;

/// The longest list of versions that the CRD takes.
const MAX_VERSIONS: usize = 32;

/// What a MachineDeployment says of its machines.
pub fn of_machine_deployment(deployment: &MachineDeployment) -> ClusterReplicasStatus {
    let status = &deployment.status;
    ClusterReplicasStatus {
        desired_replicas: deployment.spec.replicas,
        replicas: status.replicas,
        up_to_date_replicas: status.up_to_date_replicas,
        ready_replicas: status.ready_replicas,
        available_replicas: status.available_replicas,
        versions: status.versions.clone(),
        upgrade_plan: Vec::new(),
    }
}

/// What a MachineSet says of its machines.
pub fn of_machine_set(set: &MachineSet) -> ClusterReplicasStatus {
    let status = &set.status;
    ClusterReplicasStatus {
        desired_replicas: set.spec.replicas,
        replicas: status.replicas,
        up_to_date_replicas: status.up_to_date_replicas,
        ready_replicas: status.ready_replicas,
        available_replicas: status.available_replicas,
        versions: status.versions.clone(),
        upgrade_plan: Vec::new(),
    }
}

/// Machines that nobody else counts. That one is there is the wish for it.
pub fn of_machines<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> ClusterReplicasStatus {
    let machines: Vec<&Machine> = machines.into_iter().collect();
    let count = |is_counted: &dyn Fn(&Machine) -> bool| {
        let count = machines.iter().filter(|machine| is_counted(machine)).count();
        i32::try_from(count).ok().filter(|count| *count > 0)
    };
    let with = |type_: &'static str| count(&|machine| is_true(&machine.status.conditions, type_));
    ClusterReplicasStatus {
        desired_replicas: count(&|_| true),
        replicas: count(&|_| true),
        up_to_date_replicas: with(types::UP_TO_DATE),
        ready_replicas: with(types::READY),
        available_replicas: with(types::AVAILABLE),
        versions: by_version(fleet::versions(machines.iter().copied())),
        upgrade_plan: Vec::new(),
    }
}

/// Counts anew. A field of the control plane that cannot be read leaves its counter as it is.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let of_deployments = seen.workers.iter().map(|worker| &worker.counted);
    let mut workers = of_deployments.chain(&seen.standalone).fold(ClusterReplicasStatus::default(), sum);
    workers.versions = by_version(workers.versions);
    let status = &mut draft.cluster.status;
    let known = status.control_plane.take().unwrap_or_default();
    let control_plane = match (&seen.cluster.spec.control_plane_ref, &seen.control_plane) {
        (None, _) => of_machines(&seen.control_plane_machines),
        (Some(_), External::Found { object, contract }) => of_control_plane(known.clone(), object, *contract),
        (Some(_), External::Missing | External::NotReferenced) => ClusterReplicasStatus::default(),
        (Some(_), External::Unreadable { .. }) => known.clone(),
    };
    status.control_plane = some(control_plane, known.upgrade_plan);
    let upgrade_plan = status.workers.take().unwrap_or_default().upgrade_plan;
    status.workers = some(workers, upgrade_plan);
}

/// What somebody else plans stays. Nothing at all is not written.
fn some(counted: ClusterReplicasStatus, upgrade_plan: Vec<StatusUpgradePlanVersion>) -> Option<ClusterReplicasStatus> {
    let counted = ClusterReplicasStatus { upgrade_plan, ..counted };
    (counted != ClusterReplicasStatus::default()).then_some(counted)
}

fn sum(mut all: ClusterReplicasStatus, more: &ClusterReplicasStatus) -> ClusterReplicasStatus {
    let add = |to: &mut Option<i32>, more: Option<i32>| {
        *to = more.map(|more| to.unwrap_or(0).saturating_add(more)).or(*to);
    };
    add(&mut all.desired_replicas, more.desired_replicas);
    add(&mut all.replicas, more.replicas);
    add(&mut all.up_to_date_replicas, more.up_to_date_replicas);
    add(&mut all.ready_replicas, more.ready_replicas);
    add(&mut all.available_replicas, more.available_replicas);
    all.versions.extend(more.versions.iter().cloned());
    all
}

/// Each version once, oldest first. Between builds that have no order, the first that was told comes first.
fn by_version(versions: Vec<StatusVersion>) -> Vec<StatusVersion> {
    let (mut places, mut each) = (BTreeMap::<String, usize>::new(), Vec::<StatusVersion>::new());
    for version in versions.into_iter().filter(|it| !it.version.is_empty()) {
        match places.get(&version.version) {
            Some(&place) => {
                let both = [each[place].replicas, version.replicas].into_iter().flatten();
                each[place].replicas = both.reduce(i32::saturating_add);
            }
            None => {
                places.insert(version.version.clone(), each.len());
                each.push(version);
            }
        }
    }
    sort_oldest_first(&mut each, |entry| &entry.version);
    each.truncate(MAX_VERSIONS);
    each
}

fn of_control_plane(known: ClusterReplicasStatus, object: &Value, contract: ContractVersion) -> ClusterReplicasStatus {
    let number = |path: &[&str]| get_i64(object, path).ok().flatten().and_then(|it| i32::try_from(it).ok());
    let desired = number(ContractField::ControlPlaneReplicas.path(contract)).or(known.desired_replicas);
    let available = match contract {
        ContractVersion::V1Beta2 => number(&["status", "availableReplicas"]),
        ContractVersion::V1Beta1 => {
            let unavailable = number(&["status", "unavailableReplicas"]);
            desired.zip(unavailable).map(|(desired, unavailable)| desired.saturating_sub(unavailable).max(0))
        }
    };
    ClusterReplicasStatus {
        desired_replicas: desired,
        replicas: number(ContractField::ControlPlaneStatusReplicas.path(contract)).or(known.replicas),
        up_to_date_replicas: number(ContractField::ControlPlaneUpToDateReplicas.path(contract))
            .or(known.up_to_date_replicas),
        ready_replicas: number(&["status", "readyReplicas"]).or(known.ready_replicas),
        available_replicas: available.or(known.available_replicas),
        versions: control_plane_versions(object, contract).unwrap_or(known.versions),
        upgrade_plan: Vec::new(),
    }
}

/// Nothing if they cannot be read.
fn control_plane_versions(object: &Value, contract: ContractVersion) -> Option<Vec<StatusVersion>> {
    let listed = get_list(object, ContractField::ControlPlaneStatusVersions.path(contract)).ok()?;
    listed.unwrap_or_default().iter().map(|item| serde_json::from_value(item.clone()).ok()).collect()
}
