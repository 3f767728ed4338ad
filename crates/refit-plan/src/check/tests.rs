//! The checker finds what is planted, and excuses what is not refit's.

use std::collections::BTreeMap;

use super::*;

const RULES: Rules = Rules {
    on_delete: false,
    is_paused: false,
    is_covered: true,
    is_known: true,
    is_required: false,
    may_update: true,
    keep_originals: true,
};

/// A world as `ms1 v1: m1 m2*; ms2 v2: m3!`, with template v2 wanted: `*` is being updated, `!` arrives, `#` has
/// failed, `^` is scaffolding, `-` is unavailable, `~` is being deleted by the user, `=` is refused for the moment,
/// `%` for good.
fn world(replicas: i32, text: &str) -> World {
    let mut world = World {
        replicas,
        max_surge: 1,
        max_unavailable: 1,
        template: "v2".to_owned(),
        sets: BTreeMap::new(),
        machines: BTreeMap::new(),
    };
    for part in text.split("; ") {
        let (head, machines) = part.split_once(':').unwrap();
        let (name, template) = head.split_once(' ').unwrap();
        let replicas = i32::try_from(machines.split_whitespace().count()).unwrap();
        world.sets.insert(name.to_owned(), Set { template: template.to_owned(), replicas });
        for machine in machines.split_whitespace() {
            let is = |mark: char| machine.ends_with(mark);
            let state = Machine {
                set: name.to_owned(),
                is_updating: is('*') || is('!') || is('#'),
                is_started: is('*'),
                is_unacknowledged: is('!'),
                is_failed: is('#'),
                refusal: (is('=') || is('%')).then_some(Refusal { for_good: is('%') }),
                is_scaffolding: is('^'),
                is_made_unavailable: is('-'),
                is_deleting: is('~'),
            };
            world.machines.insert(machine.trim_end_matches(['*', '!', '#', '^', '-', '~', '=', '%']).to_owned(), state);
        }
    }
    world
}

fn machine_set(name: &str) -> Actor {
    Actor::MachineSet(name.to_owned())
}

/// Judges one world after another, and gives what was found before the end.
fn judge(rules: Rules, start: &World, steps: &[(Actor, World)]) -> Vec<String> {
    let mut checker = Checker::new(rules, start);
    steps.iter().for_each(|(actor, world)| checker.observe(actor, world));
    checker.violations
}

#[track_caller]
fn check(start: &World, steps: &[(Actor, World)], expected: &[&str]) {
    assert_eq!(judge(RULES, start, steps), expected);
}

#[test]
fn a_move_is_in_order() {
    let start = world(2, "ms1 v1: m1 m2; ms2 v2:");
    let moved = world(2, "ms1 v1: m2; ms2 v2: m1!");
    check(&start, &[(Actor::Deployment, start.clone()), (machine_set("ms1"), moved)], &[]);
}

#[test]
fn machines_that_are_lost_or_taken_are_found() {
    let start = world(2, "ms1 v1: m1 m2; ms2 v2:");
    let gone = world(2, "ms1 v1: m2; ms2 v2:");
    check(&start, &[(Actor::Deployment, gone.clone())], &["I5: m1 was lost"]);
    let both = ["I5: m1 was lost", "I6: m1 was there at the start and was replaced"];
    check(&start, &[(machine_set("ms2"), gone.clone())], &both);
    check(&start, &[(Actor::Machine("m1".to_owned()), gone)], &["I5: m1 was lost"]);
    let taken = world(2, "ms1 v1: m2; ms2 v2: m1!");
    check(&start, &[(machine_set("ms2"), taken)], &["I5: m1 was taken from ms1 by another"]);
    let grown = world(2, "ms1 v1: m1 m2; ms2 v2: m3");
    check(&start, &[(machine_set("ms1"), grown)], &["I5: m3 was not created by its own MachineSet"]);
}

#[test]
fn a_machine_deleted_on_its_way_is_found() {
    let start = world(2, "ms1 v1: m2; ms2 v2: m1!");
    let gone = world(2, "ms1 v1: m2; ms2 v2:");
    let found = judge(Rules { keep_originals: false, ..RULES }, &start, &[(machine_set("ms2"), gone)]);
    assert_eq!(found, ["I5: m1 was deleted on its way from one MachineSet to another"]);
}

#[test]
fn a_move_in_the_middle_of_an_update_is_found() {
    let start = world(1, "ms1 v1: m1!; ms2 v2:");
    let moved = world(1, "ms1 v1:; ms2 v2: m1!");
    let message = "I3: m1 was moved in the middle of an update, or without one";
    check(&start, &[(machine_set("ms1"), moved.clone())], &[message]);
    check(&world(1, "ms1 v1: m1*; ms2 v2:"), &[(machine_set("ms1"), moved)], &[]);
    check(&world(1, "ms1 v1: m1#; ms2 v2:"), &[(machine_set("ms1"), world(1, "ms1 v1:; ms2 v2: m1!"))], &[]);
    let again = [(machine_set("ms2"), world(1, "ms1 v1: m1!; ms2 v2:"))];
    check(&world(1, "ms1 v1:; ms2 v2: m1#"), &again, &[message]);
    let idle = world(1, "ms1 v1:; ms2 v2: m1");
    check(&world(1, "ms1 v1: m1; ms2 v2:"), &[(machine_set("ms1"), idle)], &[message]);
}

#[test]
fn too_many_machines_are_found() {
    let start = world(2, "ms1 v1: m1 m2; ms2 v2:");
    let many = world(2, "ms1 v1: m1 m2; ms2 v2: m3 m4");
    let steps = [(Actor::Deployment, start.clone()), (machine_set("ms2"), many.clone())];
    check(&start, &steps, &["I2: there are 4 machines, at most 3 are allowed"]);
    // They were ordered when more were wanted.
    let more = world(3, "ms1 v1: m1 m2; ms2 v2:");
    let steps = [(Actor::Deployment, more), (Actor::User, start.clone()), (machine_set("ms2"), many)];
    check(&start, &steps, &[]);
}

#[test]
fn too_few_available_machines_are_found() {
    let start = world(3, "ms1 v1: m1 m2 m3; ms2 v2:");
    let few = world(3, "ms1 v1: m3; ms2 v2: m1! m2!");
    let steps = [(Actor::Deployment, start.clone()), (machine_set("ms1"), few)];
    check(&start, &steps, &["I2: 1 machines are available, at least 2 must be"]);
    // What the world does is not held against refit, and one machine more may be given up for it.
    let broken = world(3, "ms1 v1: m1- m2 m3; ms2 v2:");
    let given_up = world(3, "ms1 v1: m1- m3; ms2 v2: m2!");
    let steps = [(Actor::User, broken.clone()), (Actor::Deployment, broken), (machine_set("ms1"), given_up)];
    check(&start, &steps, &[]);
}

#[test]
fn failed_updates_use_up_the_budget() {
    let start = world(3, "ms1 v1: m2 m3; ms2 v2: m1#");
    let more = world(3, "ms1 v1: m3; ms2 v2: m1# m2!");
    let steps = [(Actor::Deployment, start.clone()), (machine_set("ms1"), more)];
    check(&start, &steps, &["I2: 1 machines are available, at least 2 must be"]);
}

#[test]
fn a_replaced_original_is_found_under_keep_originals_and_require() {
    let start = world(2, "ms1 v1: m1 m2; ms2 v2:");
    let surged = world(2, "ms1 v1: m1 m2; ms2 v2: m3");
    let replaced = world(2, "ms1 v1: m2; ms2 v2: m3");
    let steps = [(machine_set("ms2"), surged), (machine_set("ms1"), replaced.clone())];
    let judged = |rules: Rules| judge(rules, &start, &steps);
    assert_eq!(judged(RULES), ["I6: m1 was there at the start and was replaced"]);
    let require = Rules { is_required: true, is_covered: false, ..RULES };
    assert_eq!(judged(require), ["I1: m1 was there before the rollout and was deleted"]);
    assert!(judged(Rules { keep_originals: false, ..RULES }).is_empty());
    assert!(judged(Rules { is_covered: false, ..RULES }).is_empty());
    // The user has taken one back.
    let fewer = world(1, "ms1 v1: m1 m2; ms2 v2:");
    check(&start, &[(Actor::User, fewer), (machine_set("ms1"), world(1, "ms1 v1: m2; ms2 v2:"))], &[]);
}

#[test]
fn a_machine_that_is_replaced_for_a_refusal_of_the_moment_is_found() {
    let replaced = |mark: char| {
        let start = world(2, &format!("ms1 v1: m1{mark}; ms2 v2: m2"));
        let plan = (Actor::Deployment, start.clone());
        let surged = (machine_set("ms2"), world(2, &format!("ms1 v1: m1{mark}; ms2 v2: m2 m3")));
        (start, [plan, surged, (machine_set("ms1"), world(2, "ms1 v1:; ms2 v2: m2 m3"))])
    };
    let (start, steps) = replaced('=');
    check(&start, &steps, &["I6: m1 was there at the start and was replaced"]);
    let (start, steps) = replaced('%');
    check(&start, &steps, &[]);
    check_required(&start, &steps, &["I1: m1 was there before the rollout and was deleted"]);
}

/// Under `Require`.
#[track_caller]
fn check_required(start: &World, steps: &[(Actor, World)], expected: &[&str]) {
    assert_eq!(judge(Rules { is_required: true, ..RULES }, start, steps), expected);
}

#[test]
fn under_require_a_rollout_deletes_its_own_scaffolding_and_nothing_else() {
    let start = world(2, "ms1 v1: m1 m2; ms2 v2:");
    let surged = (machine_set("ms2"), world(2, "ms1 v1: m1 m2; ms2 v2: m3"));
    let updated = |last: &str| world(2, &format!("ms1 v1:; ms2 v2: m1 m2 {last}"));
    let done = (machine_set("ms2"), world(2, "ms1 v1:; ms2 v2: m1 m2"));
    let moved = (machine_set("ms1"), world(2, "ms1 v1: m2; ms2 v2: m1! m3^"));
    let last = (machine_set("ms1"), world(2, "ms1 v1:; ms2 v2: m1 m2! m3^"));
    let marked = (Actor::Deployment, updated("m3^"));
    check_required(&start, &[surged.clone(), moved.clone(), last.clone(), marked, done.clone()], &[]);
    // Without the mark it is a machine like any other.
    let forgotten = (Actor::Deployment, updated("m3"));
    let found = ["I1: m3 was deleted for the rollout and was no scaffolding"];
    check_required(&start, &[surged.clone(), moved, last, forgotten, done.clone()], &found);
    // A mark makes no scaffolding of what was there before.
    let mislaid = (Actor::Deployment, world(2, "ms1 v1: m1^ m2; ms2 v2: m3"));
    let replaced = (machine_set("ms1"), world(2, "ms1 v1: m2; ms2 v2: m3"));
    let found = ["I1: m1 was there before the rollout and was deleted"];
    check_required(&start, &[surged, mislaid, replaced], &found);
}

#[test]
fn under_require_a_new_rollout_protects_what_the_last_one_made() {
    let start = world(2, "ms1 v1: m1; ms2 v2:");
    let grown = (machine_set("ms2"), world(2, "ms1 v1: m1; ms2 v2: m3"));
    let changed = |text: &str| World { template: "v3".to_owned(), ..world(2, text) };
    let again = (Actor::User, changed("ms1 v1: m1; ms2 v2: m3"));
    let gone = (machine_set("ms2"), changed("ms1 v1: m1; ms2 v2:"));
    check_required(&start, &[grown, again, gone], &["I1: m3 was there before the rollout and was deleted"]);
}

#[test]
fn under_require_a_machine_that_stands_in_for_a_deleted_one_may_be_one_too_many() {
    let start = world(2, "ms1 v1: m1~ m2; ms2 v2:");
    let gone = (Actor::Machine("m1".to_owned()), world(2, "ms1 v1: m2; ms2 v2:"));
    let both = [
        (machine_set("ms1"), world(2, "ms1 v1: m2 m3; ms2 v2:")),
        (machine_set("ms2"), world(2, "ms1 v1: m2 m3; ms2 v2: m4")),
        (machine_set("ms1"), world(2, "ms1 v1: m2; ms2 v2: m4")),
    ];
    let steps: Vec<(Actor, World)> = [gone].into_iter().chain(both).collect();
    check_required(&start, &steps, &[]);
}

#[test]
fn machines_that_the_user_deletes_are_his() {
    let start = world(2, "ms1 v1: m1 m2");
    let marked = world(2, "ms1 v1: m1~ m2");
    let gone = world(2, "ms1 v1: m2");
    check(&start, &[(Actor::User, marked), (Actor::Machine("m1".to_owned()), gone)], &[]);
}

#[test]
fn the_end_must_be_what_was_asked_for() {
    let end = |rules: Rules, text: &str| Checker::new(rules, &world(2, text)).finish(true);
    assert!(end(RULES, "ms1 v1:; ms2 v2: m1 m2").is_empty());
    assert_eq!(end(RULES, "ms1 v1: m1; ms2 v2: m2"), ["I7: m1 is not of the wanted template"]);
    assert_eq!(end(RULES, "ms2 v2: m1"), ["I7: there are 1 machines, 2 are wanted"]);
    assert_eq!(end(RULES, "ms2 v2: m1 m2*"), ["I7: the update of m2 never ends"]);
    assert!(end(RULES, "ms1 v1: m1; ms2 v2: m2#").is_empty(), "a bad change stops by itself");
    assert_eq!(end(RULES, "ms1 v1: m1#; ms2 v2: m2"), ["I7: m1 is not of the wanted template"]);
    assert!(end(RULES, "ms1 v1: m1=; ms2 v2: m2").is_empty(), "it stays until the provider lets it");
    assert!(end(RULES, "ms1 v1: m1= m2%; ms2 v2:").is_empty(), "nobody knows which of them would go");
    assert_eq!(end(RULES, "ms1 v1: m1%; ms2 v2: m2"), ["I7: m1 is not of the wanted template"]);
    assert!(end(Rules { is_required: true, ..RULES }, "ms1 v1: m1%; ms2 v2: m2").is_empty());
    assert!(end(Rules { is_required: true, is_covered: false, ..RULES }, "ms1 v1: m1 m2; ms2 v2:").is_empty());
    assert!(end(Rules { on_delete: true, ..RULES }, "ms1 v1: m1 m2; ms2 v2:").is_empty());
    assert_eq!(Checker::new(RULES, &world(0, "ms1 v1:")).finish(false), ["I7: it does not settle"]);
}
