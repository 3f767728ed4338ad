//! Facts 1 to 10: versions, generations, names and namespaces.

use serde_json::json;

use crate::conformance::definitions::{GLOBES, WIDGETS, WIDGETS_V2, changed, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";

pub fn cases() -> Vec<Case> {
    [versions(), unchanged(), immutable(), names(), several_versions()].concat()
}

fn versions() -> Vec<Case> {
    let a = format!("{WIDGETS}/a");
    let status = format!("{WIDGETS}/a/status");
    let mut unversioned = widget("a", json!({"size": 2}));
    let mut cases = vec![
        case("1 an update of a custom resource must name a version")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .put(&a, unversioned.clone())
            .put(&status, unversioned.clone())
            .merge(&a, json!({"metadata": {"resourceVersion": null}, "spec": {"size": 3}}))
            .merge(&a, json!({"metadata": {"resourceVersion": "0"}, "spec": {"size": 3}}))
            .put(&a, changed("a", json!({"size": 2})))
            .put(&a, widget("other", json!({"size": 2}))),
        case("1 an update of a config map need not name a version")
            .post(MAPS, json!({"metadata": {"name": "a"}, "data": {"k": "1"}}))
            .put(&format!("{MAPS}/a"), json!({"metadata": {"name": "a"}, "data": {"k": "2"}}))
            .put(&format!("{MAPS}/a"), json!({"metadata": {"name": "a", "resourceVersion": "0"}, "data": {"k": "3"}}))
            .put(&format!("{MAPS}/a"), json!({"metadata": {"name": "a", "resourceVersion": "$old"}, "data": {"k": "3"}})),
        case("2 a version on a new object is a failure")
            .post(WIDGETS, changed("a", json!({})))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "7"}}))
            .post(MAPS, json!({"metadata": {"name": "a", "resourceVersion": "7"}})),
        case("2 a version that is no number is a failure")
            .post(WIDGETS, widget("a", json!({})))
            .put(&a, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "abc"}}))
            .merge(&a, json!({"metadata": {"resourceVersion": "abc"}}))
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"resourceVersion": "-1"}})),
        case("a stale version is a conflict")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .merge(&a, json!({"spec": {"size": 2}}))
            .put(&a, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "$old"}}))
            .merge(&a, json!({"metadata": {"resourceVersion": "$old"}, "spec": {"size": 3}}))
            .apply(&format!("{a}?fieldManager=m"), json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"resourceVersion": "$old"}, "spec": {"code": "x"}}))
            .put(&format!("{WIDGETS}/none"), changed("none", json!({})))
            .merge(&format!("{WIDGETS}/none"), json!({}))
            .get(&format!("{WIDGETS}/none")),
    ];
    for version in ["", "0"] {
        unversioned["metadata"]["resourceVersion"] = version.into();
        cases.push(
            case("1 an empty version is none")
                .post(WIDGETS, widget("a", json!({"size": 1})))
                .put(&a, unversioned.clone()),
        );
    }
    cases
}

fn unchanged() -> Vec<Case> {
    let a = format!("{WIDGETS}/a");
    vec![
        case("3 a write that changes nothing keeps the version")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .put(&a, changed("a", json!({"size": 1})))
            .merge(&a, json!({"spec": {"size": 1}}))
            .json(&a, json!([{"op": "replace", "path": "/spec/size", "value": 1}]))
            .merge(&format!("{a}/status"), json!({}))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"size": 1})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"size": 1})))
            .get(&a),
        case("4 the generation counts changes of what is wanted")
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "generation": 7}}))
            .merge(&a, json!({"spec": {"size": 1}}))
            .merge(&a, json!({"metadata": {"labels": {"a": "b"}}}))
            .merge(&format!("{a}/status"), json!({"status": {"phase": "x"}}))
            .merge(&a, json!({"metadata": {"finalizers": ["refit.dev/x"]}}))
            .delete(&a, json!(null))
            .get(&a)
            .merge(&a, json!({"metadata": {"finalizers": null}})),
        case("4 without a status subresource a change of status counts")
            .post(GLOBES, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Globe", "metadata": {"name": "$ns"}, "spec": {"size": 1}, "status": {"phase": "x"}}))
            .merge(&format!("{GLOBES}/$ns"), json!({"status": {"phase": "y"}}))
            .merge(&format!("{GLOBES}/$ns/status"), json!({"status": {"phase": "z"}}))
            .get(&format!("{GLOBES}/$ns/scale"))
            .delete(&format!("{GLOBES}/$ns"), json!(null)),
        case("4 a config map has the generation it was created with")
            .post(MAPS, json!({"metadata": {"name": "a", "generation": 7}}))
            .merge(&format!("{MAPS}/a"), json!({"data": {"a": "b"}}))
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"generation": 9}}))
            .post(MAPS, json!({"metadata": {"name": "b", "generation": -1}})),
    ]
}

fn immutable() -> Vec<Case> {
    let a = format!("{WIDGETS}/a");
    let with = |name: &str, value: &str| {
        let mut body = changed("a", json!({"size": 2}));
        body["metadata"][name] = value.into();
        body
    };
    vec![
        case("5 times and generation are put back, uid and deletion are immutable")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .put(&a, with("creationTimestamp", "2020-01-01T00:00:00Z"))
            .merge(&a, json!({"metadata": {"generation": 99}}))
            .put(&a, with("uid", "11111111-1111-4111-8111-111111111111"))
            .merge(&a, json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}}))
            .put(&a, with("deletionTimestamp", "2020-01-01T00:00:00Z"))
            .merge(&a, json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}))
            .merge(&a, json!({"metadata": {"deletionGracePeriodSeconds": 3}}))
            .merge(&a, json!({"metadata": {"name": "b"}}))
            .merge(&a, json!({"metadata": {"namespace": "other"}}))
            .merge(&a, json!({"metadata": {"selfLink": "x"}}))
            .merge(&a, json!({"kind": "Other"}))
            .merge(&a, json!({"apiVersion": "other/v1"}))
            .merge(&format!("{a}/status"), json!({"metadata": {"uid": "x"}, "status": {"phase": "x"}}))
            .merge(
                &format!("{a}/status"),
                json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 9}, "status": {"phase": "x"}}),
            ),
        case("5 a config map keeps its identity, too")
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .put(
                &format!("{MAPS}/a"),
                json!({"metadata": {"name": "a", "uid": "11111111-1111-4111-8111-111111111111"}}),
            )
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"uid": "x"}}))
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"name": "x"}}))
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"creationTimestamp": null}}))
            .merge(&format!("{MAPS}/a"), json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}))
            .merge(&format!("{MAPS}/a"), json!({"kind": "Secret"})),
    ]
}

fn names() -> Vec<Case> {
    let missing = "/apis/conf.refit.dev/v1/namespaces/nowhere-$ns/widgets";
    let unnamed = |metadata| json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": metadata});
    vec![
        case("6 a missing namespace matters to creation only")
            .post(missing, widget("a", json!({})))
            .post("/api/v1/namespaces/nowhere-$ns/configmaps", json!({"metadata": {"name": "a"}}))
            .apply(&format!("{missing}/a?fieldManager=m"), widget("a", json!({})))
            .get(missing)
            .get(&format!("{missing}/a"))
            .delete(&format!("{missing}/a"), json!(null)),
        case("6 a namespace must fit the path")
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "other"}}))
            .post(MAPS, json!({"metadata": {"name": "a", "namespace": "other"}}))
            .post("/apis/conf.refit.dev/v1/widgets", widget("a", json!({})))
            .post("/api/v1/configmaps", json!({"metadata": {"name": "a", "namespace": "$ns"}}))
            .post(GLOBES, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Globe", "metadata": {"name": "x-$ns", "namespace": "other"}})),
        case("7 generated names are short")
            .post(WIDGETS, unnamed(json!({"generateName": "gen-"})))
            .post(WIDGETS, unnamed(json!({"generateName": "a234567890123456789012345678901234567890123456789012345678901234567890-"})))
            .post(MAPS, json!({"metadata": {"generateName": "gen-"}}))
            .post(WIDGETS, unnamed(json!({"generateName": "Bad_"})))
            .post(WIDGETS, unnamed(json!({})))
            .post(MAPS, json!({}))
            .post(MAPS, json!({"metadata": {"generateName": "Bad_"}})),
        case("7 a taken name is a conflict")
            .post(WIDGETS, widget("a", json!({})))
            .post(WIDGETS, widget("a", json!({})))
            .post(WIDGETS, unnamed(json!({"name": "a", "generateName": "a-"})))
            .post(&format!("{WIDGETS}?dryRun=All"), widget("a", json!({})))
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .post(MAPS, json!({"metadata": {"name": "a", "generateName": "a"}})),
        case("names and labels have a form")
            .post(WIDGETS, widget("Bad_Name", json!({})))
            .post(WIDGETS, widget("a..b", json!({})))
            .post(WIDGETS, widget(&"a".repeat(254), json!({})))
            .post(MAPS, json!({"metadata": {"name": "Bad/Name"}}))
            .post(WIDGETS, unnamed(json!({"name": "a", "labels": {"bad key": "x", "ok": "bad value!", "a/b/c": "", "/x": "", "x/": ""}})))
            .post(WIDGETS, unnamed(json!({"name": "a", "annotations": {"bad key": "x"}})))
            .post(WIDGETS, unnamed(json!({"name": "a", "finalizers": ["bad"]})))
            .post(WIDGETS, unnamed(json!({"name": "a", "finalizers": ["bad finalizer", "x/y/z"]})))
            .post(WIDGETS, unnamed(json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]})))
            .post(WIDGETS, unnamed(json!({"name": "a", "ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true}]})))
            .differs("member-order")
            .post(MAPS, json!({"metadata": {"name": "a", "labels": {"bad key": "x"}, "finalizers": ["bad"]}}))
            .post(MAPS, json!({"metadata": {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}]}}))
            .post(WIDGETS, unnamed(json!({"name": "fine", "labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["refit.dev/a"]})))
            .merge(&format!("{WIDGETS}/fine"), json!({"metadata": {"labels": {"bad key": "x"}}}))
            .merge(&format!("{WIDGETS}/fine"), json!({"metadata": {"finalizers": ["bad"]}})),
        case("8 kind and version may be absent on built-in kinds only")
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"kind": "Widget", "metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Other", "metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v2", "kind": "Widget", "metadata": {"name": "a"}}))
            .post(WIDGETS, json!({"apiVersion": "other.dev/v1", "kind": "Widget", "metadata": {"name": "a"}}))
            .post(MAPS, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}))
            .post(MAPS, json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "b"}}))
            .post(MAPS, json!({"kind": "ConfigMap", "metadata": {"name": "b"}})),
        case("8 the program is the manager where none is named")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .merge(&format!("{WIDGETS}/a?fieldManager=someone"), json!({"spec": {"size": 2}}))
            .merge(&format!("{WIDGETS}/a"), json!({"spec": {"size": 3}}))
            .with("user-agent", "kubectl/v1.36 (linux) x"),
        case("9 a collection cannot be updated")
            .put(MAPS, json!({"metadata": {"name": "a"}}))
            .put(WIDGETS, widget("a", json!({})))
            .merge(MAPS, json!({}))
            .merge(WIDGETS, json!({}))
            .post(&format!("{WIDGETS}/a"), widget("a", json!({})))
            .post(&format!("{MAPS}/a"), json!({"metadata": {"name": "a"}})),
        case("9 an unknown part of a custom resource is about the object")
            .get(&format!("{WIDGETS}/a/nosuch"))
            .post(WIDGETS, widget("a", json!({})))
            .get(&format!("{WIDGETS}/a/nosuch"))
            .put(&format!("{WIDGETS}/a/nosuch"), changed("a", json!({})))
            .get(&format!("{WIDGETS}/a/status"))
            .get(&format!("{MAPS}/a/status"))
            .get(&format!("{WIDGETS}/a/scale")),
        case("10 what nothing serves")
            .get("/nosuch")
            .get("/apis/conf.refit.dev/v1/nosuch")
            .get("/apis/conf.refit.dev/v9/widgets")
            .get("/apis/nosuch.dev/v1/widgets")
            .get("/api/v1/nosuch")
            .get("/api/v1/namespaces/$ns/nosuch/x")
            .get("/api/v2/configmaps"),
        case("a dry run answers as if, and stores nothing")
            .post(&format!("{WIDGETS}?dryRun=All"), widget("a", json!({"size": 1})))
            .get(&format!("{WIDGETS}/a"))
            .post(&format!("{MAPS}?dryRun=All"), json!({"metadata": {"name": "a"}}))
            .post(&format!("{MAPS}?dryRun=All"), json!({"metadata": {"generateName": "a-"}}))
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .merge(&format!("{WIDGETS}/a?dryRun=All"), json!({"spec": {"size": 2}}))
            .apply(&format!("{WIDGETS}/a?dryRun=All&fieldManager=m&force=true"), widget("a", json!({"size": 4})))
            .apply(&format!("{WIDGETS}/b?dryRun=All&fieldManager=m"), widget("b", json!({"size": 4})))
            .delete(&format!("{WIDGETS}/a?dryRun=All"), json!(null))
            .get(&format!("{WIDGETS}/a")),
    ]
}

fn several_versions() -> Vec<Case> {
    let (a, newer) = (format!("{WIDGETS}/a"), format!("{WIDGETS_V2}/a"));
    let v2 =
        |spec| json!({"apiVersion": "conf.refit.dev/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    vec![
        case("an object is read and written in every served version")
            .post(WIDGETS, widget("a", json!({"size": 1, "note": "x"})))
            .get(&newer)
            .get(WIDGETS_V2)
            .merge(&newer, json!({"spec": {"size": 2}}))
            .get(&a)
            .apply(&format!("{newer}?fieldManager=m"), v2(json!({"size": 15, "code": "x"})))
            .get(&a)
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"code": "y"})))
            .get(&newer)
            .merge(&format!("{newer}/status"), json!({"status": {"phase": "x"}}))
            .apply(&format!("{newer}?fieldManager=n"), v2(json!({"size": 3})))
            .apply(&format!("{newer}?fieldManager=n"), widget("a", json!({"size": 3})))
            .get(&format!("{newer}/scale"))
            .delete(&newer, json!(null)),
        case("a write through a version that lacks a stored field")
            .post(
                "/apis/conf.refit.dev/v1/namespaces/$ns/gadgets",
                json!({"apiVersion": "conf.refit.dev/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"old": "x"}}),
            )
            .get("/apis/conf.refit.dev/v2/namespaces/$ns/gadgets/a")
            .merge("/apis/conf.refit.dev/v2/namespaces/$ns/gadgets/a", json!({"spec": {"size": 2}})),
        case("an object is created in a version that is not the stored one")
            .post(WIDGETS_V2, v2(json!({"size": 15, "note": "x"})))
            .get(&a)
            .merge(&a, json!({"spec": {"note": "kept?"}}))
            .get(&newer)
            .put(&newer, json!({"apiVersion": "conf.refit.dev/v2", "kind": "Widget", "metadata": {"name": "a", "resourceVersion": "$rv"}, "spec": {"size": 5}}))
            .get(&a),
    ]
}
