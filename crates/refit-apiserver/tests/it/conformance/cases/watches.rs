//! Facts 41 to 44: watches. Each ends by itself, at first after a second.

use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";

fn labelled(name: &str, value: &str) -> Value {
    let mut object = widget(name, json!({"size": 1}));
    object["metadata"]["labels"] = json!({"a": value});
    object
}

fn watch(query: &str) -> String {
    format!("{WIDGETS}?watch=1&timeoutSeconds=$seconds&{query}")
}

/// A list, then a change of everything, so that a watch from the list sees it.
fn changed(name: &'static str) -> Case {
    case(name)
        .post(WIDGETS, labelled("a", "x"))
        .post(WIDGETS, labelled("b", "y"))
        .get(WIDGETS)
        .merge(&format!("{WIDGETS}/a"), json!({"metadata": {"labels": {"a": "y"}}}))
        .merge(&format!("{WIDGETS}/b"), json!({"metadata": {"labels": {"a": "x"}}, "spec": {"code": "x"}}))
        .merge(&format!("{WIDGETS}/b"), json!({"spec": {"code": "x"}}))
        .delete(&format!("{WIDGETS}/b"), json!(null))
}

pub fn cases() -> Vec<Case> {
    vec![
        changed("3 a watch sees every change once, and no write that changes nothing").get(&watch("resourceVersion=$list")),
        changed("44 who leaves the selector is deleted as it was").get(&watch("resourceVersion=$list&labelSelector=a%3Dx")),
        changed("44 who comes into the selector is added").get(&watch("resourceVersion=$list&labelSelector=a%3Dy")),
        changed("44 a field selector has the same transitions").get(&watch("resourceVersion=$list&fieldSelector=spec.code%3Dx")),
        changed("43 a watch of one object").get(&watch("resourceVersion=$list&fieldSelector=metadata.name%3Da")),
        changed("43 a watch without a version begins with what is there").get(&watch("")),
        changed("43 initial events end with a bookmark")
            .get(&watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")),
        changed("43 initial events from a version")
            .get(&watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=$list")),
        case("43 initial events of nothing")
            .get(&watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")),
        case("43 contradictions")
            .get(&watch("sendInitialEvents=true"))
            .get(&watch("sendInitialEvents=true&resourceVersionMatch=Exact"))
            .get(&watch("sendInitialEvents=false&resourceVersionMatch=NotOlderThan"))
            .get(&watch("resourceVersionMatch=NotOlderThan"))
            .get(&watch("labelSelector=,"))
            .get(&watch("fieldSelector=nosuch%3D1"))
            .get(&watch("resourceVersion=abc"))
            .get(&watch("limit=1&continue=x")),
        case("41 a watch from the future is silent").get(&watch("resourceVersion=999999999999")),
        case("46 any value of watch is yes").get(&format!("{WIDGETS}?watch=maybe&timeoutSeconds=$seconds")),
        case("35 the end of a held object is an event")
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "finalizers": ["refit.dev/x"]}}))
            .get(WIDGETS)
            .delete(&format!("{WIDGETS}/a"), json!(null))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": {"finalizers": []}}))
            .get(&watch("resourceVersion=$list")),
        case("a watch of config maps")
            .get(MAPS)
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .merge(&format!("{MAPS}/a"), json!({"data": {"a": "b"}}))
            .delete(&format!("{MAPS}/a"), json!(null))
            .get(&format!("{MAPS}?watch=1&timeoutSeconds=$seconds&resourceVersion=$list"))
            .get(&format!("{MAPS}/a?watch=1&timeoutSeconds=$seconds&resourceVersion=$list")),
    ]
}
