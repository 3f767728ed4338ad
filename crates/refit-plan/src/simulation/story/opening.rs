//! How a story begins: what is wanted, what is allowed, and what is there.

use std::fmt::Write;

use refit_api::policy::InPlacePolicy;

use super::names;
use crate::simulation::scenario::{Scenario, Strategy};

pub fn opening(scenario: &Scenario) -> String {
    let machines = if scenario.replicas == 1 { "machine is" } else { "machines are" };
    let mut text = format!("{} {machines} wanted, of template {}.\n", scenario.replicas, scenario.template);
    text += &match scenario.strategy {
        Strategy::OnDelete => "A machine changes when the user deletes it.\n".to_owned(),
        Strategy::RollingUpdate => limits(scenario) + means(scenario),
    };
    let sets = scenario.machine_sets.iter().filter(|set| !set.machines.is_empty());
    for set in sets.clone() {
        let _ = writeln!(text, "{} has {} of template {}.", set.name, names(&set.machines), set.template);
    }
    if sets.count() == 0 {
        text += "There are no machines yet.\n";
    }
    text + "Below, `ms1 3/2 (m1, m2, m3)` is a MachineSet that has 3 machines, these, and is to have 2.\n\n"
}

fn limits(scenario: &Scenario) -> String {
    let replicas = scenario.replicas;
    scenario.limits(replicas).map_or_else(
        |error| format!("{error}.\n"),
        |limits| {
            let (most, least) = (replicas.saturating_add(limits.max_surge), limits.min_available(replicas));
            format!("At most {most} may be there at a time, and at least {least} must be available.\n")
        },
    )
}

fn means(scenario: &Scenario) -> &'static str {
    match (scenario.policy, scenario.in_place, scenario.keep_originals) {
        (InPlacePolicy::Never, ..) => "Machines are replaced, whatever extensions cover.\n",
        (InPlacePolicy::Prefer, false, _) => "No extension covers the change, so machines are replaced.\n",
        (InPlacePolicy::Prefer, true, true) => "Machines are updated in place. All of them stay.\n",
        (InPlacePolicy::Prefer, true, false) => {
            "Machines are updated in place, in upstream's sequence: a surge machine takes the place of one of them.\n"
        }
        (InPlacePolicy::Require, true, _) => "Machines are updated in place. None may be replaced.\n",
        (InPlacePolicy::Require, false, _) => "No extension covers the change, and no machine may be replaced.\n",
    }
}
