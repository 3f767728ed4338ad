//! Facts 34 to 38: deletion as clients see it. What controllers do after it is tested elsewhere.

use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";
const WRONG: &str = "11111111-1111-4111-8111-111111111111";

fn held(name: &str) -> Value {
    let mut object = widget(name, json!({"size": 1}));
    object["metadata"]["finalizers"] = json!(["refit.dev/hold"]);
    object
}

pub fn cases() -> Vec<Case> {
    let a = format!("{WIDGETS}/a");
    let map = format!("{MAPS}/a");
    vec![
        case("34 a deletion that is done answers a status")
            .post(WIDGETS, widget("a", json!({})))
            .delete(&a, json!(null))
            .delete(&a, json!(null))
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .delete(&map, json!(null))
            .delete(&map, json!(null)),
        case("35 the last finalizer lets the object go at its old version")
            .post(WIDGETS, held("a"))
            .delete(&a, json!(null))
            .delete(&a, json!(null))
            .merge(&a, json!({"spec": {"size": 2}}))
            .merge(&a, json!({"metadata": {"finalizers": ["refit.dev/hold", "refit.dev/new"]}}))
            .post(WIDGETS, widget("a", json!({})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"code": "x"})))
            .merge(&a, json!({"metadata": {"finalizers": []}}))
            .get(&a),
        case("36 a config map that is being deleted")
            .post(MAPS, json!({"metadata": {"name": "a", "finalizers": ["refit.dev/hold"]}}))
            .delete(&map, json!(null))
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .merge(&map, json!({"metadata": {"finalizers": ["refit.dev/hold", "refit.dev/x"]}}))
            .merge(&map, json!({"metadata": {"deletionTimestamp": null}}))
            .strategic(&map, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["refit.dev/hold"]}}))
            .get(&map),
        case("37 preconditions")
            .post(WIDGETS, widget("a", json!({})))
            .delete(&a, json!({"preconditions": {"uid": WRONG}}))
            .delete(&a, json!({"preconditions": {"resourceVersion": "1"}}))
            .delete(&a, json!({"preconditions": {"uid": "$uid", "resourceVersion": "$rv"}}))
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .delete(&map, json!({"preconditions": {"uid": WRONG}})),
        case("38 a deleted collection is answered as it was")
            .post(WIDGETS, widget("a", json!({"code": "x"})))
            .post(WIDGETS, held("b"))
            .delete(&format!("{WIDGETS}?fieldSelector=spec.code%3Dx"), json!(null))
            .delete(WIDGETS, json!(null))
            .get(WIDGETS)
            .merge(&format!("{WIDGETS}/b"), json!({"metadata": {"finalizers": []}}))
            .post(MAPS, json!({"metadata": {"name": "a", "labels": {"x": "y"}}}))
            .delete(&format!("{MAPS}?labelSelector=x%3Dz"), json!(null))
            .delete(&format!("{MAPS}?labelSelector=x%3Dy"), json!(null)),
        case("39 a policy is a finalizer while the object is held")
            .post(WIDGETS, held("a"))
            .delete(&format!("{a}?propagationPolicy=Orphan"), json!(null))
            .delete(&format!("{a}?propagationPolicy=Foreground"), json!(null))
            .delete(&format!("{a}?propagationPolicy=Background"), json!(null))
            .merge(&a, json!({"metadata": {"finalizers": []}})),
        case("20 options of a deletion")
            .post(WIDGETS, held("a"))
            .delete(&a, json!({"propagationPolicy": "What"}))
            .delete(&a, json!({"orphanDependents": true, "propagationPolicy": "Orphan"}))
            .delete(&a, json!({"gracePeriodSeconds": -1}))
            .delete(&a, json!({"dryRun": ["x"]}))
            .delete(&a, json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}))
            .delete(&a, json!({"kind": "Other", "apiVersion": "v1"}))
            .delete(&a, json!({"nosuch": 1, "dryRun": ["All"]}))
            .delete(&a, json!({"gracePeriodSeconds": "x"}))
            .delete(&a, json!("text"))
            .delete(&a, json!({"gracePeriodSeconds": 5, "dryRun": ["All"]}))
            .delete(&a, json!({"gracePeriodSeconds": 5}))
            .merge(&a, json!({"metadata": {"finalizers": []}})),
        case("6 namespaces that stay")
            .delete("/api/v1/namespaces/default", json!(null))
            .delete("/api/v1/namespaces/kube-system", json!(null))
            .delete("/api/v1/namespaces/nosuch", json!(null))
            .delete("/api/v1/namespaces", json!(null)),
    ]
}
