use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::MachineDeploymentRolloutStrategy;
use refit_api::conditions::get;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};

use super::*;
use crate::status_patch::status_patch;
use crate::testing::{CREATED, Store, at, condition, labels_of, machine_deployment, machine_of, machine_set};

/// A MachineDeployment of three machines in the middle of a rollout from `old` to `new`.
struct World {
    deployment: MachineDeployment,
    /// Nothing: a list failed.
    sets: Option<Vec<MachineSet>>,
    machines: Vec<Machine>,
    current: Option<&'static str>,
    differences: BTreeMap<String, Vec<String>>,
    max_unavailable: Result<i32, AmountError>,
    missing_templates: Vec<&'static str>,
    succeeded: bool,
}

fn good(set: &MachineSet, name: &str) -> Machine {
    let mut machine = machine_of(set, name);
    for type_ in [types::READY, types::AVAILABLE, types::UP_TO_DATE] {
        machine.status.conditions.push(condition(type_, "True"));
    }
    machine
}

fn reported(name: &str) -> MachineSet {
    let mut set = machine_set(name, 0);
    set.status.replicas = Some(0);
    set
}

fn world(owners: &[(&str, &str)]) -> World {
    let machines = owners.iter().map(|(owner, name)| good(&machine_set(owner, 0), name)).collect();
    let difference = vec!["Version v1.31.0, v1.32.0 required".to_owned()];
    World {
        deployment: machine_deployment(3),
        sets: Some(vec![reported("new"), reported("old")]),
        machines,
        current: Some("uid-new"),
        differences: BTreeMap::from([("uid-old".to_owned(), difference)]),
        max_unavailable: Ok(0),
        missing_templates: Vec::new(),
        succeeded: true,
    }
}

impl World {
    fn status(&self) -> MachineDeploymentStatus {
        self.try_status().expect("the selector is fine")
    }

    fn try_status(&self) -> Result<MachineDeploymentStatus, SelectorError> {
        let machines: Vec<&Machine> = self.machines.iter().collect();
        let machine_sets: Option<Vec<&MachineSet>> = self.sets.as_ref().map(|sets| sets.iter().collect());
        status(Observed {
            deployment: &self.deployment,
            fleet: machine_sets
                .as_deref()
                .map_or(Fleet::Unknown, |machine_sets| Fleet::Known { machine_sets, machines: &machines }),
            current: self.current,
            differences: &self.differences,
            max_unavailable: &self.max_unavailable,
            missing_templates: &self.missing_templates,
            succeeded: self.succeeded,
            now: at(CREATED + 60),
        })
    }

    fn counters(&self) -> [Option<i32>; 4] {
        let status = self.status();
        [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas]
    }

    /// A condition of the status in words.
    fn check(&self, type_: &str, expected: &str) {
        let status = self.status();
        let found = get(&status.conditions, type_).expect("the condition must be there");
        let words = format!("{} {}: {}", found.status, found.reason, found.message);
        assert_eq!(words.trim_end_matches(": "), expected, "{type_}");
    }
}

const DONE: [(&str, &str); 3] = [("new", "a"), ("new", "b"), ("new", "c")];
const HALF: [(&str, &str); 3] = [("new", "a"), ("old", "b"), ("old", "c")];
const BEFORE: [(&str, &str); 3] = [("old", "a"), ("old", "b"), ("old", "c")];

#[test]
fn a_settled_deployment_reads_complete_and_is_not_written_to() {
    let mut world = world(&DONE);
    assert_eq!(world.counters(), [Some(3); 4]);
    assert!(is_complete(&world.deployment, &world.status()));
    world.check(types::AVAILABLE, "True Available");
    world.check(types::ROLLING_OUT, "False NotRollingOut");
    world.check(types::SCALING_UP, "False NotScalingUp");
    world.check(types::SCALING_DOWN, "False NotScalingDown");
    world.check(types::MACHINES_READY, "True Ready");
    world.check(types::MACHINES_UP_TO_DATE, "True UpToDate");
    world.check(types::REMEDIATING, "False NotRemediating");
    world.check(types::DELETING, "False NotDeleting");
    assert_eq!(world.status().phase, Some(MachineDeploymentPhase::Running));
    let mut store = Store::default();
    store.insert_typed(&world.deployment);
    world.deployment = store.typed("md").expect("it must be there");
    let write = |world: &World| status_patch(&world.deployment, &world.deployment.status, &world.status());
    store.carry_out(&write(&world).into_iter().collect::<Vec<_>>());
    world.deployment = store.typed("md").expect("it must be there");
    assert_eq!(write(&world), None);
}

/// DESIGN 5.12: complete before the rollout has begun. The Machine controller has not noticed the change yet, and all
/// machines still say that they are up to date.
#[test]
fn a_rollout_that_has_not_begun_is_not_complete() {
    let mut world = world(&BEFORE);
    world.deployment.metadata.generation = Some(2);
    assert_eq!(world.counters(), [Some(3), Some(3), Some(3), Some(0)]);
    assert!(!is_complete(&world.deployment, &world.status()));
    let rolling_out = "True RollingOut: Rolling out 3 not up-to-date replicas\n* Version v1.31.0, v1.32.0 required";
    world.check(types::ROLLING_OUT, rolling_out);
    let not_up_to_date = "False NotUpToDate: * Machines a, b, c:\n  * Version v1.31.0, v1.32.0 required";
    world.check(types::MACHINES_UP_TO_DATE, not_up_to_date);
    world.current = None;
    assert_eq!(world.counters()[3], Some(0), "the MachineSet of the new template is not there yet");
}

#[test]
fn a_pass_that_failed_has_not_dealt_with_the_generation() {
    let mut world = world(&DONE);
    world.deployment.metadata.generation = Some(2);
    world.deployment.status.observed_generation = Some(1);
    world.succeeded = false;
    assert_eq!(world.status().observed_generation, Some(1));
    assert!(!is_complete(&world.deployment, &world.status()));
}

/// DESIGN 5.12: counters that wobble while nothing comes or goes. MachineSets report late, and both count a machine
/// that moves, or neither does.
#[test]
fn counters_do_not_wobble_while_machines_change_their_owner() {
    for (new, old) in [(3, 3), (0, 0), (2, 3)] {
        let mut world = world(&HALF);
        let marks = labels_of(&[(UPDATE_IN_PROGRESS, ""), (PENDING_ACKNOWLEDGE_MOVE, "")]);
        world.machines[0].metadata.annotations = Some(marks);
        let report = |name: &str, replicas| {
            let mut set = reported(name);
            set.status.replicas = Some(replicas);
            set
        };
        world.sets = Some(vec![report("new", new), report("old", old)]);
        assert_eq!(world.counters(), [Some(3), Some(2), Some(2), Some(0)]);
        world.check(types::SCALING_DOWN, "False NotScalingDown");
    }
}

#[test]
fn machines_of_others_are_not_counted() {
    let mut world = world(&DONE);
    let stranger = good(&machine_set("stranger", 1), "x");
    let mut orphan = stranger.clone();
    orphan.metadata.owner_references = None;
    world.machines.extend([stranger, orphan]);
    assert_eq!(world.counters(), [Some(3); 4]);
}

#[test]
fn reasons_of_a_rollout_come_from_machines_that_have_noticed_too() {
    let mut world = world(&HALF);
    let mut noticed = condition(types::UP_TO_DATE, "False");
    noticed.message = "* Host is not up-to-date\n* Version v1.31.0, v1.32.0 required".to_owned();
    world.machines[1].status.conditions[2] = noticed;
    let words = "True RollingOut: Rolling out 2 not up-to-date replicas\n* Version v1.31.0, v1.32.0 required\n\
                 * Host is not up-to-date";
    world.check(types::ROLLING_OUT, words);
}

#[test]
fn available_tells_how_many_are_missing_and_by_which_limit() {
    let mut world = world(&DONE);
    world.machines[0].status.conditions.clear();
    world.check(types::AVAILABLE, "False NotAvailable: 2 available replicas, at least 3 required");
    let mut strategy = MachineDeploymentRolloutStrategy::default();
    strategy.rolling_update.max_unavailable = Some(IntOrString::String("10%".to_owned()));
    world.deployment.spec.rollout.strategy = Some(strategy);
    let words = "False NotAvailable: 2 available replicas, at least 3 required \
                 (spec.strategy.rollout.maxUnavailable is 10%, spec.replicas is 3)";
    world.check(types::AVAILABLE, words);
    world.max_unavailable = Err(AmountError::Negative { field: "maxUnavailable", value: -1 });
    world.check(types::AVAILABLE, words);
    world.max_unavailable = Ok(1);
    world.check(types::AVAILABLE, "True Available");
}

#[test]
fn scaling_is_told_with_what_blocks_it() {
    let mut few = world(&[("new", "a")]);
    few.missing_templates = vec!["BootTemplate", "HostTemplate"];
    let blocked =
        "True ScalingUp: Scaling up from 1 to 3 replicas is blocked because BootTemplate and HostTemplate do not exist";
    few.check(types::SCALING_UP, blocked);
    assert_eq!(few.status().phase, Some(MachineDeploymentPhase::ScalingUp));
    let many = world(&[("new", "a"), ("new", "b"), ("new", "c"), ("old", "d")]);
    many.check(types::SCALING_DOWN, "True ScalingDown: Scaling down from 4 to 3 replicas");
    assert_eq!(many.status().phase, Some(MachineDeploymentPhase::ScalingDown));
}

#[test]
fn deletion_is_told_down_to_its_end() {
    let mut world = world(&DONE);
    world.deployment.metadata.deletion_timestamp = world.deployment.metadata.creation_timestamp.clone();
    world.check(types::DELETING, "True Deleting: Deleting 3 Machines");
    world.check(types::SCALING_DOWN, "True ScalingDown: Scaling down from 3 to 0 replicas");
    assert_eq!(world.status().phase, Some(MachineDeploymentPhase::ScalingDown));
    world.machines.clear();
    world.check(types::DELETING, "True Deleting: Deleting 2 MachineSets");
    world.check(types::AVAILABLE, "False NotAvailable: Deletion in progress");
    world.sets = Some(Vec::new());
    world.check(types::DELETING, "True Deleting: Deletion completed");
}

#[test]
fn nobody_has_counted_before_the_first_machine_set_reports() {
    let mut world = world(&[]);
    world.sets = Some(vec![machine_set("new", 3)]);
    assert_eq!(world.counters(), [None; 4]);
    world.check(types::AVAILABLE, "Unknown WaitingForAvailableReplicasSet: Waiting for status.availableReplicas set");
    world.check(types::SCALING_UP, "True ScalingUp: Scaling up from 0 to 3 replicas");
}

#[test]
fn unhealthy_machines_are_told() {
    let mut world = world(&DONE);
    world.machines[0].status.conditions.push(condition(types::HEALTH_CHECK_SUCCEEDED, "False"));
    let words = "False NotRemediating: Machine a is not healthy (not to be remediated by MachineDeployment/MachineSet)";
    world.check(types::REMEDIATING, words);
    world.machines[0].status.conditions.push(condition(types::OWNER_REMEDIATED, "False"));
    assert!(conditions::is_true(&world.status().conditions, types::REMEDIATING));
}

/// DESIGN 5.3: a failed list is not an empty one.
#[test]
fn a_failed_list_leaves_the_counters_and_makes_conditions_unknown() {
    let mut world = world(&DONE);
    world.deployment.status.replicas = Some(3);
    world.sets = None;
    assert_eq!(world.counters(), [Some(3), None, None, None]);
    assert_eq!(world.status().phase, Some(MachineDeploymentPhase::Unknown));
    for type_ in OWNED {
        world.check(type_, "Unknown InternalError: Please check controller logs for errors");
    }
}

#[test]
fn nonsense_gives_a_verdict() {
    let mut world = world(&DONE);
    world.deployment.spec.replicas = Some(-1);
    world.check(types::AVAILABLE, "True Available");
    world.check(types::SCALING_DOWN, "True ScalingDown: Scaling down from 3 to 0 replicas");
    world.deployment.spec.replicas = None;
    for type_ in [types::AVAILABLE, types::SCALING_UP, types::SCALING_DOWN] {
        world.check(type_, "Unknown WaitingForReplicasSet: Waiting for spec.replicas set");
    }
    assert_eq!(world.status().phase, Some(MachineDeploymentPhase::Unknown));
    assert!(!is_complete(&world.deployment, &world.status()));
    world.deployment.spec.selector.match_labels = Some(labels_of(&[("no label!", "x")]));
    assert!(world.try_status().is_err());
}
