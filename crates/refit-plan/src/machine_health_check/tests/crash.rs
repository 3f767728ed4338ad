//! A crash between any two writes leads to the same end.

use serde_json::{Value, json};

use super::world::*;
use crate::machine_health_check::*;

fn stored(observed: &Observed) -> Value {
    let without_version = |mut object: Value| {
        object["metadata"]["resourceVersion"] = Value::Null;
        object
    };
    let machines = observed.machines.iter().map(|seen| {
        let request = format!("{:?}", seen.request);
        json!([without_version(serde_json::to_value(&seen.machine).unwrap()), request])
    });
    json!([without_version(serde_json::to_value(&observed.check).unwrap()), machines.collect::<Vec<_>>()])
}

fn check(begin: &Observed) {
    let mut whole = begin.clone();
    settle(&mut whole);
    let effects = decide(begin).plan.effects;
    assert!(effects.len() >= 3, "the scenario is too short to say anything");
    for crash_after in 0..effects.len() {
        let mut observed = begin.clone();
        for effect in effects[..crash_after].iter().cloned() {
            carry_out(&mut observed, effect);
        }
        settle(&mut observed);
        assert_eq!(stored(&observed), stored(&whole), "after a crash before effect {crash_after}");
    }
}

#[test]
fn remediation_by_the_owner_survives_a_crash_anywhere() {
    check(&observed(vec![not_ready("a"), healthy("b"), not_ready("c")]));
}

#[test]
fn remediation_by_others_survives_a_crash_anywhere() {
    check(&external(vec![not_ready("a"), healthy("b"), not_ready("c")]));
}
