//! A crash between any two writes leads to the same end.

use refit_api::hooks::UpdateMachineResponse;
use refit_api::vocabulary::refit::annotations::{UPDATE_RETRIES, UPDATE_TIMEOUT};

use super::world::World;
use crate::machine::{External, decide};

/// Runs the scenario without a crash, then with one before each of its effects.
fn check(begin: World) {
    let mut whole = begin.clone();
    whole.settle();
    let mut crashes = 0;
    for crash_after in 0.. {
        let mut world = begin.clone();
        world.crash_after = Some(crash_after);
        world.settle();
        if world.crash_after.is_some() {
            break;
        }
        crashes += 1;
        assert_eq!(world.stored(), whole.stored(), "after a crash before effect {crash_after}");
        if !world.is_gone {
            let again = decide(&world.seen).plan.effects;
            assert_eq!(again, [], "after a crash before effect {crash_after}");
        }
    }
    assert!(crashes >= 3, "the scenario is too short to say anything");
}

#[test]
fn provisioning_survives_a_crash_anywhere() {
    let mut world = World::running();
    let machine = &mut world.seen.machine;
    machine.metadata.finalizers = None;
    machine.spec.provider_id = None;
    machine.spec.bootstrap.data_secret_name = None;
    machine.status = Default::default();
    check(world);
}

#[test]
fn adoption_survives_a_crash_anywhere() {
    let mut world = World::running();
    world.seen.machine.metadata.owner_references = None;
    world.seen.machine.metadata.labels = None;
    for object in [&mut world.seen.infrastructure, &mut world.seen.bootstrap] {
        if let External::Found { object, .. } = object {
            object["metadata"]["ownerReferences"] = serde_json::json!([]);
        }
    }
    check(world);
}

#[test]
fn an_update_survives_a_crash_anywhere() {
    check(World::updating(None));
    check(World::updating(Some(&["can.firmware"])));
    let mut timed = World::updating(Some(&["can.kubeadm", "can.firmware"]));
    timed.policy(UPDATE_TIMEOUT, "1h");
    check(timed);
    let mut wanted = World::updating(Some(&["can.firmware"]));
    (wanted.seen.infrastructure_is_wanted, wanted.seen.bootstrap_is_wanted) = (true, true);
    check(wanted);
}

#[test]
fn a_failing_update_survives_a_crash_anywhere() {
    let mut world = World::updating(Some(&["can.kubeadm", "can.firmware"]));
    world.policy(UPDATE_RETRIES, "0");
    world.updater = |call| match call.remaining {
        2 => Ok(UpdateMachineResponse::done()),
        _ => Err("no disk".to_owned()),
    };
    check(world);
}

#[test]
fn a_deletion_survives_a_crash_anywhere() {
    check(World::deleting());
    let mut updating = World::updating(Some(&["can.firmware"]));
    updating.delete();
    check(updating);
}
