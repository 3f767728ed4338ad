use serde_json::{Value, json};

use crate::admission::testing::{Sample, check, check_update};
use crate::rollout::MachineRollout;

impl Sample for MachineRollout {
    fn sample() -> Value {
        json!({
            "metadata": { "name": "mro" },
            "spec": {
                "targetRef": { "apiGroup": "cluster.x-k8s.io", "kind": "MachineDeployment", "name": "md" },
                "revision": "md-1",
                "policy": "Require",
                "keepOriginals": false,
            },
        })
    }
}

#[test]
fn a_new_record_may_say_anything() {
    check::<MachineRollout>(json!({}), &[]);
    check::<MachineRollout>(json!({ "spec": { "revision": "md-2", "keepOriginals": true } }), &[]);
}

#[test]
fn what_a_rollout_is_about_stays() {
    let check_change = |new: Value, refused: &[&str]| check_update::<MachineRollout>(json!({}), new, refused);
    check_change(json!({}), &[]);
    check_change(json!({ "spec": { "revision": "md-2" } }), &["spec"]);
    check_change(json!({ "spec": { "targetRef": { "name": "other" } } }), &["spec"]);
    check_change(json!({ "spec": { "keepOriginals": true } }), &["spec"]);
}

#[test]
fn how_far_a_rollout_is_changes_freely() {
    let status = json!({ "status": { "decision": "InPlace", "message": "2 of 3 machines are done" } });
    check_update::<MachineRollout>(json!({}), status.clone(), &[]);
    check_update::<MachineRollout>(status, json!({ "metadata": { "labels": { "a": "b" } } }), &[]);
}
