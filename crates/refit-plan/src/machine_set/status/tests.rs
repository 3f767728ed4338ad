use refit_api::conditions::get;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};

use super::*;
use crate::reading::Unreadable;
use crate::testing::{CREATED, Store, at, condition, labels_of, machine_of, machine_set};

fn good(set: &MachineSet, name: &str) -> Machine {
    let mut machine = machine_of(set, name);
    for type_ in [types::READY, types::AVAILABLE, types::UP_TO_DATE] {
        machine.status.conditions.push(condition(type_, "True"));
    }
    machine
}

fn marked(set: &MachineSet, name: &str, marks: &[&str]) -> Machine {
    let mut machine = good(set, name);
    let marks: Vec<(&str, &str)> = marks.iter().map(|&mark| (mark, "")).collect();
    machine.metadata.annotations = Some(labels_of(&marks));
    machine
}

fn observed<'a>(set: &'a MachineSet, machines: &'a Listed<&'a Machine>) -> Observed<'a> {
    Observed {
        set,
        machines,
        blockers: &[],
        is_current: true,
        missing_templates: &[],
        succeeded: true,
        held: None,
        now: at(CREATED + 60),
    }
}

/// A condition of the status in words.
fn check(observed: Observed<'_>, type_: &str, expected: &str) {
    let status = status(observed).expect("the selector is fine");
    let found = get(&status.conditions, type_).expect("the condition must be there");
    let words = format!("{} {}: {}", found.status, found.reason, found.message);
    assert_eq!(words.trim_end_matches(": "), expected, "{type_}");
}

#[test]
fn counters_are_of_one_pass_over_the_machines() {
    let set = machine_set("ms", 3);
    let mut unready = machine_of(&set, "b");
    unready.status.conditions.push(condition(types::READY, "False"));
    let machines = [good(&set, "a"), unready, marked(&set, "c", &[UPDATE_IN_PROGRESS])];
    let machines = Listed::All(machines.iter().collect());
    let status = status(observed(&set, &machines)).expect("the selector is fine");
    let counters = (status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas);
    assert_eq!(counters, (Some(3), Some(1), Some(1), Some(1)));
    assert_eq!(status.versions.len(), 1);
    assert_eq!(status.observed_generation, Some(1));
    let selector = "cluster.x-k8s.io/cluster-name=c,machine-template-hash=1-ms";
    assert_eq!(status.selector.as_deref(), Some(selector));
}

#[test]
fn scaling_up_tells_what_blocks_it() {
    let set = machine_set("ms", 3);
    let machines = [good(&set, "a")];
    let machines = Listed::All(machines.iter().collect());
    check(observed(&set, &machines), types::SCALING_UP, "True ScalingUp: Scaling up from 1 to 3 replicas");
    let blocked =
        Observed { blockers: &["not stable"], missing_templates: &["HostTemplate"], ..observed(&set, &machines) };
    let words = "True ScalingUp: Scaling up from 1 to 3 replicas is blocked because:\n* not stable\n* HostTemplate does not exist";
    check(blocked, types::SCALING_UP, words);
    let enough = machine_set("ms", 1);
    let words = "False NotScalingUp: Scaling up would be blocked because HostTemplate does not exist";
    check(Observed { set: &enough, ..blocked }, types::SCALING_UP, words);
}

#[test]
fn a_machine_that_is_not_counted_yet_is_not_too_many() {
    let set = machine_set("ms", 1);
    let pending = marked(&set, "b", &[UPDATE_IN_PROGRESS, PENDING_ACKNOWLEDGE_MOVE]);
    let machines = [good(&set, "a"), pending];
    let machines = Listed::All(machines.iter().collect());
    check(observed(&set, &machines), types::SCALING_DOWN, "False NotScalingDown");
    let machines = [good(&set, "a"), marked(&set, "b", &[UPDATE_IN_PROGRESS])];
    let machines = Listed::All(machines.iter().collect());
    check(observed(&set, &machines), types::SCALING_DOWN, "True ScalingDown: Scaling down from 2 to 1 replicas");
}

#[test]
fn a_machine_set_that_is_going_counts_down_to_none() {
    let mut set = machine_set("ms", 3);
    set.metadata.deletion_timestamp = set.metadata.creation_timestamp.clone();
    let machines = [good(&set, "a")];
    let machines = Listed::All(machines.iter().collect());
    let given = Observed { missing_templates: &["HostTemplate"], ..observed(&set, &machines) };
    check(given, types::SCALING_UP, "False NotScalingUp");
    check(given, types::SCALING_DOWN, "True ScalingDown: Scaling down from 1 to 0 replicas");
    check(given, types::DELETING, "True Deleting: Deleting 1 Machine");
    let none = Listed::All(Vec::new());
    check(observed(&set, &none), types::DELETING, "True Deleting: Deletion completed");
}

#[test]
fn conditions_of_machines_are_aggregated() {
    let set = machine_set("ms", 1);
    let none = Listed::All(Vec::new());
    check(observed(&set, &none), types::MACHINES_READY, "True NoReplicas");
    check(observed(&set, &none), types::MACHINES_UP_TO_DATE, "True NoReplicas");
    let machines = [good(&set, "a"), machine_of(&set, "b")];
    let machines = Listed::All(machines.iter().collect());
    let words = "Unknown ReadyUnknown: * Machine b: Condition Ready not yet reported";
    check(observed(&set, &machines), types::MACHINES_READY, words);
    let young = Observed { now: at(CREATED + 5), ..observed(&set, &machines) };
    check(young, types::MACHINES_UP_TO_DATE, "True UpToDate");
}

#[test]
fn unhealthy_machines_are_told_whether_or_not_they_are_replaced() {
    let set = machine_set("ms", 1);
    let mut machine = good(&set, "a");
    machine.status.conditions.push(condition(types::HEALTH_CHECK_SUCCEEDED, "False"));
    let unhealthy = [machine.clone()];
    let unhealthy = Listed::All(unhealthy.iter().collect());
    let words = "False NotRemediating: Machine a is not healthy (not to be remediated by MachineSet)";
    check(observed(&set, &unhealthy), types::REMEDIATING, words);
    machine.status.conditions.push(condition(types::OWNER_REMEDIATED, "False"));
    let replaced = [machine];
    let replaced = Listed::All(replaced.iter().collect());
    let status = status(observed(&set, &replaced)).expect("the selector is fine");
    assert!(conditions::is_true(&status.conditions, types::REMEDIATING));
}

/// DESIGN 5.3: a failed list is not an empty one.
#[test]
fn a_failed_list_leaves_the_counters_and_makes_conditions_unknown() {
    let mut set = machine_set("ms", 3);
    set.status.replicas = Some(3);
    let failed = Listed::Unreadable(Unreadable { what: "machines".to_owned(), why: "timeout".to_owned() });
    let given = Observed { succeeded: false, ..observed(&set, &failed) };
    let status = status(given).expect("the selector is fine");
    assert_eq!((status.replicas, status.observed_generation), (Some(3), None));
    for type_ in OWNED {
        check(given, type_, "Unknown InternalError: Please check controller logs for errors");
    }
}

#[test]
fn a_status_that_is_up_to_date_is_not_written() {
    let set = machine_set("ms", 1);
    let mut store = Store::default();
    store.insert_typed(&set);
    let machines = [good(&set, "a")];
    let machines = Listed::All(machines.iter().collect());
    let read = |store: &Store| store.typed::<MachineSet>("ms").expect("it must be there");
    let effect = write(observed(&read(&store), &machines)).expect("the selector is fine");
    store.carry_out(&effect.into_iter().collect::<Vec<_>>());
    let later = Observed { now: at(CREATED + 1_000), ..observed(&set, &machines) };
    assert_eq!(write(Observed { set: &read(&store), ..later }), Ok(None));
}

#[test]
fn nonsense_gives_a_verdict() {
    let mut set = machine_set("ms", -3);
    let machines = [good(&set, "a")];
    let machines = Listed::All(machines.iter().collect());
    for replicas in [Some(-3), None] {
        set.spec.replicas = replicas;
        for type_ in [types::SCALING_UP, types::SCALING_DOWN] {
            check(observed(&set, &machines), type_, "Unknown WaitingForReplicasSet: Waiting for spec.replicas set");
        }
    }
    set.spec.selector.match_labels = Some(labels_of(&[("no label!", "x")]));
    assert!(status(observed(&set, &machines)).is_err());
}
