//! Whole rollouts, to the point where nothing changes any more.

use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::{IN_PLACE, KEEP_ORIGINALS};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use serde_json::json;

use super::world::{Says, World, settled, world};
use crate::machine_deployment::status::is_complete;
use crate::reading::Read;

/// All machines are there, available and of the wanted template, and nothing is left over.
#[track_caller]
fn check_done(world: &World, replicas: usize, revision: &str) {
    let deployment = world.deployment();
    assert!(is_complete(&deployment, &deployment.status), "{:?} {:?}", deployment.status, world.waiting_on);
    assert_eq!(world.machines().len(), replicas);
    assert_eq!(world.machine_sets().len(), 1, "drained MachineSets go");
    let annotations = deployment.metadata.annotations.expect("it must have some");
    assert_eq!(annotations["machinedeployment.clusters.x-k8s.io/revision"], revision);
    assert_eq!(world.condition(types::ROLLING_OUT), "False NotRollingOut: ");
    assert_eq!(world.waiting_on, Vec::<String>::new());
    assert_eq!(world.problems, Vec::<String>::new());
}

#[test]
fn a_new_machine_deployment_gets_its_machines() {
    let mut world = world(3);
    world.settle();
    check_done(&world, 3, "1");
    let deployment = world.deployment();
    assert_eq!(deployment.status.observed_generation, Some(1));
    assert_eq!(deployment.metadata.owner_references.map(|owners| owners[0].kind.clone()).as_deref(), Some("Cluster"));
    assert_eq!(world.condition(types::AVAILABLE), "True Available: ");
    assert_eq!(world.events("SuccessfulCreate"), ["Created MachineSet ns/md-fbbbb with 3 replicas"]);
    assert_eq!(world.events("RolloutStarted"), Vec::<&str>::new(), "nothing changes for anybody");
}

#[test]
fn a_change_that_nobody_covers_replaces_machines_within_the_limits() {
    let mut world = settled(3);
    world.new_template("v2");
    world.settle();
    check_done(&world, 3, "2");
    assert_eq!((world.machines(), world.deleted.len()), (names(&["m4", "m5", "m6"]), 3));
    assert_eq!((world.most, world.fewest, world.asked), (4, 3, 1));
    assert_eq!(world.events("RolloutStarted").len(), 1);
    assert_eq!(world.events("RolloutCompleted"), ["All machines are up-to-date"]);
}

#[test]
fn a_change_that_is_covered_keeps_all_machines() {
    for (surge, unavailable, most, fewest) in [(1, 0, 4, 3), (0, 1, 3, 2), (1, 1, 3, 2)] {
        let mut world = settled(3);
        world.says = Says::Yes;
        world.limits(surge, unavailable);
        world.new_template("v2");
        world.settle();
        check_done(&world, 3, "2");
        assert_eq!(world.machines(), names(&["m1", "m2", "m3"]));
        assert_eq!((world.most, world.fewest, world.asked), (most, fewest, 1), "surge {surge}");
    }
}

#[test]
fn upstreams_sequence_lets_the_surge_machine_take_the_place_of_the_last_original() {
    let mut world = settled(3);
    world.says = Says::Yes;
    world.policy(&[(KEEP_ORIGINALS, "false")]);
    world.new_template("v2");
    world.settle();
    check_done(&world, 3, "2");
    assert_eq!((world.deleted.len(), world.most, world.fewest), (1, 4, 3));
}

/// The reason is one value. The number of machines follows the user all the same.
#[test]
fn a_change_that_nobody_covers_blocks_under_require_and_nothing_else() {
    let mut world = settled(3);
    world.policy(&[(IN_PLACE, "Require")]);
    world.new_template("v2");
    world.settle();
    assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0));
    let old = old_name(&world);
    let why = format!("{old} cannot be updated in place and must not be replaced: no extension covers ");
    assert!(world.waiting_on[0].starts_with(&why), "{:?}", world.waiting_on);
    let words = world.waiting_on[0].clone();
    assert_eq!(world.condition(ROLLOUT_BLOCKED), format!("True ChangeNotCovered: {words}"));
    assert_eq!(world.events("RolloutBlocked"), [words]);
    world.change(json!({ "spec": { "replicas": 5 } }));
    world.settle();
    assert_eq!((world.machines().len(), world.deleted.len()), (5, 0));
    world.change(json!({ "spec": { "replicas": 2 } }));
    world.settle();
    assert_eq!(world.machines().len(), 2);
    world.says = Says::Yes;
    world.restart();
    world.settle();
    check_done(&world, 2, "2");
    assert_eq!(world.condition(ROLLOUT_BLOCKED), "False NotBlocked: ");
}

#[test]
fn the_number_of_machines_changes_in_the_middle_of_a_rollout() {
    for says in [Says::Yes, Says::No] {
        for replicas in [1_u32, 2, 5, 8] {
            let mut world = settled(4);
            world.says = says;
            world.limits(1, 1);
            world.new_template("v2");
            for _ in 0..3 {
                world.round();
            }
            world.change(json!({ "spec": { "replicas": replicas } }));
            world.settle();
            check_done(&world, replicas as usize, "2");
        }
    }
}

/// DESIGN 5.1: upstream deletes machines that are on their way.
#[test]
fn a_pause_in_the_middle_of_a_move_loses_no_machine() {
    for change in [json!({ "paused": true }), json!({ "rollout": { "strategy": { "type": "OnDelete" } } })] {
        let mut world = settled(3);
        world.says = Says::Yes;
        world.limits(0, 1);
        world.new_template("v2");
        world.run_into_a_move();
        world.change(json!({ "spec": change }));
        world.settle();
        assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0), "{change}");
        assert_eq!(world.machine_sets().len(), 2, "the rollout stands still");
        assert!(!world.waiting_on.is_empty());
        world.change(json!({ "spec": { "paused": null } }));
        world.limits(0, 1);
        world.settle();
        check_done(&world, 3, "2");
        assert_eq!(world.deleted, Vec::<String>::new());
    }
}

/// DESIGN 5.7: upstream writes nothing at all while an extension fails.
#[test]
fn an_extension_that_does_not_answer_leaves_scaling_alone() {
    for policy in ["Prefer", "Require"] {
        let mut world = settled(3);
        world.says = Says::Nothing;
        world.policy(&[(IN_PLACE, policy)]);
        world.new_template("v2");
        world.settle();
        assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0));
        assert!(world.waiting_on[0].contains("can.update: connection refused"), "{:?}", world.waiting_on);
        assert!(world.requeues, "it is asked again");
        world.change(json!({ "spec": { "replicas": 5 } }));
        world.settle();
        assert_eq!((world.machines().len(), world.deleted.len()), (5, 0));
        world.change(json!({ "spec": { "replicas": 2 } }));
        world.settle();
        assert_eq!(world.machines().len(), 2);
        world.says = Says::Yes;
        world.settle();
        check_done(&world, 2, "2");
    }
}

/// DESIGN 5.7: the same for a template that old machines were made from. What they are stands on their own objects.
#[test]
fn machines_are_updated_in_place_although_their_old_template_is_deleted() {
    for policy in ["Require", "Prefer"] {
        let mut world = settled(3);
        world.says = Says::Yes;
        world.limits(0, 1);
        world.templates.insert("md-host".to_owned(), Read::Missing);
        world.policy(&[(IN_PLACE, policy)]);
        world.new_template("v2");
        world.settle();
        check_done(&world, 3, "2");
        assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0), "{policy}");
    }
}

/// Nobody knows what machines are whose objects do not tell it: that is no reason to replace them.
#[test]
fn an_old_template_that_is_deleted_replaces_nothing_and_leaves_scaling_alone() {
    for policy in ["Require", "Prefer"] {
        for says in [Says::Yes, Says::No] {
            let mut world = settled(3);
            world.says = says;
            world.templates.insert("md-host".to_owned(), Read::Missing);
            world.untold = Some("machines m1 and m2 differ");
            world.policy(&[(IN_PLACE, policy)]);
            world.new_template("v2");
            world.change(json!({ "spec": { "replicas": 5 } }));
            world.settle();
            assert_eq!((world.machines().len(), world.deleted.len(), world.asked), (5, 0, 0), "{policy}");
            let why = "HostTemplate md-host does not exist any more, and its machines do not tell what it was: machines \
                       m1 and m2 differ";
            assert!(world.waiting_on[0].ends_with(why), "{:?}", world.waiting_on);
            assert!(world.requeues, "somebody may put it back");
        }
    }
}

/// DESIGN 5.3: a failed list is not an empty one.
#[test]
fn a_failed_list_changes_nothing() {
    for what in ["MachineSets", "machines"] {
        let mut world = settled(3);
        world.new_template("v2");
        world.unlistable = Some(what);
        let before = (world.machine_sets(), world.machines());
        assert!(world.decide().plan.effects.is_empty());
        world.pass();
        assert_eq!((world.machine_sets(), world.machines()), before);
        assert_eq!(world.problems, [format!("{what} could not be read: timeout")]);
        assert!(world.condition(types::ROLLING_OUT).starts_with("Unknown InternalError"));
        let status = world.deployment().status;
        assert_eq!((status.replicas, status.observed_generation), (Some(3), Some(1)), "nobody knows better");
        world.unlistable = None;
        world.settle();
        check_done(&world, 3, "2");
    }
}

/// Whatever was written when the process died, and with nothing left in memory.
#[test]
fn a_process_that_dies_after_any_write_comes_to_the_same_end() {
    for writes in 1..6 {
        let mut world = settled(3);
        world.says = Says::Yes;
        world.limits(0, 1);
        world.new_template("v2");
        world.dies_after = Some(writes);
        for _ in 0..40 {
            world.round();
            world.restart();
        }
        world.settle();
        check_done(&world, 3, "2");
        assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0));
    }
}

/// A second change in the middle of the first: moved machines go on to the third MachineSet.
#[test]
fn a_change_in_the_middle_of_a_move_takes_all_machines_along() {
    let mut world = settled(3);
    world.says = Says::Yes;
    world.limits(0, 1);
    world.new_template("v2");
    world.run_into_a_move();
    world.new_template("v33");
    world.settle();
    check_done(&world, 3, "3");
    assert_eq!((world.machines(), world.deleted.len()), (names(&["m1", "m2", "m3"]), 0));
}

#[test]
fn a_machine_deployment_that_is_deleted_goes_after_its_machine_sets() {
    let mut world = settled(2);
    world.change(json!({ "metadata": { "deletionTimestamp": "1970-01-01T00:20:00Z" } }));
    world.pass();
    assert_eq!(world.condition(types::DELETING), "True Deleting: Deleting 2 Machines");
    assert_eq!(world.machine_sets(), []);
    world.pass();
    world.pass();
    assert_eq!(world.store.get("MachineDeployment", "md"), None);
}

/// `kubectl delete --cascade=orphan`: the garbage collector sets the MachineSets free, then takes its finalizer off.
#[test]
fn a_machine_deployment_that_leaves_orphans_deletes_and_adopts_none() {
    let mut world = settled(2);
    let own = world.deployment().metadata.finalizers.unwrap_or_default();
    let both: Vec<String> = own.iter().cloned().chain(["orphan".to_owned()]).collect();
    world.change(json!({ "metadata": { "deletionTimestamp": "1970-01-01T00:20:00Z", "finalizers": both } }));
    world.pass();
    assert_eq!(world.waiting_on, ["waiting for 1 MachineSets to be set free"]);
    assert_eq!((world.machine_sets().len(), world.machines().len()), (1, 2));
    world.change(json!({ "metadata": { "finalizers": own } }));
    world.pass();
    world.pass();
    assert_eq!(world.store.get("MachineDeployment", "md"), None);
    assert_eq!((world.machine_sets().len(), world.machines().len()), (1, 2));
    assert_eq!(world.machine_sets()[0].metadata.owner_references, Some(Vec::new()));
}

/// The garbage collector set free what there was and took its finalizer off. A MachineSet that was made in the same moment still has
/// its owner, and machines may have moved there.
#[test]
fn one_machine_set_that_was_set_free_tells_that_all_are_to_stay() {
    let mut world = settled(2);
    let mut free = world.machine_sets().remove(0);
    let uid = free.metadata.uid.clone();
    free.metadata.name = Some("md-free".to_owned());
    free.metadata.uid = Some("free".to_owned());
    free.metadata.owner_references = None;
    world.store.insert_typed(&free);
    world.change(json!({ "metadata": { "deletionTimestamp": "1970-01-01T00:20:00Z" } }));
    world.pass();
    world.pass();
    world.pass();
    assert_eq!(world.store.get("MachineDeployment", "md"), None);
    assert_eq!((world.machine_sets().len(), world.machines().len()), (2, 2));
    let kept = world.machine_sets().into_iter().find(|set| set.metadata.uid == uid).expect("it must be there");
    assert_eq!((kept.metadata.deletion_timestamp, kept.metadata.owner_references), (None, Some(Vec::new())));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The MachineSet that was there first.
fn old_name(world: &World) -> String {
    let mut sets = world.machine_sets();
    sets.retain(|set| set.spec.template.spec.version.as_deref() == Some("v1.31.0"));
    sets[0].metadata.name.clone().expect("it must have a name")
}
