//! What defaulting fills in.

use super::*;

/// The parts of the spec that have defaults: replicas, version and strategy.
fn check_defaults(patch: Value, expected: Value) {
    let mut defaulted = kcp(patch);
    let spec = serde_json::to_value(&defaulted.spec).expect("a spec must encode");
    let found = json!([spec["replicas"], spec["version"], spec["rollout"]["strategy"]]);
    assert_eq!(found, expected);
    let once = defaulted.clone();
    defaulted.set_defaults(Some(&once));
    assert_eq!(defaulted, once, "defaulting twice must equal defaulting once");
}

fn strategy(strategy: Value) -> Value {
    spec(json!({ "rollout": { "strategy": strategy } }))
}

#[test]
fn one_replica_and_a_rolling_update_with_one_surge_machine() {
    let rolling = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } });
    check_defaults(json!({}), json!([1, "v1.31.0", rolling]));
    check_defaults(strategy(json!({ "rollingUpdate": { "maxSurge": 1 } })), json!([1, "v1.31.0", rolling]));
}

#[test]
fn version_gets_its_v() {
    let rolling = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } });
    check_defaults(spec(json!({ "version": "1.31.1" })), json!([1, "v1.31.1", rolling]));
}

#[test]
fn what_is_given_stays() {
    let given = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "0" } });
    let patch = spec(json!({ "replicas": 3, "rollout": { "strategy": given } }));
    check_defaults(patch, json!([3, "v1.31.0", given]));
}

#[test]
fn in_place_without_a_fallback_needs_no_surge_machine() {
    let defaulted = json!({ "type": "InPlace", "rollingUpdate": { "maxSurge": 0 } });
    check_defaults(strategy(json!({ "type": "InPlace" })), json!([1, "v1.31.0", defaulted]));
    let surging = json!({ "type": "InPlace", "rollingUpdate": { "maxSurge": 1 } });
    check_defaults(strategy(surging.clone()), json!([1, "v1.31.0", surging]));
}

#[test]
fn in_place_with_a_fallback_may_replace_and_so_surges() {
    let given = json!({ "type": "InPlace", "fallback": "RollingUpdate" });
    let defaulted = json!({ "type": "InPlace", "fallback": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } });
    check_defaults(strategy(given), json!([1, "v1.31.0", defaulted]));
}

#[test]
fn what_defaulting_makes_is_valid() {
    check(json!({}), &[]);
    check(strategy(json!({ "type": "InPlace" })), &[]);
    check(strategy(json!({ "type": "InPlace", "fallback": "RollingUpdate" })), &[]);
}
