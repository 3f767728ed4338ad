//! The entries of `metadata.managedFields`: their order, their times, and how they end.

use super::*;

#[test]
fn an_update_may_clear_owners_and_not_lose_them() {
    let size = || Story::new().updates("m1", json!({"spec": {"size": 1}}));
    let kept = size().owners();
    let after = |entries: Value| size().updates("m2", json!({"metadata": {"managedFields": entries}})).owners();
    assert_eq!(after(json!([{}])), BTreeMap::new());
    assert_eq!(after(json!([])), kept);
    assert_eq!(after(json!(null)), kept);
    assert_eq!(after(json!([{"operation": "Guess"}])), kept);
    assert_eq!(after(json!("text")), kept);
}

#[test]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let story = Story::new().updates("m1", json!({"spec": {"size": 1}}));
    let story = story.updates("m1", json!({"metadata": {"managedFields": [{}]}}));
    let story = story.updates("m1", json!({"spec": {"code": "a"}})).check_owners(&[]);
    let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using g/v1: .spec.size";
    story.check_refusal("m2", json!({"spec": {"size": 2}}), 409, message);
}

#[test]
fn old_updaters_become_one() {
    let story = (0..12).fold(Story::new(), |story, number| {
        story.updates(&format!("m{number:02}"), json!({"spec": {"params": {format!("k{number:02}"): "x"}}}))
    });
    let owners = story.owners();
    assert_eq!(owners.len(), 10);
    let ancient = json!({"f:spec": {
        ".": {}, "f:params": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}},
    }});
    assert_eq!(owners["ancient-changes Update"], ancient);
}

#[test]
fn owners_are_ordered_by_operation_time_and_name() {
    let story = Story::new().updates("z", json!({"spec": {"size": 1}})).updates("a", json!({"spec": {"code": "a"}}));
    let story =
        story.applies("y", json!({"spec": {"params": {"y": "1"}}})).applies("b", json!({"spec": {"tags": ["b"]}}));
    let entries = story.object()["metadata"]["managedFields"].as_array().unwrap().clone();
    let managers: Vec<&str> = entries.iter().filter_map(|entry| entry["manager"].as_str()).collect();
    assert_eq!(managers, ["y", "b", "z", "a"]);
    assert_eq!(entries[0]["time"], "1970-01-01T00:00:03Z");
}

#[test]
fn taking_over_without_a_change_leaves_no_time() {
    let story = Story::new().updates("m1", json!({"spec": {"size": 1}})).applies("m2", json!({"spec": {"size": 1}}));
    let entries = story.object()["metadata"]["managedFields"].clone();
    assert_eq!((&entries[0]["manager"], entries[0].get("time")), (&json!("m2"), None));
}

#[test]
fn a_write_that_changes_nothing_keeps_times() {
    let story = Story::new().applies("m", json!({"spec": {"size": 1}}));
    let before = story.object().clone();
    let mut after = story.applies("m", json!({"spec": {"size": 1}})).object().clone();
    assert_eq!(after, before);
    after["metadata"]["managedFields"][0]["time"] = "2000-01-01T00:00:00Z".into();
    keep_times(&before, &mut after);
    assert_eq!(after, before);
    after["spec"]["size"] = 2.into();
    after["metadata"]["managedFields"][0]["time"] = "2000-01-01T00:00:00Z".into();
    let changed = after.clone();
    keep_times(&before, &mut after);
    assert_eq!(after, changed);
}

#[test]
fn kubectl_brings_its_annotation_up_to_date() {
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    let old = widget(json!({"spec": {"size": 1}})).to_string();
    let parts = json!({"metadata": {"annotations": {last: old}}, "spec": {"size": 1, "code": "a"}});
    let story = Story::new().updates("kubectl-client-side-apply", parts);
    let message = "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using g/v1: .spec.code";
    story.check_refusal("kubectl", json!({"spec": {"size": 2, "code": "<b>"}}), 409, message);
    let story = story.applies("kubectl", json!({"spec": {"size": 2}})).check_spec(json!({"size": 2, "code": "a"}));
    let rewritten = r#"{"apiVersion":"g/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":2}}"#;
    assert_eq!(story.object()["metadata"]["annotations"][last], format!("{rewritten}\n"));
}
