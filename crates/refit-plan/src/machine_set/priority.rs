//! Which machine goes first.

use jiff::Timestamp;
use refit_api::cluster::MachineSetDeletionOrder;

use super::{MachineView, Observed};
use crate::handover::Scaffolding;

const DELETING: f64 = 100.0;
const DELETE_REQUESTED: f64 = 80.0;
/// The surge machine that stood in for others. What the user has named goes before it.
const SCAFFOLDING: f64 = 78.0;
const UPDATING: f64 = 75.0;
const UNHEALTHY: f64 = 50.0;
/// Healthy ones by age stay below the unhealthy.
const OLDEST: f64 = 50.0;
const ANY: f64 = 20.0;
const TEN_DAYS_IN_SECONDS: f64 = 864_000.0;

/// How soon a machine goes; the higher, the sooner.
pub fn priority(machine: &MachineView, observed: &Observed) -> f64 {
    if machine.deleting {
        DELETING
    } else if machine.delete_requested {
        DELETE_REQUESTED
    } else if is_scaffolding(machine, observed) {
        SCAFFOLDING
    } else if machine.updating {
        UPDATING
    } else if machine.unhealthy || !machine.has_node {
        UNHEALTHY
    } else {
        by_age(machine, observed)
    }
}

/// Scaffolding that nobody has named yet is the youngest machine that was created here.
fn is_scaffolding(machine: &MachineView, observed: &Observed) -> bool {
    match &observed.handover.scaffolding {
        None => false,
        Some(Scaffolding::Machine(name)) => *name == machine.name,
        Some(Scaffolding::Requested) => {
            let created_here = observed.machines.iter().filter(|machine| !machine.updating);
            created_here.max_by_key(|machine| machine.created).is_some_and(|youngest| youngest.name == machine.name)
        }
    }
}

/// All machines, those that go first in front. Equal ones keep their order, which is that of their names.
pub fn in_order(observed: &Observed) -> Vec<&MachineView> {
    let mut machines: Vec<(f64, &MachineView)> =
        observed.machines.iter().map(|machine| (priority(machine, observed), machine)).collect();
    machines.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    machines.into_iter().map(|(_, machine)| machine).collect()
}

fn by_age(machine: &MachineView, observed: &Observed) -> f64 {
    match observed.order {
        MachineSetDeletionOrder::Random => ANY,
        MachineSetDeletionOrder::Oldest => age(machine.created, observed.now),
        MachineSetDeletionOrder::Newest => OLDEST - age(machine.created, observed.now),
    }
}

/// From 0 for a machine of now, or of an unknown or future time, towards 50 for an old one.
fn age(created: Option<Timestamp>, now: Timestamp) -> f64 {
    let seconds = created.map_or(0.0, |created| now.duration_since(created).as_secs_f64());
    if seconds < 0.0 { 0.0 } else { OLDEST * (1.0 - (-seconds / TEN_DAYS_IN_SECONDS).exp()) }
}
