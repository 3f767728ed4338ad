//! The same model with upstream's way to pause: the checker must find the machine that it costs.
//!
//! Upstream takes the marks of moves off all MachineSets when a MachineDeployment is paused or switched to OnDelete, and
//! counts nothing that has been moved. If these tests fail, the properties have stopped seeing anything.

use std::collections::BTreeSet;
use std::sync::Mutex;

use refit_plan::handover::Handover;
use refit_plan::machine_deployment::{self, MachineSetPlan, MachineSetView, Observed, Plan, Strategy};
use stateright::{Checker, HasDiscoveries, Model};

use crate::protocol::{Change, Protocol};
use crate::state::Policy;
use crate::story::tell;

/// The real plan, save where upstream stops looking after machines on their way.
fn upstream_plan(observed: &Observed<'_>) -> Plan {
    if !observed.deployment.paused && observed.deployment.strategy != Strategy::OnDelete {
        return machine_deployment::plan(observed);
    }
    let sets = observed.new.iter().chain(observed.old.iter().map(|old| &old.view));
    Plan { machine_sets: sets.map(without_marks).collect(), ..Plan::default() }
}

fn without_marks(set: &MachineSetView) -> MachineSetPlan {
    MachineSetPlan {
        name: set.name.clone(),
        replicas: set.spec_replicas,
        // Upstream asks nobody whether a machine may go.
        handover: Handover { scaled_down: 9, ..Handover::default() },
        disable_machine_create: false,
        notes: Vec::new(),
    }
}

#[track_caller]
fn check(change: Change, policy: Policy, property: &'static str) {
    let protocol = Protocol {
        policy,
        max_surge: 0,
        max_unavailable: 1,
        machines: 3,
        changes: vec![change],
        failures: 0,
        troubles: 0,
        lags: Vec::new(),
        excused: Vec::new(),
        plan: upstream_plan,
        healed: Mutex::new(BTreeSet::new()),
    };
    let checker = protocol.checker().finish_when(HasDiscoveries::AnyOf([property].into())).spawn_bfs().join();
    let path = checker.discovery(property).unwrap_or_else(|| panic!("{change:?} keeps {property:?}"));
    println!("{change:?} breaks {property:?}:\n{}", tell(path));
}

#[test]
fn upstreams_pause_deletes_a_machine_on_its_way() {
    check(Change::Pause, Policy::Require, "no machine is deleted on its way");
    check(Change::Pause, Policy::Require, "the first machines stay");
}

#[test]
fn upstreams_switch_to_on_delete_deletes_a_machine_on_its_way() {
    check(Change::OnDelete, Policy::Require, "no machine is deleted on its way");
    check(Change::OnDelete, Policy::Require, "the first machines stay");
}
