//! The configurations that are checked.
//!
//! `REFIT_MODEL=large` makes every one of them larger: four machines, and both caches may fall behind. That takes hours
//! and much memory.

use std::collections::BTreeSet;
use std::sync::Mutex;

use refit_plan::machine_deployment::plan;
use stateright::{Checker, Model};

use crate::ledger::Fault::{TooFew, TooMany};
use crate::protocol::Change::{Delete, OnDelete, Pause, Replicas, Resume, RollingUpdate, Template};
use crate::protocol::{Change, Kind, Protocol};
use crate::state::{Answer, Policy, Provider};
use crate::story::tell;

/// How many threads look for states: as many as the smallest machine has cores that builds this.
const THREADS: usize = 2;

/// What is asked of a rollout: the policy, surge and unavailable machines.
type Rollout = (Policy, u8, u8);

const UPSTREAM: Rollout = (Policy::Upstream, 0, 1);
const UPSTREAM_SURGE: Rollout = (Policy::Upstream, 1, 0);
const KEEP_SURGE: Rollout = (Policy::Keep, 1, 0);
const REQUIRE: Rollout = (Policy::Require, 0, 1);
const REQUIRE_SURGE: Rollout = (Policy::Require, 1, 0);
/// Of two that differ in name only, one is enough: where every change is covered, to keep originals is to require it.
const ALL: [Rollout; 4] = [UPSTREAM, UPSTREAM_SURGE, KEEP_SURGE, REQUIRE];

pub fn protocol((policy, max_surge, max_unavailable): Rollout, changes: &[Change]) -> Protocol {
    Protocol {
        policy,
        max_surge,
        max_unavailable,
        machines: 3,
        changes: changes.to_vec(),
        failures: 0,
        troubles: 0,
        lags: Vec::new(),
        excused: Vec::new(),
        plan,
        healed: Mutex::new(BTreeSet::new()),
    }
}

/// Visits every state, and demands that all properties hold in all of them. `at_least` so many states there must be, so
/// that a model that has come to a halt is not taken for one that is right.
#[track_caller]
fn check(protocol: Protocol, at_least: usize) {
    let protocol = enlarged(protocol);
    let name = protocol.to_string();
    let checker = protocol.checker().threads(THREADS).spawn_bfs().join();
    let (states, steps, depth) = (checker.unique_state_count(), checker.state_count(), checker.max_depth());
    println!("{name}: {states} states, {steps} steps, {depth} deep");
    assert!(checker.is_done(), "{name}: states are left to be visited");
    let properties = checker.model().properties();
    for property in properties {
        let path = checker.discovery(property.name);
        match property.expectation {
            stateright::Expectation::Sometimes => assert!(path.is_some(), "{name}: never: {}", property.name),
            stateright::Expectation::Always | stateright::Expectation::Eventually => {
                if let Some(path) = path {
                    panic!(
                        "{name}: not so: {}
{}",
                        property.name,
                        tell(path)
                    );
                }
            }
        }
    }
    assert!(states >= at_least, "{name}: {states} states, there must be {at_least}");
}

#[expect(clippy::disallowed_methods, reason = "a switch for people who run the test, not for what is tested")]
fn is_large() -> bool {
    std::env::var_os("REFIT_MODEL").is_some_and(|size| size == "large")
}

fn enlarged(mut protocol: Protocol) -> Protocol {
    if is_large() {
        protocol.machines = 4;
        protocol.lags = vec![Kind::Machines, Kind::Sets];
    }
    protocol
}

#[test]
fn passes_that_are_cut_off_anywhere_do_no_harm() {
    ALL.iter().for_each(|&rollout| check(protocol(rollout, &[]), 400));
}

#[test]
fn caches_that_fall_behind_do_no_harm() {
    for kind in [Kind::Machines, Kind::Sets] {
        ALL.iter().for_each(|&rollout| check(Protocol { lags: vec![kind], ..protocol(rollout, &[]) }, 1_000));
    }
}

#[test]
fn an_update_that_fails_for_good_does_no_harm() {
    ALL.iter().for_each(|&rollout| check(Protocol { failures: 1, ..protocol(rollout, &[]) }, 500));
}

#[test]
fn pausing_at_any_time_loses_no_machine() {
    ALL.iter().for_each(|&rollout| check(protocol(rollout, &[Pause, Resume]), 3_000));
}

#[test]
fn switching_to_on_delete_and_back_at_any_time_loses_no_machine() {
    ALL.iter().for_each(|&rollout| check(protocol(rollout, &[OnDelete, RollingUpdate]), 7_000));
}

#[test]
fn scaling_at_any_time_keeps_within_the_limits() {
    for replicas in [2, 4] {
        for rollout in [UPSTREAM, KEEP_SURGE, REQUIRE] {
            check(protocol(rollout, &[Replicas(replicas)]), 7_000);
        }
    }
}

#[test]
fn changing_the_template_back_at_any_time_loses_no_machine() {
    for rollout in [REQUIRE, KEEP_SURGE] {
        check(protocol(rollout, &[Template(1)]), 30_000);
    }
}

/// There are three MachineSets then. With two machines the checker comes to its end in seconds.
#[test]
fn changing_the_template_once_more_at_any_time_loses_no_machine() {
    check(Protocol { machines: 2, ..protocol(REQUIRE, &[Template(3)]) }, 20_000);
    if is_large() {
        check(Protocol { machines: 2, ..protocol(KEEP_SURGE, &[Template(3)]) }, 20_000);
    }
}

/// Another template while the rollout is paused: nobody makes its MachineSet before it goes on. There are three MachineSets then,
/// and with two machines more than a million states.
#[test]
fn changing_the_template_while_it_is_paused_loses_no_machine() {
    for rollout in [REQUIRE, REQUIRE_SURGE] {
        check(Protocol { machines: 1, ..protocol(rollout, &[Pause, Template(3), Resume]) }, 2_000);
    }
}

/// To the template before in the middle of an update, OnDelete, and back again.
#[test]
fn changing_the_template_back_and_forth_over_on_delete_loses_no_machine() {
    let changes = [Template(1), OnDelete, Template(2)];
    check(Protocol { machines: 1, ..protocol(REQUIRE, &changes) }, 2_000);
}

/// For a moment machines may be replaced. What was made then goes again or stays; those that were there first stay from then on.
#[test]
fn another_policy_for_a_moment_costs_no_machine_after_it() {
    for policy in [Policy::Never, Policy::Upstream] {
        for rollout in [REQUIRE, REQUIRE_SURGE] {
            let changes = [Change::Policy(policy), Change::Policy(Policy::Require)];
            // Where machines are replaced, orders are taken back at once, as upstream does.
            let excused = vec![TooMany, TooFew];
            check(Protocol { machines: 2, excused, ..protocol(rollout, &changes) }, 2_000);
        }
    }
}

/// An extension is away, or a template is gone, and comes back. Nothing is replaced for that.
#[test]
fn what_is_not_known_replaces_no_machine() {
    for rollout in [KEEP_SURGE, REQUIRE] {
        let changes = [Change::Answer(Answer::Undecided), Change::Answer(Answer::Covered)];
        check(protocol(rollout, &changes), 3_000);
    }
}

/// Machines are replaced, and then an extension comes that covers the change.
#[test]
fn an_extension_that_comes_later_keeps_the_machines_that_are_left() {
    let changes = [Change::Answer(Answer::Uncovered), Change::Answer(Answer::Covered)];
    check(Protocol { machines: 2, ..protocol(KEEP_SURGE, &changes) }, 2_000);
}

#[test]
fn a_machine_whose_update_failed_is_updated_to_what_is_wanted_then() {
    let protocol = protocol(REQUIRE, &[Template(1)]);
    check(Protocol { machines: 2, failures: 1, ..protocol }, 10_000);
}

/// A try that failed is made again, or the machine takes what is wanted by then, never both.
#[test]
fn a_machine_whose_try_failed_is_free_for_what_is_wanted_then() {
    check(Protocol { machines: 2, troubles: 1, ..protocol(REQUIRE, &[Template(1)]) }, 10_000);
    check(Protocol { machines: 1, troubles: 1, ..protocol(REQUIRE, &[Template(3)]) }, 1_000);
}

/// The user wants fewer: the machine in trouble may be the one that goes, and no other goes for it.
#[test]
fn a_machine_whose_try_failed_may_be_the_one_that_is_scaled_away() {
    check(Protocol { machines: 2, troubles: 1, ..protocol(REQUIRE, &[Replicas(1)]) }, 2_000);
}

/// The provider refuses to change a machine for the moment: it stays, the others move, and it follows when it is let.
#[test]
fn a_refusal_for_the_moment_replaces_no_machine() {
    for rollout in [KEEP_SURGE, REQUIRE] {
        check(Protocol { machines: 2, ..protocol(rollout, &refusal(1, Provider::Refuses)) }, 2_000);
    }
}

/// Where the policy allows it, those that the provider refuses for good are replaced, and no other.
#[test]
fn a_refusal_for_good_replaces_that_machine_and_no_other() {
    for rollout in [KEEP_SURGE, REQUIRE] {
        check(Protocol { machines: 2, ..protocol(rollout, &refusal(1, Provider::RefusesForGood)) }, 2_000);
    }
}

fn refusal(machine: u8, says: Provider) -> [Change; 2] {
    [Change::Provider(machine, says), Change::Provider(machine, Provider::Accepts)]
}

#[test]
fn deleting_a_machine_at_any_time_costs_no_other() {
    for rollout in [REQUIRE, KEEP_SURGE] {
        check(protocol(rollout, &[Delete(1)]), 20_000);
    }
}

/// A move that was decided for the template before may be carried out after the MachineDeployment has taken the machine
/// for one that stays. Upstream's sequence has no way to take an order back.
#[test]
fn upstreams_sequence_may_miss_the_limits_when_the_template_changes_back() {
    let protocol = protocol(UPSTREAM, &[Template(1)]);
    check(Protocol { machines: 2, excused: vec![TooMany, TooFew], ..protocol }, 2_000);
}

/// Its MachineSet and the MachineDeployment may both see to it that the machine is replaced.
#[test]
fn upstreams_sequence_may_make_a_machine_too_many_when_one_is_deleted() {
    let protocol = protocol(UPSTREAM, &[Delete(1)]);
    check(Protocol { excused: vec![TooMany], ..protocol }, 4_000);
}
