//! Which machine goes first.

use jiff::Timestamp;
use refit_api::cluster::MachineSetDeletionOrder;

use super::replicas::is_scaffolding;
use super::{MachineView, Observed};

const DELETING: f64 = 100.0;
const DELETE_REQUESTED: f64 = 80.0;
/// The surge machine that stood in for others. What the user has named goes before it.
const SCAFFOLDING: f64 = 78.0;
/// One whose update failed, where the user wants fewer machines: it goes before what only stands in for others.
const FAILED_AND_TAKEN_BACK: f64 = 79.0;
const FAILED: f64 = 76.0;
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
    } else if machine.update_failed && observed.handover.scaled_down > 0 {
        FAILED_AND_TAKEN_BACK
    } else if goes_again(machine, observed) {
        SCAFFOLDING
    } else if machine.update_failed {
        FAILED
    } else if machine.updating {
        UPDATING
    } else if machine.unhealthy || !machine.has_node {
        UNHEALTHY
    } else {
        by_age(machine, observed)
    }
}

/// Where machines are replaced, what a rollout has made is to stay, and upstream's order holds.
fn goes_again(machine: &MachineView, observed: &Observed) -> bool {
    let is_named = observed.handover.is_scaffolding(&machine.name);
    is_named || (observed.keeps_originals && is_scaffolding(machine, observed))
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
