//! What this server once answered otherwise.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/$ns/leases";
const EVENTS: &str = "/api/v1/namespaces/$ns/events";
const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/$ns/events";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/$ns/roles";
const RELICS: &str = "/apis/conf.refit.dev/v2/namespaces/$ns/relics";
const OLD_RELICS: &str = "/apis/conf.refit.dev/v1/namespaces/$ns/relics";
const OLDER_RELICS: &str = "/apis/conf.refit.dev/v1beta1/namespaces/$ns/relics";

fn relic(version: &str, name: &str, spec: Value) -> Value {
    let api_version = format!("conf.refit.dev/{version}");
    json!({"apiVersion": api_version, "kind": "Relic", "metadata": {"name": name}, "spec": spec})
}

fn named(name: &str, rest: Value) -> Value {
    let mut object = rest;
    object["metadata"]["name"] = name.into();
    object
}

pub fn cases() -> Vec<Case> {
    [paths(), custom(), made_by_update(), events(), forms()].concat()
}

fn paths() -> Vec<Case> {
    vec![
        case("the root lists what there is").get("/").differs("root-paths").get("/nosuch"),
        case("a resource without namespaces is in none")
            .post(
                "/apis/conf.refit.dev/v1/namespaces/$ns/globes",
                named("a-$ns", json!({"apiVersion": "conf.refit.dev/v1", "kind": "Globe"})),
            )
            .get("/apis/conf.refit.dev/v1/namespaces/$ns/globes")
            .get("/apis/conf.refit.dev/v1/namespaces/$ns/globes/a")
            .post("/api/v1/namespaces/$ns/nodes", named("n-$ns", json!({})))
            .get("/api/v1/namespaces/$ns/nodes")
            .delete("/api/v1/namespaces/$ns/nodes/x", json!(null)),
    ]
}

fn custom() -> Vec<Case> {
    let old = format!("{OLD_RELICS}/a");
    let a = format!("{RELICS}/a");
    let tried = |case: Case, fields: &[(&str, &str)]| {
        fields.iter().fold(case, |case, (field, value)| {
            case.post(&format!("{RELICS}?dryRun=All"), relic("v2", "x", json!({*field: value})))
        })
    };
    let mut held = relic("v2", "b", json!({"finalizers": ["kubernetes"]}));
    held["metadata"]["finalizers"] = json!(["refit.dev/hold"]);
    vec![
        case("deprecated versions answer with a warning")
            .post(OLD_RELICS, relic("v1", "a", json!({"nosuch": 1})))
            .get(&old)
            .get(OLD_RELICS)
            .get(OLDER_RELICS)
            .get(&format!("{OLD_RELICS}/nosuch"))
            .merge(&old, json!({"spec": {"digits": "x"}}))
            .get(&format!("{OLD_RELICS}?watch=1&timeoutSeconds=$seconds&resourceVersion=$rv"))
            .delete(&old, json!(null))
            .get(RELICS),
        tried(
            case("classes in expressions are ASCII"),
            &[
                ("digits", "12"),
                ("digits", "١٢"),
                ("words", "a_1"),
                ("words", "ä"),
                ("spaces", "\t "),
                ("spaces", "\u{b}"),
                ("bounds", "aä"),
                ("bounds", "ab"),
                ("class", "[a&b"),
                ("class", "c"),
                ("saidDigits", "12"),
                ("saidDigits", "١"),
                ("saidFound", "aä"),
                ("saidFound", "ab"),
            ],
        ),
        case("a rule may look at an old value that is not there")
            .post(RELICS, relic("v2", "a", json!({"grown": 2})))
            .merge(&a, json!({"spec": {"grown": 3}}))
            .merge(&a, json!({"spec": {"grown": 1}}))
            .merge(&a, json!({"spec": {"grown": null}}))
            .merge(&a, json!({"spec": {"grown": 1}})),
        case("finalizers in a spec hold nothing")
            .post(RELICS, held)
            .delete(&format!("{RELICS}/b"), json!(null))
            .merge(&format!("{RELICS}/b"), json!({"metadata": {"finalizers": null}}))
            .get(&format!("{RELICS}/b")),
    ]
}

fn made_by_update() -> Vec<Case> {
    let lease = |rest: Value| named("a", json!({"spec": {"holderIdentity": "x"}, "metadata": rest}));
    let about = json!({"involvedObject": {"kind": "Pod", "name": "p", "namespace": "$ns"}, "reason": "r"});
    vec![
        case("some kinds are made by an update")
            .put(&format!("{LEASES}/a?dryRun=All"), lease(json!({})))
            .put(&format!("{LEASES}/a"), lease(json!({})))
            .put(&format!("{LEASES}/a"), lease(json!({})))
            .put(&format!("{LEASES}/b"), lease(json!({})))
            .put(&format!("{EVENTS}/a"), named("a", about))
            .put(
                &format!("{ROLES}/a"),
                named("a", json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})),
            )
            .put(&format!("{MAPS}/a"), named("a", json!({})))
            .put(&format!("{WIDGETS}/a"), widget("a", json!({}))),
        case("an update that names a version and makes an object")
            .put(&format!("{LEASES}/a"), lease(json!({"resourceVersion": "5"})))
            .get(&format!("{LEASES}/a")),
        case("an update that names a uid and makes an object")
            .put(&format!("{LEASES}/a"), lease(json!({"uid": "11111111-1111-4111-8111-111111111111"}))),
    ]
}

fn events() -> Vec<Case> {
    let about = json!({"kind": "Pod", "name": "p", "namespace": "$ns"});
    let new = json!({"regarding": about, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "c",
        "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"});
    vec![
        case("events say what they leave empty")
            .post(EVENTS, named("a", json!({"involvedObject": about})))
            .get(&format!("{EVENTS}/a"))
            .get(&format!("{NEW_EVENTS}/a"))
            .merge(&format!("{EVENTS}/a"), json!({"count": 2}))
            .post(NEW_EVENTS, named("b", new))
            .get(&format!("{EVENTS}/b"))
            .get(EVENTS)
            .get(NEW_EVENTS),
    ]
}

fn forms() -> Vec<Case> {
    let beta = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1beta1");
    let unknown = |count: usize, text: &str| -> Value {
        (0..count).map(|number| (format!("f{number:03}{text}"), json!(number))).collect()
    };
    vec![
        case("tables and metadata in their older version")
            .post(MAPS, named("a", json!({"data": {"x": "1"}})))
            .get(&format!("{MAPS}/a"))
            .with("accept", &beta("Table"))
            .differs("column-descriptions")
            .get(MAPS)
            .with("accept", &beta("Table"))
            .differs("column-descriptions")
            .get(&format!("{MAPS}/a"))
            .with("accept", &beta("PartialObjectMetadata"))
            .get(MAPS)
            .with("accept", &beta("PartialObjectMetadataList")),
        case("a list may take for ever").get(&format!("{MAPS}?timeoutSeconds=9223372036854775807")),
        case("warnings have a bound")
            .post(WIDGETS, widget("a", unknown(30, "")))
            .post(WIDGETS, widget("b", unknown(60, &"x".repeat(90))))
            .post(WIDGETS, widget("c", unknown(12, &"x".repeat(500))))
            .raw(Method::POST, MAPS, "application/json", named("a", json!({"ä\"b": 1})).to_string()),
    ]
}
