//! What ends a pass early, and what is written then.

use std::sync::Arc;

use refit_api::conditions::get;
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS};
use refit_api::vocabulary::refit::annotations::HOLD;
use refit_api::vocabulary::refit::condition_types::HELD;
use refit_api::vocabulary::{condition_types as types, finalizers};
use serde_json::json;

use super::world::World;
use crate::effect::{Effect, Part, Target};
use crate::machine_set::reconcile::{CREATIONS_PER_PASS, Decision, Observed, Problem, decide};
use crate::reading::{Listed, NotFound, Read, Unreadable};
use crate::waiting::WaitingOn;

fn unreadable(what: &str) -> Unreadable {
    Unreadable { what: what.to_owned(), why: "timeout".to_owned() }
}

/// What the decision says of a condition: status, reason and message.
fn told(decision: &Decision, type_: &str) -> String {
    let found = get(&decision.status.conditions, type_).expect("the condition must be there");
    format!("{} {}: {}", found.status, found.reason, found.message)
}

fn observed(sets: &[(&str, i32)], change: impl FnOnce(&mut Observed)) -> Observed {
    let mut observed = World::running(sets).observe("ms");
    change(&mut observed);
    observed
}

/// DESIGN 5.3: a failed list that reaches replica syncing with an empty machine list.
#[test]
fn a_failed_list_of_machines_creates_moves_and_deletes_nothing() {
    for replicas in [0, 2, 5] {
        let mut world = World::running(&[("ms", 2), ("new", 0)]);
        world.annotate_set("new", RECEIVE_MACHINES_FROM_MACHINESETS, "ms");
        world.annotate_set("ms", MOVE_MACHINES_TO_MACHINESET, "new");
        world.scale("ms", replicas);
        let counters = world.set("ms").status.replicas;
        let mut observed = world.observe("ms");
        observed.machines = Listed::Unreadable(unreadable("machines"));
        let decision = decide(&observed);
        assert_eq!(decision.tasks, [], "{replicas}");
        assert!(decision.rehearse.is_empty() && !decision.ask);
        assert_eq!(decision.problems, [Problem::Machines(unreadable("machines"))]);
        assert_eq!(decision.status.replicas, counters, "counters stay as they are");
        assert!(told(&decision, types::SCALING_UP).starts_with("Unknown InternalError"));
        observed.machine_set.metadata.deletion_timestamp = observed.machine_set.metadata.creation_timestamp.clone();
        assert_eq!(decide(&observed).tasks, [], "the finalizer stays");
    }
}

#[test]
fn a_failed_list_of_objects_creates_nothing_and_deletes_no_orphans() {
    let observed = observed(&[("ms", 1)], |observed| {
        observed.machine_set.spec.replicas = Some(2);
        observed.provider_objects.infrastructure = Listed::Unreadable(unreadable("Hosts"));
    });
    let decision = decide(&observed);
    assert_eq!((decision.tasks, decision.problems), (Vec::new(), vec![Problem::Orphans(unreadable("Hosts"))]));
}

#[test]
fn the_finalizer_comes_before_anything_else() {
    let decision = decide(&World::new(&[("ms", 3)]).observe("ms"));
    let effects: Vec<&Effect> = decision.effects().collect();
    let [Effect::Patch(patch)] = effects[..] else { panic!("{effects:?}") };
    assert_eq!(patch.merge["metadata"]["finalizers"], json!([finalizers::MACHINE_SET]));
    assert_eq!(decision.report, None, "its version changes");
    assert!(decision.requeue_after.is_some());
}

#[test]
fn a_paused_machine_set_is_left_alone_and_says_so() {
    let observed = observed(&[("ms", 2)], |observed| {
        observed.cluster.spec.paused = Some(true);
        observed.machine_set.spec.replicas = Some(9);
    });
    let decision = decide(&observed);
    assert_eq!((decision.tasks.len(), &decision.waiting_on[..]), (0, &[WaitingOn::Paused][..]));
    assert!(told(&decision, types::PAUSED).starts_with("True Paused"));
    let mut again = observed.clone();
    again.machine_set.status = decision.status;
    assert_eq!(decide(&again).report, None, "it says so once");
}

#[test]
fn a_machine_set_that_is_going_adopts_nothing() {
    let mut world = World::running(&[("ms", 1)]);
    let machine = world.machines().remove(0);
    world.patch_machine(&machine, Part::Object, json!({ "metadata": { "ownerReferences": null } }));
    let mut observed = world.observe("ms");
    observed.machine_set.metadata.deletion_timestamp = observed.machine_set.metadata.creation_timestamp.clone();
    let decision = decide(&observed);
    let targets: Vec<&str> = decision.tasks.iter().map(|task| task.about.as_str()).collect();
    assert_eq!(targets, ["MachineSet ms"], "nothing but its own finalizer is written");
}

#[test]
fn a_machine_set_without_its_machine_deployment_does_nothing_but_go() {
    let mut observed = observed(&[("ms", 1)], |observed| {
        observed.deployment = Read::Missing;
        observed.machine_set.spec.replicas = Some(5);
    });
    let decision = decide(&observed);
    assert_eq!(decision.tasks, []);
    assert!(matches!(&decision.problems[..], [Problem::Owner(_)]), "{:?}", decision.problems);
    assert_eq!(decision.status.replicas, Some(1), "what is known is told");
    observed.machine_set.metadata.deletion_timestamp = observed.machine_set.metadata.creation_timestamp.clone();
    assert_eq!(decide(&observed).tasks.len(), 1);
}

#[test]
fn a_missing_template_is_a_problem_of_a_machine_set_with_a_future() {
    let check = |sets: &[(&str, i32)], replicas: i32, problems: usize, words: &str| {
        let observed = observed(sets, |observed| {
            observed.templates.infrastructure = Read::Missing;
            observed.machine_set.spec.replicas = Some(replicas);
        });
        let decision = decide(&observed);
        assert_eq!(decision.tasks, []);
        assert_eq!(decision.problems.len(), problems, "{:?}", decision.problems);
        assert_eq!(told(&decision, types::SCALING_UP), words);
    };
    let words = "False NotScalingUp: Scaling up would be blocked because HostTemplate does not exist";
    check(&[("ms", 1)], 1, 1, words);
    check(&[("ms", 1), ("new", 0)], 1, 0, words);
    let words = "True ScalingUp: Scaling up from 1 to 2 replicas is blocked because:\n* HostTemplate does not exist";
    check(&[("ms", 1)], 2, 1, words);
}

#[test]
fn an_unreadable_template_is_a_problem_of_every_machine_set() {
    let observed = observed(&[("ms", 1), ("new", 0)], |observed| {
        observed.templates.bootstrap = Some(Read::Unreadable(unreadable("BootTemplate")));
    });
    let expected = Problem::Template(NotFound::Unreadable(unreadable("BootTemplate")));
    assert_eq!(decide(&observed).problems, [expected]);
}

#[test]
fn checks_that_fail_block_creation_and_are_made_again() {
    let observed = observed(&[("ms", 1)], |observed| {
        observed.machine_set.spec.replicas = Some(2);
        let control_plane = json!({ "spec": { "version": "v1.31.0" }, "status": { "version": "v1.30.0" } });
        observed.control_plane = Some(Read::Found(control_plane));
    });
    let decision = decide(&observed);
    assert_eq!(decision.tasks, []);
    let problem = "ControlPlane ns/cp is upgrading (\"ControlPlaneIsStable\" preflight check failed)";
    assert_eq!(decision.waiting_on, [WaitingOn::Preflight { problems: vec![problem.to_owned()] }]);
    assert!(told(&decision, types::SCALING_UP).ends_with(&format!("is blocked because:\n* {problem}")));
    assert_eq!(decision.requeue_after, Some(std::time::Duration::from_secs(15)));
}

/// DESIGN 5.13: a pass that creates a thousand machines runs out of its time and leaves hosts behind.
#[test]
fn a_pass_creates_so_many_machines_and_the_next_one_follows_at_once() {
    let mut observed = observed(&[("ms", 1)], |observed| {
        observed.machine_set.spec.replicas = Some(1000);
        observed.random = (0..1000).collect();
    });
    let decision = decide(&observed);
    assert_eq!(decision.tasks.len(), CREATIONS_PER_PASS);
    assert_eq!(decision.requeue_after, Some(std::time::Duration::ZERO));
    observed.random = vec![7, 7];
    assert_eq!(decide(&observed).tasks.len(), 1, "a name is given once");
    observed.random = vec![0];
    assert_eq!(decide(&observed).tasks, [], "ms-bbbbb is there already");
}

#[test]
fn creation_that_is_switched_off_is_waited_for_in_words() {
    let observed = observed(&[("ms", 1)], |observed| {
        let annotations = observed.machine_set.metadata.annotations.get_or_insert_default();
        annotations.insert("cluster.x-k8s.io/disable-machine-create".to_owned(), "true".to_owned());
        observed.machine_set.spec.replicas = Some(2);
    });
    let decision = decide(&observed);
    assert_eq!(decision.tasks, []);
    let words = decision.waiting_on[0].to_string();
    assert_eq!(words, "Machines that are missing (1) are not created: that is switched off");
}

#[test]
fn the_templates_belong_to_the_cluster() {
    let world = World::running(&[("ms", 0)]);
    for (kind, name) in [("HostTemplate", "ms-host"), ("BootTemplate", "ms-boot")] {
        let owners = &world.store.get(kind, name).expect("it must be there")["metadata"]["ownerReferences"];
        assert_eq!(owners[0]["kind"], "Cluster", "{kind}");
    }
}

#[test]
fn a_machine_that_becomes_available_with_time_is_looked_at_again() {
    let check = |min_ready_seconds: Option<i32>, ready: bool, expected: Option<u64>| {
        let observed = observed(&[("ms", 1)], |observed| {
            observed.machine_set.spec.template.spec.min_ready_seconds = min_ready_seconds;
            let Listed::All(machines) = &mut observed.machines else { panic!("they were read") };
            let is_kept = |type_: &str| type_ != types::AVAILABLE && (ready || type_ != types::READY);
            Arc::make_mut(&mut machines[0].machine).status.conditions.retain(|condition| is_kept(&condition.type_));
        });
        let expected = expected.map(std::time::Duration::from_secs);
        assert_eq!(decide(&observed).requeue_after, expected, "{min_ready_seconds:?} {ready}");
    };
    check(Some(30), true, Some(30));
    check(Some(30), false, Some(15));
    check(None, false, Some(15));
    check(None, true, None);
}

/// DESIGN 5.9: machines without a bootstrap configuration are machines, too.
#[test]
fn bootstrap_data_of_the_user_needs_no_template() {
    let mut world = World::running(&[("ms", 0)]);
    world.change_set("ms", |set| {
        set.spec.template.spec.bootstrap.config_ref = None;
        set.spec.template.spec.bootstrap.data_secret_name = Some("data".to_owned());
        set.spec.replicas = Some(1);
    });
    let mut observed = world.observe("ms");
    observed.templates.bootstrap = None;
    observed.provider_objects.bootstrap = None;
    let decision = decide(&observed);
    assert_eq!(decision.problems, []);
    let is_boot = |effect: &Effect| matches!(effect, Effect::Apply(apply) if apply.target.kind == "Boot");
    assert_eq!((decision.tasks.len(), decision.effects().any(is_boot)), (1, false));
}

#[test]
fn what_is_known_to_be_synced_is_not_compared_again() {
    let mut world = World::running(&[("ms", 2)]);
    let names = ["ms-bbbbb", "ms-cbbbb"].map(str::to_owned);
    assert_eq!(world.decide("ms").synced, names.clone().into());
    world.change_set("ms", |set| {
        set.spec.template.metadata.labels.insert("team".to_owned(), "a".to_owned());
    });
    let mut observed = world.observe("ms");
    let Listed::All(machines) = &mut observed.machines else { panic!("they were read") };
    machines[0].is_synced = true;
    let decision = decide(&observed);
    let about: Vec<&str> = decision.tasks.iter().map(|task| task.about.as_str()).collect();
    assert_eq!(about, ["Machine ms-cbbbb"]);
    assert_eq!(decision.synced, [names[0].clone()].into(), "what is written now is looked at once more");
}

/// Facts 10.3: what is refused for one machine must not hold up the others.
#[test]
fn each_machine_has_its_own_task() {
    let mut world = World::running(&[("ms", 3)]);
    world.change_set("ms", |set| {
        set.spec.template.metadata.labels.insert("team".to_owned(), "a".to_owned());
    });
    let decision = world.decide("ms");
    let about: Vec<&str> = decision.tasks.iter().map(|task| task.about.as_str()).collect();
    assert_eq!(about, ["Machine ms-bbbbb", "Machine ms-cbbbb", "Machine ms-dbbbb"]);
    for task in &decision.tasks {
        let is_of_task = |target: &Target| task.about == format!("Machine {}", target.name);
        let is_own = |effect: &Effect| matches!(effect, Effect::Apply(apply) if is_of_task(&apply.target));
        assert!(task.effects.iter().all(is_own), "{task:?}");
    }
}

#[test]
fn on_hold_nothing_is_done_to_the_number_of_machines_and_that_is_told() {
    for replicas in [0, 2, 5] {
        let mut world = World::running(&[("ms", 2)]);
        world.annotate_set("ms", HOLD, "17");
        let observed = {
            let mut observed = world.observe("ms");
            observed.machine_set.spec.replicas = Some(replicas);
            observed
        };
        let decision = decide(&observed);
        assert_eq!(decision.tasks, []);
        assert_eq!(told(&decision, HELD), "True OnHold: 17");
    }
    let unheld = World::running(&[("ms", 2)]).decide("ms");
    assert!(get(&unheld.status.conditions, HELD).is_none());
}

/// Who cannot list its machines may not say that nothing is under way.
#[test]
fn a_failed_list_is_no_standstill() {
    let mut world = World::running(&[("ms", 2)]);
    world.annotate_set("ms", HOLD, "17");
    let mut observed = world.observe("ms");
    observed.machines = Listed::Unreadable(unreadable("machines"));
    assert!(get(&decide(&observed).status.conditions, HELD).is_none());
}
