//! Machines are replaced only for what is known, and for an answer that has lasted.

use std::time::Duration;

use refit_api::vocabulary::refit::annotations::{IN_PLACE, REPLACE, REPLACE_AFTER};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use serde_json::json;

use super::world::{Says, World, settled};
use crate::machine_deployment::status::is_complete;
use crate::testing::labels_of;

const NAMES: [&str; 3] = ["m1", "m2", "m3"];

/// Three machines, and half a minute before anything is replaced.
fn patient() -> World {
    let mut world = settled(3);
    world.cluster.metadata.annotations = Some(labels_of(&[(REPLACE_AFTER, "30s")]));
    world.limits(0, 1);
    world
}

/// Nobody covers the change, and that has not lasted.
fn not_covered() -> World {
    let mut world = patient();
    world.new_template("v2");
    check_untouched(&mut world);
    world
}

/// Other extensions are registered, and say this.
fn registers(world: &mut World, who: &'static str, says: Says) {
    (world.registered, world.says) = (who, says);
    world.restart();
}

#[track_caller]
fn check_untouched(world: &mut World) {
    world.settle();
    assert_eq!(
        (world.machines(), world.deleted.len()),
        (NAMES.map(str::to_owned).to_vec(), 0),
        "{:?}",
        world.waiting_on
    );
}

#[track_caller]
fn check_replaced(world: &mut World) {
    world.settle();
    let deployment = world.deployment();
    assert!(is_complete(&deployment, &deployment.status), "{:?}", world.waiting_on);
    assert_eq!(world.deleted.len(), 3, "{:?}", world.waiting_on);
}

fn new_set(world: &World) -> String {
    let wanted = world.deployment().spec.template.spec.infrastructure_ref;
    let mut sets = world.machine_sets().into_iter();
    let new = sets.find(|set| set.spec.template.spec.infrastructure_ref == wanted).expect("there must be a new one");
    new.metadata.name.expect("it has a name")
}

/// An ExtensionConfig is deleted and made again, in seconds or in hours.
#[test]
fn a_rollout_that_was_decided_in_place_waits_for_its_extension() {
    let mut world = patient();
    world.says = Says::Yes;
    world.new_template("v2");
    world.run_into_a_move();
    registers(&mut world, "nobody", Says::No);
    check_untouched(&mut world);
    let words = world.condition(ROLLOUT_BLOCKED);
    assert!(words.starts_with("True ChangeNotCovered: md-"), "{words}");
    assert!(
        words.contains("was to be updated in place and is not replaced by itself: no extension covers "),
        "{words}"
    );
    assert!(words.ends_with(&format!("to replace machines, set refit.dev/replace: {}", new_set(&world))), "{words}");
    world.now += 86_400;
    check_untouched(&mut world);
    registers(&mut world, "the extension, again", Says::Yes);
    check_untouched(&mut world);
    let deployment = world.deployment();
    assert!(is_complete(&deployment, &deployment.status), "it goes on in place: {:?}", world.waiting_on);
    assert_eq!(world.condition(ROLLOUT_BLOCKED), "False NotBlocked: ");
}

#[test]
fn an_answer_must_last_before_machines_are_replaced_for_it() {
    let mut world = not_covered();
    assert!(world.waiting_on[0].contains("machines are replaced at 1970-01-01T00:27:10Z"), "{:?}", world.waiting_on);
    assert_eq!(world.decide().plan.requeue_after, Some(Duration::from_secs(30)));
    world.now += 29;
    check_untouched(&mut world);
    assert_eq!(world.decide().plan.requeue_after, Some(Duration::from_secs(1)));
    world.now += 1;
    check_replaced(&mut world);
}

/// The start of a process is no reason to wait anew: it is on record who said what since when.
#[test]
fn a_new_process_goes_on_counting() {
    let mut world = not_covered();
    world.now += 20;
    world.restart();
    check_untouched(&mut world);
    world.now += 10;
    world.restart();
    check_replaced(&mut world);
}

#[test]
fn other_extensions_and_a_silence_begin_it_anew() {
    for (who, says) in [("others", Says::No), ("the extension", Says::Nothing)] {
        let mut world = not_covered();
        world.now += 29;
        registers(&mut world, who, says);
        check_untouched(&mut world);
        registers(&mut world, who, Says::No);
        check_untouched(&mut world);
        world.now += 29;
        check_untouched(&mut world);
        world.now += 1;
        check_replaced(&mut world);
    }
}

/// An extension that is installed a moment too late.
#[test]
fn an_extension_that_comes_in_time_updates_in_place() {
    let mut world = not_covered();
    world.now += 29;
    registers(&mut world, "one that is late", Says::Yes);
    check_untouched(&mut world);
    let deployment = world.deployment();
    assert!(is_complete(&deployment, &deployment.status), "{:?}", world.waiting_on);
}

/// The word is for one rollout: forgotten on the MachineDeployment, it does nothing to the next.
#[test]
fn the_users_word_replaces_at_once_and_only_for_this_rollout() {
    let mut world = patient();
    world.says = Says::Yes;
    world.new_template("v2");
    world.run_into_a_move();
    registers(&mut world, "nobody", Says::No);
    check_untouched(&mut world);
    let to = new_set(&world);
    world.policy(&[(REPLACE, &to)]);
    world.settle();
    assert_eq!(world.deleted.len(), 2, "those that are not updated yet: {:?}", world.waiting_on);
    world.forget();
    world.new_template("another");
    world.settle();
    assert_eq!((world.machines().len(), world.deleted.len()), (3, 0), "{:?}", world.waiting_on);
    let to = new_set(&world);
    world.policy(&[(REPLACE, &to), (IN_PLACE, "Require")]);
    world.settle();
    assert_eq!(world.deleted.len(), 0, "no word replaces what must stay");
    world.policy(&[(IN_PLACE, "Never")]);
    check_replaced(&mut world);
}

/// A pause in the middle does not make one forget what was decided.
#[test]
fn a_pause_does_not_forget_that_it_was_decided_in_place() {
    let mut world = patient();
    world.says = Says::Yes;
    world.new_template("v2");
    world.run_into_a_move();
    world.change(json!({ "spec": { "paused": true } }));
    world.settle();
    registers(&mut world, "nobody", Says::No);
    world.change(json!({ "spec": { "paused": false } }));
    world.now += 3_600;
    check_untouched(&mut world);
}

/// A wrong URL, or a wrong certificate: somebody must act. A restart of an extension is over sooner.
#[test]
fn an_extension_that_does_not_answer_for_a_minute_blocks_the_rollout() {
    let silent = "waiting for an answer (can.update: connection refused)";
    let waits = |world: &World| {
        let condition = world.condition(ROLLOUT_BLOCKED);
        assert!(condition.starts_with("False NotBlocked: ") && condition.contains(silent), "{condition}");
    };
    let blocked = format!(
        "True ExtensionNotAnswering: {silent}; mend the extension, its URL or its certificate, or delete its ExtensionConfig"
    );
    for (after, expected) in [(Says::Yes, 0), (Says::No, 3)] {
        let mut world = patient();
        registers(&mut world, "silent", Says::Nothing);
        world.new_template("v2");
        check_untouched(&mut world);
        waits(&world);
        world.now += 59;
        world.restart();
        check_untouched(&mut world);
        waits(&world);
        world.now += 1;
        check_untouched(&mut world);
        assert_eq!(world.condition(ROLLOUT_BLOCKED), blocked);
        // It answers for a moment, and the time begins anew.
        registers(&mut world, "there", Says::No);
        check_untouched(&mut world);
        registers(&mut world, "silent again", Says::Nothing);
        check_untouched(&mut world);
        waits(&world);
        registers(&mut world, "there again", after);
        check_untouched_or_moved(&mut world);
        world.now += 30;
        world.settle();
        assert_eq!((world.deleted.len(), world.condition(ROLLOUT_BLOCKED).as_str()), (expected, "False NotBlocked: "));
    }
}

fn check_untouched_or_moved(world: &mut World) {
    world.settle();
    assert_eq!(world.deleted.len(), 0, "{:?}", world.waiting_on);
}
