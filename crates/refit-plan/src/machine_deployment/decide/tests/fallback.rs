//! The strategy InPlace: what bounds machines that are updated in place, and those that have to be replaced.

use serde_json::{Value, json};

use super::world::{Says, World, settled};

fn rolled_out(strategy: &Value, says: Says) -> World {
    let mut world = settled(4);
    world.says = says;
    world.change(json!({ "spec": { "rollout": { "strategy": strategy } } }));
    world.settle();
    world.forget();
    world.new_template("v2");
    world.settle();
    world
}

/// Where admission is not installed, nobody fills in what the user leaves out.
#[test]
fn in_place_makes_no_spare_machine_unless_it_is_asked_for() {
    for strategy in [json!({ "type": "InPlace" }), json!({ "type": "InPlace", "fallback": "RollingUpdate" })] {
        let strategy = merged(strategy, json!({ "rollingUpdate": null }));
        let world = rolled_out(&strategy, Says::Yes);
        assert_eq!((world.most, world.fewest, world.deleted.len()), (4, 3, 0), "{strategy}");
    }
}

/// In place two machines at a time; who has to be replaced is, one by one, once another one is there.
#[test]
fn in_place_and_fallback_have_budgets_of_their_own() {
    let strategy = json!({
        "type": "InPlace",
        "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 2 },
        "fallback": "RollingUpdate",
        "fallbackRollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
    });
    let in_place = rolled_out(&strategy, Says::Yes);
    assert_eq!((in_place.most, in_place.fewest, in_place.deleted.len()), (4, 2, 0));
    let replaced = rolled_out(&strategy, Says::No);
    assert_eq!((replaced.most, replaced.fewest, replaced.deleted.len()), (5, 4, 4));
}

/// What the fallback does not say is as in place: a site without spare machines has none for a fallback either.
#[test]
fn a_fallback_without_bounds_has_those_of_in_place() {
    let strategy = json!({
        "type": "InPlace", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 2 }, "fallback": "RollingUpdate",
    });
    let replaced = rolled_out(&strategy, Says::No);
    assert_eq!((replaced.most, replaced.fewest, replaced.deleted.len()), (4, 2, 4));
}

fn merged(mut strategy: Value, with: Value) -> Value {
    if let (Some(strategy), Value::Object(with)) = (strategy.as_object_mut(), with) {
        strategy.extend(with);
    }
    strategy
}
