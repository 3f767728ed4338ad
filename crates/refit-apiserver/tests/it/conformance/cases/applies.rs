//! Facts 21 to 31: server-side apply.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, changed, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";

/// The path of the widget `a`, written by a manager.
fn by(manager: &str) -> String {
    format!("{WIDGETS}/a?fieldManager={manager}")
}

fn a(spec: Value) -> Value {
    widget("a", spec)
}

fn with_metadata(metadata: Value) -> Value {
    json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": metadata})
}

pub fn cases() -> Vec<Case> {
    [conflicts(), owners(), life()].concat()
}

fn conflicts() -> Vec<Case> {
    let path = format!("{WIDGETS}/a");
    let owner = |controller: bool| json!([{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u-1", "controller": controller}]);
    vec![
        case("21 conflicts name manager and field")
            .apply(&by("m1"), a(json!({"size": 1, "code": "x", "items": [{"name": "x", "sub": {"a": "1"}}], "ports": [{"port": 80, "name": "n"}]})))
            .apply(&by("m2"), a(json!({"size": 2})))
            .apply(&by("m2"), a(json!({"size": 2, "code": "y", "items": [{"name": "x", "sub": {"a": "2"}}], "ports": [{"port": 80, "name": "o"}]})))
            .apply(&format!("{}&force=true", by("m2")), a(json!({"size": 2})))
            .apply(&by("m3"), a(json!({"size": 3, "code": "z"})))
            .merge(&by("m4"), json!({"spec": {"on": true}}))
            .apply(&by("m3"), a(json!({"on": false})))
            .merge(&format!("{path}/status?fieldManager=m4"), json!({"status": {"phase": "x"}}))
            .apply(&format!("{path}/status?fieldManager=m3"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "status": {"phase": "y"}})),
        case("22 the same name updating and applying is two owners")
            .post(&format!("{WIDGETS}?fieldManager=m"), a(json!({"size": 1})))
            .apply(&by("m"), a(json!({"size": 2})))
            .apply(&format!("{}&force=true", by("m")), a(json!({"size": 2}))),
        case("23 owner references are atomic items, selectors one field")
            .apply(&by("m1"), with_metadata(json!({"name": "a", "ownerReferences": owner(true)})))
            .apply(&by("m2"), with_metadata(json!({"name": "a", "ownerReferences": owner(false)})))
            .apply(&by("m1"), a(json!({"sealed": {"a": "1"}, "numbers": [1, 2]})))
            .apply(&by("m2"), a(json!({"sealed": {"b": "1"}})))
            .apply(&by("m2"), a(json!({"numbers": [2]}))),
        case("26 managedFields in a body")
            .apply(&by("m"), with_metadata(json!({"name": "a", "managedFields": []})))
            .apply(&by("m"), with_metadata(json!({"name": "a", "managedFields": [{}]})))
            .post(WIDGETS, a(json!({"size": 1})))
            .merge(&path, json!({"metadata": {"managedFields": []}}))
            .merge(&path, json!({"metadata": {"managedFields": null}}))
            .merge(&path, json!({"metadata": {"managedFields": [{"manager": "x", "operation": "Guess"}]}}))
            .merge(&path, json!({"metadata": {"managedFields": [{}]}}))
            .apply(&by("m"), a(json!({"size": 2})))
            .apply(&format!("{}&force=true", by("m")), a(json!({"size": 2}))),
    ]
}

fn owners() -> Vec<Case> {
    let path = format!("{WIDGETS}/a");
    let many = (0..12).fold(case("27 the oldest updaters are merged").post(WIDGETS, a(json!({}))), |case, number| {
        case.merge(
            &format!("{path}?fieldManager=u{number:02}"),
            json!({"spec": {"params": {format!("k{number}"): "1"}}}),
        )
    });
    vec![
        many,
        case("24 defaults are nobody's save in keys")
            .apply(&by("m"), a(json!({"ports": [{"port": 80}]})))
            .apply(&by("n"), a(json!({"tier": "basic"})))
            .apply(&by("o"), a(json!({"tier": "pro"}))),
        case("25 an applier owns the leaves it sent")
            .apply(&by("m"), a(json!({"params": {}, "tags": ["x", "y"], "items": [{"name": "a"}], "any": {"deep": {"er": 1}}})))
            .apply(&by("m"), a(json!({"params": {"x": "1"}, "tags": ["y"]})))
            .apply(&by("m"), a(json!({"params": {}})))
            .apply(&by("m"), a(json!({}))),
        case("28 apply owns no status through the object, and nothing else through the status")
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}, "status": {"phase": "x"}}))
            .apply(&format!("{path}/status?fieldManager=s"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"size": 2}, "status": {"phase": "y"}}))
            .get(&path),
        case("30 kubectl's annotation follows its apply")
            .post(WIDGETS, with_metadata(json!({"name": "a", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"spec\":{\"size\":1}}"}})))
            .apply(&by("kubectl"), a(json!({"size": 2})))
            .apply(&by("other"), a(json!({"code": "x"}))),
        case("an apply of empty metadata is written twice")
            .apply(&by("m"), with_metadata(json!({"name": "a", "labels": {}})))
            .merge(&path, json!({}))
            .differs("empty-metadata"),
        case("30a an apply that changes owners only")
            .apply(&by("m"), a(json!({"size": 1})))
            .apply(&by("n"), a(json!({"size": 1})))
            .apply(&by("n"), a(json!({})))
            .apply(&by("n"), a(json!({}))),
        case("30b a creator owns defaults").post(&format!("{WIDGETS}?fieldManager=c"), a(json!({"ports": [{"port": 1}], "params": {}, "tags": []}))),
        case("31 the scale of a custom resource")
            .apply(&by("m"), a(json!({"replicas": 3})))
            .get(&format!("{path}/scale"))
            .merge(&format!("{path}/scale?fieldManager=s"), json!({"spec": {"replicas": 5}}))
            .get(&path)
            .apply(&by("m"), a(json!({"replicas": 3})))
            .apply(&format!("{path}/scale?fieldManager=t"), json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 7}}))
            .put(&format!("{path}/scale"), json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "$ns", "resourceVersion": "$rv"}, "spec": {"replicas": 6}}))
            .merge(&format!("{path}/scale"), json!({"spec": {"replicas": -1}}))
            .merge(&format!("{path}/scale"), json!({"spec": {"replicas": "x"}}))
            .get(&path),
        case("the owners of a config map")
            .apply(&format!("{MAPS}/a?fieldManager=m"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}))
            .apply(&format!("{MAPS}/a?fieldManager=n"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "2"}}))
            .merge(&format!("{MAPS}/a?fieldManager=u"), json!({"data": {"b": "1"}, "binaryData": {"c": "AAE="}}))
            .apply(&format!("{MAPS}/a?fieldManager=m"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}))
            .apply(&format!("{MAPS}/a?fieldManager=m"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
    ]
}

fn life() -> Vec<Case> {
    let yaml = "application/apply-patch+yaml";
    vec![
        case("29 apply to a missing object creates it")
            .apply(&by("m"), with_metadata(json!({"name": "a", "resourceVersion": "7"})))
            .apply(&format!("{WIDGETS}/b/status?fieldManager=m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "status": {}}))
            .apply(&format!("{WIDGETS}/c?fieldManager=m"), with_metadata(json!({"name": "c", "uid": "11111111-1111-4111-8111-111111111111"})))
            .apply(&format!("{WIDGETS}/d?fieldManager=m"), with_metadata(json!({"name": "other"})))
            .apply(&format!("{WIDGETS}/e?fieldManager=m"), with_metadata(json!({})))
            .apply(&format!("{WIDGETS}/f?fieldManager=m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget"}))
            .apply(&format!("{MAPS}/c?fieldManager=m"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})),
        case("an apply that is not one")
            .raw(Method::PATCH, &by("m"), yaml, "")
            .raw(Method::PATCH, &by("m"), yaml, "[]")
            .raw(Method::PATCH, &by("m"), yaml, "text")
            .raw(Method::PATCH, &by("m"), yaml, "{")
            .differs("yaml-errors")
            .raw(Method::PATCH, &by("m"), yaml, "a: b: c")
            .differs("yaml-errors")
            .raw(Method::PATCH, &by("m"), yaml, &b"a: \xff"[..])
            .raw(Method::PATCH, &by("m"), yaml, &b"a: \0"[..])
            .differs("yaml-errors")
            .raw(Method::PATCH, &by("m"), yaml, "null")
            .apply(&by("m"), json!({"kind": "Widget", "spec": {}}))
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "spec": {}}))
            .apply(&by("m"), json!({"apiVersion": "other.dev/v1", "kind": "Widget"}))
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Other"}))
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": "text"}))
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"labels": {"a": 1}}}))
            .apply(&by("m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"nosuch": 1}}))
            .raw(Method::PATCH, &by("m"), yaml, "apiVersion: conf.refit.dev/v1\nkind: Widget\nspec: {size: 1, code: x}\n")
            .put(&format!("{WIDGETS}/a"), changed("a", json!({"size": 2}))),
        case("apply is validated like every write")
            .apply(&by("m"), a(json!({"size": 11})))
            .apply(&by("m"), a(json!({"low": 2, "high": 1})))
            .apply(&by("m"), a(json!({"fixed": "a"})))
            .apply(&by("m"), a(json!({"fixed": "b"})))
            .apply(&by("m"), a(json!({"must": {"y": "1"}})))
            .apply(&by("m"), a(json!({"template": {"kind": "X"}})))
            .apply(&by("m"), with_metadata(json!({"name": "a", "labels": {"bad key": "x"}}))),
    ]
}
