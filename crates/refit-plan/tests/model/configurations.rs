//! The configurations that are checked.
//!
//! `REFIT_MODEL=large` makes every one of them larger: four machines, and both caches may fall behind. That takes hours
//! and much memory.

use std::collections::BTreeSet;
use std::sync::Mutex;

use refit_api::policy::InPlacePolicy::{self, Prefer, Require};
use refit_plan::machine_deployment::plan;
use stateright::{Checker, Model};

use crate::ledger::Fault::{TooFew, TooMany};
use crate::protocol::Change::{Delete, OnDelete, Pause, Replicas, Resume, RollingUpdate, Template};
use crate::protocol::{Change, Kind, Protocol};
use crate::story::tell;

/// How many threads look for states: as many as the smallest machine has cores that builds this.
const THREADS: usize = 2;

/// What is asked of a rollout: the policy, whether originals are kept, surge and unavailable machines.
type Rollout = (InPlacePolicy, bool, u8, u8);

const UPSTREAM: Rollout = (Prefer, false, 0, 1);
const UPSTREAM_SURGE: Rollout = (Prefer, false, 1, 0);
const KEEP_SURGE: Rollout = (Prefer, true, 1, 0);
const REQUIRE: Rollout = (Require, false, 0, 1);
/// Of two that differ in name only, one is enough: where every change is covered, to keep originals is to require it.
const ALL: [Rollout; 4] = [UPSTREAM, UPSTREAM_SURGE, KEEP_SURGE, REQUIRE];

pub fn protocol((policy, keep_originals, max_surge, max_unavailable): Rollout, changes: &[Change]) -> Protocol {
    Protocol {
        policy,
        keep_originals,
        max_surge,
        max_unavailable,
        machines: 3,
        changes: changes.to_vec(),
        failures: 0,
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

#[test]
fn a_machine_whose_update_failed_is_updated_to_what_is_wanted_then() {
    let protocol = protocol(REQUIRE, &[Template(1)]);
    check(Protocol { machines: 2, failures: 1, ..protocol }, 10_000);
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
    check(Protocol { excused: vec![TooMany, TooFew], ..protocol }, 30_000);
}

/// Its MachineSet and the MachineDeployment may both see to it that the machine is replaced.
#[test]
fn upstreams_sequence_may_make_a_machine_too_many_when_one_is_deleted() {
    let protocol = protocol(UPSTREAM, &[Delete(1)]);
    check(Protocol { excused: vec![TooMany], ..protocol }, 4_000);
}
