//! Changes that extensions cover and the provider refuses.

use refit_api::vocabulary::refit::annotations::{IN_PLACE, REPLACE_AFTER};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::world::{Says, World, settled};

/// Three machines that are to change, of which the provider refuses these since then.
fn refused(policy: &str, machines: &[&str], for_good: bool, since: i64) -> World {
    let mut world = settled(3);
    world.says = Says::Yes;
    world.policy(&[(IN_PLACE, policy), (REPLACE_AFTER, "30s")]);
    world.limits(0, 1);
    world.refuses = machines.iter().map(|&name| (name.to_owned(), (for_good, since))).collect();
    world.new_template("v2");
    world.settle();
    world
}

/// Long before now, in this world.
const LONG_AGO: i64 = 0;
/// The same moment, in this world.
const NOW: i64 = 1_600;

#[test]
fn a_refused_change_blocks_under_require_with_the_words_of_the_provider() {
    let mut world = refused("Require", &["m1"], true, LONG_AGO);
    assert_eq!((world.machines(), world.deleted.len()), (["m1", "m2", "m3"].map(str::to_owned).to_vec(), 0));
    let expected = "True ChangeRefused: machine m1 cannot be changed in place: Host m1 would be refused: \
                    spec.cpus is immutable; change the template, or delete the machine";
    assert_eq!(world.condition(ROLLOUT_BLOCKED), expected);
    assert_eq!(world.events("RolloutBlocked").len(), 1);
    assert_eq!(world.fewest, 2, "the others have moved one after another");
    world.restart();
    world.settle();
    assert_eq!(world.condition(ROLLOUT_BLOCKED), expected, "it stands on the Machine");
    world.refuses.clear();
    world.settle();
    assert_eq!(world.condition(ROLLOUT_BLOCKED), "False NotBlocked: ");
    assert_eq!((world.machine_sets().len(), world.deleted.len()), (1, 0), "all have moved");
}

/// A policy, a fault of ours or of the moment is no reason to delete.
#[test]
fn prefer_replaces_only_what_the_provider_has_refused_for_good_and_for_a_while() {
    let check = |machines: &[&str], for_good: bool, since: i64, replaced: usize| {
        let world = refused("Prefer", machines, for_good, since);
        assert_eq!(world.deleted.len(), replaced, "{machines:?} {for_good} {since}");
        let blocked = world.condition(ROLLOUT_BLOCKED).starts_with("True ChangeRefused");
        assert_eq!(blocked, replaced == 0, "{machines:?} {for_good} {since}");
        if !blocked {
            assert_eq!((world.machines().len(), world.machine_sets().len()), (3, 1));
        }
    };
    check(&["m1"], true, LONG_AGO, 1);
    check(&["m1", "m2", "m3"], true, LONG_AGO, 3);
    check(&["m1"], true, NOW, 0);
    check(&["m1"], false, LONG_AGO, 0);
    check(&["m1", "m2", "m3"], false, LONG_AGO, 0);
}

/// The user says how long a refusal must have lasted.
#[test]
fn how_long_a_refusal_lasts_is_the_users_word() {
    let mut world = refused("Prefer", &["m1"], true, LONG_AGO);
    assert_eq!(world.deleted.len(), 1);
    for (after, since, replaced) in [("1h", LONG_AGO, 0), ("0s", NOW, 1)] {
        world = settled(3);
        world.says = Says::Yes;
        world.policy(&[(IN_PLACE, "Prefer"), (REPLACE_AFTER, after)]);
        world.limits(0, 1);
        world.refuses = [("m1".to_owned(), (true, since))].into();
        world.new_template("v2");
        world.settle();
        assert_eq!(world.deleted.len(), replaced, "{after}");
    }
}
