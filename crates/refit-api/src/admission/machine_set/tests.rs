use serde_json::json;

use crate::admission::testing::{check, check_default};
use crate::cluster::MachineSet;

#[test]
fn an_empty_selector_becomes_one_for_the_name() {
    let pointer = "/spec/template/metadata/labels/cluster.x-k8s.io~1set-name";
    check_default::<MachineSet>(json!({}), pointer, json!("ms"));
    check_default::<MachineSet>(
        json!({}),
        "/spec/selector",
        json!({ "matchLabels": { "cluster.x-k8s.io/set-name": "ms" } }),
    );
}

#[test]
fn a_name_too_long_for_a_label_is_hashed_into_the_selector() {
    let long = json!({ "metadata": { "name": "a".repeat(64) } });
    let pointer = "/spec/selector/matchLabels/cluster.x-k8s.io~1set-name";
    check_default::<MachineSet>(long.clone(), pointer, json!("hash_2W8PhQ_z"));
    check::<MachineSet>(long, &[]);
}

#[test]
fn a_selector_of_the_user_stays_as_it_is() {
    let selector = json!({ "matchLabels": { "a": "b" } });
    let patch = json!({ "spec": { "selector": selector, "template": { "metadata": { "labels": { "a": "b" } } } } });
    check_default::<MachineSet>(patch.clone(), "/spec/selector", selector);
    check_default::<MachineSet>(patch, "/spec/template/metadata/labels", json!({ "a": "b" }));
}
