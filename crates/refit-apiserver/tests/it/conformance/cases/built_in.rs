//! Built-in kinds: what Cluster API's clients can meet of their own rules.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";
const SECRETS: &str = "/api/v1/namespaces/$ns/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/$ns/leases";
const EVENTS: &str = "/api/v1/namespaces/$ns/events";
const NAMESPACES: &str = "/api/v1/namespaces";

fn named(name: &str, rest: Value) -> Value {
    let mut object = rest;
    object["metadata"] = json!({"name": name});
    object
}

pub fn cases() -> Vec<Case> {
    [maps(), secrets(), others()].concat()
}

fn maps() -> Vec<Case> {
    let a = format!("{MAPS}/a");
    vec![
        case("config maps have keys of a form")
            .post(MAPS, named("a", json!({"data": {"a b": "1"}})))
            .post(MAPS, named("a", json!({"data": {"..": "1", ".": "2", "": "3"}})))
            .post(MAPS, named("a", json!({"data": {"x": "1"}, "binaryData": {"x": "AA=="}})))
            .post(MAPS, named("a", json!({"data": {&"k".repeat(254): "1"}})))
            .post(MAPS, named("a", json!({"binaryData": {"x": "not base64!"}})))
            .post(MAPS, named("a", json!({"binaryData": {"x": 1}})))
            .post(MAPS, named("a", json!({"data": {"x": 1}})))
            .post(MAPS, named("a", json!({"data": ["x"]})))
            .post(MAPS, named("a", json!({"data": null, "binaryData": {}, "immutable": null})))
            .merge(&a, json!({"data": {"a b": "1"}}))
            .merge(&a, json!({"data": {"n": 1}}))
            .merge(&a, json!({"immutable": "x"})),
        case("50 config maps have a size")
            .post(MAPS, named("a", json!({"data": {"x": "x".repeat(1024 * 1024 + 1)}})))
            .post(MAPS, named("a", json!({"data": {"x": "x".repeat(1024 * 1024 - 1)}})))
            .post(MAPS, json!({"metadata": {"name": "b", "annotations": {"a": "x".repeat(256 * 1024)}}})),
        case("immutable config maps stay")
            .post(MAPS, named("a", json!({"data": {"x": "1"}, "immutable": true})))
            .merge(&a, json!({"data": {"x": "2"}}))
            .merge(&a, json!({"binaryData": {"y": "AA=="}}))
            .merge(&a, json!({"immutable": false}))
            .merge(&a, json!({"immutable": null}))
            .merge(&a, json!({"metadata": {"labels": {"a": "b"}}}))
            .delete(&a, json!(null)),
    ]
}

fn secrets() -> Vec<Case> {
    let a = format!("{SECRETS}/a");
    vec![
        case("secrets are opaque unless they say otherwise")
            .post(SECRETS, named("a", json!({"data": {"x": "AA=="}})))
            .post(SECRETS, named("b", json!({"stringData": {"x": "text"}, "type": "cluster.x-k8s.io/secret"})))
            .merge(&format!("{SECRETS}/b"), json!({"stringData": {"y": "more"}}))
            .post(SECRETS, named("c", json!({"data": {"x": "AA==", "y": "AA=="}, "stringData": {"x": "over"}})))
            .merge(&a, json!({"type": "other"}))
            .merge(&a, json!({"data": {"x": "not base64!"}}))
            .apply(
                &format!("{SECRETS}/d?fieldManager=m"),
                json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"x": "text"}}),
            )
            .apply(
                &format!("{SECRETS}/d?fieldManager=m"),
                json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"x": "other"}}),
            )
            .apply(
                &format!("{SECRETS}/e?fieldManager=m"),
                json!({"apiVersion": "v1", "kind": "Secret", "data": {"x": "AA=="}, "type": "t"}),
            )
            .get(SECRETS),
        case("secrets have keys, sizes and types")
            .post(SECRETS, named("a", json!({"data": {"a b": "AA=="}})))
            .post(SECRETS, named("a", json!({"stringData": {"x": "x".repeat(1024 * 1024 + 1)}})))
            .post(SECRETS, named("a", json!({"type": "kubernetes.io/tls", "data": {}})))
            .post(
                SECRETS,
                named(
                    "a",
                    json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "bm90IGpzb24="}}),
                ),
            )
            .post(SECRETS, named("a", json!({"type": "kubernetes.io/basic-auth"})))
            .post(SECRETS, named("a", json!({"type": "kubernetes.io/ssh-auth"})))
            .post(SECRETS, named("a", json!({"type": "kubernetes.io/service-account-token"})))
            .post(
                SECRETS,
                named("a", json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "AA==", "tls.key": "AA=="}})),
            )
            .differs("tls-warning")
            .merge(&a, json!({"data": {"tls.key": null}})),
        case("immutable secrets stay")
            .post(SECRETS, named("a", json!({"data": {"x": "AA=="}, "immutable": true})))
            .merge(&a, json!({"data": {"x": "AAA="}}))
            .merge(&a, json!({"immutable": false})),
    ]
}

fn others() -> Vec<Case> {
    let lease = json!({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}});
    let event = |name: &str, rest: Value| {
        let mut event = json!({"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "$ns"},
            "reason": "Because", "message": "it was so", "type": "Normal", "source": {"component": "c"}, "count": 1,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"});
        for (key, value) in rest.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        event
    };
    vec![
        case("leases")
            .post(LEASES, named("a", lease.clone()))
            .put(&format!("{LEASES}/a"), named("a", json!({"spec": {"holderIdentity": "b", "leaseTransitions": 1, "renewTime": "2026-01-01T00:00:01.5Z"}})))
            .post(LEASES, named("b", json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})))
            .post(LEASES, named("b", json!({"spec": {"renewTime": "yesterday"}})))
            .post(LEASES, named("b", json!({"spec": {"leaseDurationSeconds": "x"}})))
            .post(LEASES, named("b", json!({})))
            .apply(&format!("{LEASES}/c?fieldManager=m"), json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "x"}})),
        case("namespaces")
            .post(NAMESPACES, named("n-$ns", json!({})))
            .post(NAMESPACES, named("n-$ns", json!({})))
            .post(NAMESPACES, named("Bad.Name", json!({})))
            .merge(&format!("{NAMESPACES}/n-$ns"), json!({"metadata": {"labels": {"kubernetes.io/metadata.name": null, "a": "b"}}}))
            .merge(&format!("{NAMESPACES}/n-$ns"), json!({"spec": {"finalizers": []}}))
            .merge(&format!("{NAMESPACES}/n-$ns/status"), json!({"status": {"phase": "Terminating"}}))
            .get(&format!("{NAMESPACES}/n-$ns"))
            .apply(&format!("{NAMESPACES}/m-$ns?fieldManager=m"), json!({"apiVersion": "v1", "kind": "Namespace"})),
        case("events")
            .post(EVENTS, event("a", json!({})))
            .post(EVENTS, event("b", json!({"involvedObject": {"kind": "Node", "name": "n"}})))
            .post(EVENTS, event("c", json!({"involvedObject": {"kind": "Pod", "name": "n", "namespace": "other"}})))
            .merge(&format!("{EVENTS}/a"), json!({"count": 2}))
            .strategic(&format!("{EVENTS}/a"), json!({"count": 3, "lastTimestamp": "2026-01-02T00:00:00Z"}))
            .get(&format!("{EVENTS}?fieldSelector=involvedObject.name%3Dp"))
            .get(&format!("{EVENTS}?fieldSelector=reason%3DOther")),
        case("service accounts and RBAC are plain data")
            .post("/api/v1/namespaces/$ns/serviceaccounts", named("a", json!({})))
            .post("/apis/rbac.authorization.k8s.io/v1/namespaces/$ns/roles", named("a:b", json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})))
            .post("/apis/rbac.authorization.k8s.io/v1/clusterroles", named("x:$ns", json!({"rules": []})))
            .differs("rbac-defaults")
            .post("/apis/rbac.authorization.k8s.io/v1/namespaces/$ns/rolebindings", named("a", json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a:b"}, "subjects": [{"kind": "User", "name": "u"}]})))
            .differs("rbac-defaults"),
        case("nodes")
            .post("/api/v1/nodes", named("$ns", json!({"spec": {"providerID": "x://1"}, "status": {"phase": "x"}})))
            .differs("node-taint")
            .merge("/api/v1/nodes/$ns", json!({"spec": {"taints": [], "unschedulable": true}}))
            .merge("/api/v1/nodes/$ns", json!({"spec": {"providerID": "y://2"}}))
            .merge("/api/v1/nodes/$ns/status", json!({"status": {"nodeInfo": {"kubeletVersion": "v1"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}))
            .merge("/api/v1/nodes/$ns", json!({"spec": {"taints": [{"key": "a", "effect": "What"}]}}))
            .delete("/api/v1/nodes/$ns", json!(null)),
        case("bodies in YAML")
            .raw(Method::POST, MAPS, "application/yaml", "metadata:\n  name: a\ndata:\n  a: \"1\"\n  b: text\n")
            .raw(Method::POST, MAPS, "application/yaml", "metadata:\n  name: b\ndata:\n  a: 1\n")
            .raw(Method::POST, MAPS, "application/yaml", "metadata:\n  name: c\ndata:\n  a: yes\n")
            .raw(Method::POST, MAPS, "application/yaml", "a: [")
            .differs("yaml-errors")
            .raw(Method::POST, MAPS, "application/yaml", "text"),
    ]
}
