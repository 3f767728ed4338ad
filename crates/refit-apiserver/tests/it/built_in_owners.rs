//! Built-in kinds: what the real server writes down about their creator, and what the pure functions do.

use http::Method;
use jiff::Timestamp;
use refit_apiserver::apply::{self, Endpoint, Origin, Writer};
use refit_apiserver::schema::{Definitions, parse};
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::model::definitions;
use crate::world::Real;

/// A kind: its definition, where it is created, and whether its status has an endpoint of its own.
struct BuiltIn {
    definition: &'static str,
    collection: &'static str,
    has_status: bool,
    object: Value,
}

#[test]
fn creators_of_built_in_kinds_own_what_they_own_on_the_real_server() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let real = Real::connect(&plane, "").await;
        let definitions = definitions();
        for kind in kinds() {
            check(&real, &definitions, &kind).await;
        }
    });
}

/// The real server's answer has the defaults that the creator comes to own; what it says about owners must follow.
async fn check(real: &Real, definitions: &Definitions, kind: &BuiltIn) {
    let path = format!("{}?fieldManager=m", kind.collection);
    let (code, answer) = real.request(Method::POST, &path, "application/json", &kind.object).await;
    assert_eq!(code, 201, "{}: {answer}", kind.definition);
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let endpoint = Endpoint {
        schema: parse(&definitions[kind.definition], definitions),
        api_version: text("apiVersion"),
        kind: text("kind"),
        subresource: String::new(),
        reset: Endpoint::main_reset(kind.has_status),
        origin: Origin::BuiltIn,
    };
    let mut found = answer.clone();
    if let Some(metadata) = found["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    apply::update(&endpoint, None, &mut found, &Writer { manager: "m", now: Timestamp::UNIX_EPOCH });
    let fields = |object: &Value| object["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(fields(&found), fields(&answer), "{}", kind.definition);
}

fn kinds() -> Vec<BuiltIn> {
    let labels = json!({"app": "a"});
    let metadata = json!({"name": "a", "namespace": "default", "labels": labels, "finalizers": ["refit.dev/x"]});
    let container = json!({
        "name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    });
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": [{"name": "v", "configMap": {"name": "c"}}]},
    });
    let kind = |definition, collection, has_status, parts: Value| {
        let mut object = json!({"metadata": metadata});
        json_patch::merge(&mut object, &parts);
        BuiltIn { definition, collection, has_status, object }
    };
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    vec![
        kind(
            "io.k8s.api.core.v1.ConfigMap",
            "/api/v1/namespaces/default/configmaps",
            false,
            json!({"data": {"a": "b"}}),
        ),
        kind(
            "io.k8s.api.core.v1.Secret",
            "/api/v1/namespaces/default/secrets",
            false,
            json!({"data": {"a": "YQ=="}, "type": "Opaque"}),
        ),
        kind(
            "io.k8s.api.coordination.v1.Lease",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            false,
            json!({"spec": {"holderIdentity": "me", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
        ),
        kind(
            "io.k8s.api.rbac.v1.Role",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            false,
            json!({"rules": rules}),
        ),
        kind(
            "io.k8s.api.apps.v1.DaemonSet",
            "/apis/apps/v1/namespaces/default/daemonsets",
            true,
            json!({"spec": {"selector": {"matchLabels": labels}, "template": template}}),
        ),
        kind(
            "io.k8s.api.policy.v1.PodDisruptionBudget",
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            true,
            json!({"spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}),
        ),
        kind(
            "io.k8s.api.core.v1.Event",
            "/api/v1/namespaces/default/events",
            false,
            json!({"involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}, "reason": "r", "type": "Normal"}),
        ),
    ]
}
