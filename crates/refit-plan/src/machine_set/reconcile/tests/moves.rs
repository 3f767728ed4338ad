//! What a move asks for before it begins.

use refit_api::cluster::Machine;
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS};
use refit_api::vocabulary::condition_types as types;
use serde_json::json;

use super::stories::moving;
use super::world::World;
use crate::coverage::Accepted;
use crate::effect::{Effect, Part};
use crate::machine_set::reconcile::{Decision, REHEARSALS_PER_PASS, decide};
use crate::machine_set::refusal::MoveRefusal;
use crate::testing::condition;
use crate::waiting::{Answer, WaitingOn};

/// What the decision waits for, in words.
fn words(decision: &Decision) -> Vec<String> {
    decision.waiting_on.iter().map(ToString::to_string).collect()
}

fn has_moved(decision: &Decision) -> bool {
    let is_move = |effect: &Effect| matches!(effect, Effect::Patch(patch) if patch.part == Part::Object);
    decision.effects().any(is_move)
}

#[test]
fn extensions_are_asked_then_the_move_is_rehearsed_then_it_begins() {
    let world = moving(2);
    let mut observed = world.observe("old");
    let first = decide(&observed);
    assert!(first.ask && first.rehearse.is_empty() && !has_moved(&first));
    observed.move_target.as_mut().expect("there is one").verdict = Some(world.verdict.clone());
    let second = decide(&observed);
    assert!(!second.ask && !has_moved(&second));
    assert_eq!(second.rehearse.len(), 1, "they are alike");
    assert!(has_moved(&world.decide("old")));
}

#[test]
fn machines_that_are_not_alike_are_rehearsed_each() {
    let mut world = moving(3);
    let other = world.names_of("old").remove(1);
    let mut host = world.store.get("Host", &other).expect("it must have a host");
    host["spec"]["rack"] = serde_json::json!("r7");
    world.store.insert(host);
    let mut observed = world.observe("old");
    observed.move_target.as_mut().expect("there is one").verdict = Some(world.verdict.clone());
    assert_eq!(decide(&observed).rehearse.len(), 2);
}

#[test]
fn what_extensions_do_not_cover_does_not_move() {
    let answers = vec![Answer { extension: "can.memory".to_owned(), words: "not mine".to_owned() }];
    let check = |verdict: Accepted, expected: WaitingOn| {
        let world = World { verdict, ..moving(1) };
        let decision = world.decide("old");
        assert_eq!((decision.tasks.len(), decision.waiting_on), (0, vec![expected]));
    };
    let paths = vec!["spec.disk".to_owned()];
    check(
        Accepted::Uncovered { paths: paths.clone(), answers: answers.clone() },
        WaitingOn::Uncovered { paths, answers: answers.clone() },
    );
    check(Accepted::Undecided { answers: answers.clone() }, WaitingOn::Undecided { answers });
}

/// DESIGN 5.6: a webhook that rejects the spec after the move parks the machine for ever.
#[test]
fn a_machine_whose_new_spec_would_be_refused_stays_and_the_others_move() {
    let mut world = moving(3);
    let refused = world.names_of("old").remove(0);
    world.refused.insert(refused.clone());
    world.settle();
    assert_eq!((world.names_of("old").len(), world.names_of("new").len()), (1, 2));
    let decision = world.decide("old");
    let why = format!("Host {refused} would be refused: spec is immutable");
    let expected = WaitingOn::ChangeRefused { machines: vec![refused.clone()], why: why.clone() };
    assert_eq!(decision.waiting_on, [expected]);
    let machine: Machine = world.store.typed(&refused).expect("it must be there");
    let said = MoveRefusal::of_move_to(&machine, "new").expect("it stands on the Machine");
    assert_eq!((said.words, said.for_good), (why, true));
    world.refused.clear();
    world.settle();
    assert_eq!(world.names_of("new").len(), 3, "it moves once nobody refuses it");
    let machine: Machine = world.store.typed(&refused).expect("it must be there");
    assert_eq!(MoveRefusal::of(&machine), None);
}

/// One odd host does not stop the others: another one moves in its place.
#[test]
fn where_one_machine_is_refused_the_next_one_moves() {
    let mut world = moving(3);
    let refused = world.names_of("old").remove(0);
    world.refused.insert(refused.clone());
    for left in [2, 1, 1] {
        world.scale("old", left);
        world.settle();
        assert_eq!(world.names_of("old").len(), usize::try_from(left).expect("a small number"));
        assert!(world.names_of("old").contains(&refused));
    }
    // The MachineDeployment has given it back. That it can move is noticed all the same.
    world.refused.clear();
    world.settle();
    let machine: Machine = world.store.typed(&refused).expect("it must be there");
    assert_eq!(MoveRefusal::of(&machine), None);
    assert_eq!(world.names_of("old"), [refused]);
}

#[test]
fn a_move_that_only_one_side_wants_does_not_begin() {
    let check = |change: &dyn Fn(&mut World), expected: &str| {
        let mut world = moving(1);
        change(&mut world);
        let decision = world.decide("old");
        assert!(!has_moved(&decision));
        let problems = decision.problems.iter().map(|problem| {
            let source = std::error::Error::source(problem).expect("it must have a cause");
            source.to_string()
        });
        let told: Vec<String> = words(&decision).into_iter().chain(problems).collect();
        assert_eq!(told, [expected]);
    };
    let annotate = |set: &'static str, key: &'static str, value: &'static str| {
        move |world: &mut World| world.annotate_set(set, key, value)
    };
    const MOVE: &str = MOVE_MACHINES_TO_MACHINESET;
    const RECEIVE: &str = RECEIVE_MACHINES_FROM_MACHINESETS;
    check(
        &annotate("new", RECEIVE, "other"),
        "MachineSet old is set to move replicas to new, but new only accepts Machines from other",
    );
    check(&annotate("old", MOVE, "nowhere"), "MachineSet nowhere does not exist");
    // Names in a circle, of two and of one.
    check(&annotate("new", MOVE, "old"), "MachineSet new takes no Machines from old: it is set to move its own to old");
    check(
        &|world| {
            world.annotate_set("old", MOVE, "old");
            world.annotate_set("old", RECEIVE, "old");
        },
        "MachineSet old takes no Machines from old: it is set to move its own to old",
    );
}

/// Facts 10.2 k: upstream makes no checks before a machine gets another version in place.
#[test]
fn a_version_that_the_control_plane_does_not_run_yet_waits() {
    let check = |version: &str, control_plane: serde_json::Value, moves: bool| {
        let mut world = moving(1);
        world.control_plane = control_plane.clone();
        world.change_set("new", |set| set.spec.template.spec.version = Some(version.to_owned()));
        let decision = world.decide("old");
        assert_eq!(has_moved(&decision), moves, "{version} {control_plane}");
        let is_preflight = |reason: &WaitingOn| matches!(reason, WaitingOn::Preflight { .. });
        assert_eq!(decision.waiting_on.iter().any(is_preflight), !moves);
    };
    let upgrading = json!({ "spec": { "version": "v1.32.0" }, "status": { "versions": [
        { "version": "v1.31.0" }, { "version": "v1.32.0" },
    ] } });
    check("v1.32.0", upgrading.clone(), false);
    check("v1.31.5", upgrading.clone(), true);
    // A machine of v1.31.0 that stays so is not checked.
    check("v1.31.0", json!({ "spec": { "version": "v1.30.0" } }), true);
    check("v1.31.1", json!({ "spec": { "version": "v1.31.0" } }), false);
    check("v1.33.0", json!({ "spec": { "version": "v1.32.0" }, "status": { "version": "v1.32.0" } }), false);
    check("v1.20.0", json!({ "spec": { "version": "v1.32.0" }, "status": { "version": "v1.32.0" } }), true);
    check("", upgrading, true);
}

#[test]
fn nothing_moves_to_another_machine_set_than_the_one_that_is_named() {
    let world = moving(1);
    let mut observed = world.observe("old");
    let annotations = observed.machine_set.metadata.annotations.get_or_insert_default();
    annotations.insert(MOVE_MACHINES_TO_MACHINESET.to_owned(), "newer".to_owned());
    let decision = decide(&observed);
    assert!(!decision.ask && !has_moved(&decision));
    assert_eq!(words(&decision), ["MachineSet newer was not read"]);
}

/// DESIGN 5.10: a health check does not replace a machine because it is being updated.
#[test]
fn a_machine_that_is_unhealthy_because_of_its_update_is_neither_replaced_nor_deleted_instead_of_moved() {
    let mut world = moving(2);
    for set in ["old", "new"] {
        world.pass(set);
    }
    world.acknowledge();
    world.pass("new");
    for name in world.names_of("new") {
        world.give_up(&name);
    }
    let is_deletion = |effect: &Effect| matches!(effect, Effect::Delete(_));
    assert!(!world.decide("new").effects().any(is_deletion));
    world.annotate_set("new", MOVE_MACHINES_TO_MACHINESET, "old");
    world.annotate_set("old", RECEIVE_MACHINES_FROM_MACHINESETS, "new");
    world.scale("new", 0);
    assert!(!world.decide("new").effects().any(is_deletion));
}

#[test]
fn a_machine_that_got_well_moves_after_it_says_so() {
    let mut world = moving(1);
    let machine = world.machines().remove(0);
    let mut conditions = machine.status.conditions.clone();
    conditions.push(condition(types::HEALTH_CHECK_SUCCEEDED, "True"));
    conditions.push(condition(types::OWNER_REMEDIATED, "False"));
    world.patch_machine(&machine, Part::Status, json!({ "status": { "conditions": conditions } }));
    let decision = world.decide("old");
    assert!(!has_moved(&decision), "the patch is for a version that is gone then");
    assert_eq!(decision.requeue_after, Some(std::time::Duration::ZERO));
    world.settle();
    assert_eq!(world.names_of("new").len(), 1);
}

#[test]
fn so_many_machines_move_in_a_pass_and_the_next_one_follows_at_once() {
    let world = moving(i32::try_from(REHEARSALS_PER_PASS).expect("a small number") + 1);
    let decision = world.decide("old");
    assert_eq!(decision.tasks.len(), REHEARSALS_PER_PASS);
    assert_eq!(decision.requeue_after, Some(std::time::Duration::ZERO));
}
