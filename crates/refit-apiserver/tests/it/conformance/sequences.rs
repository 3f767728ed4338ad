//! Random writes by several managers, alike on both ends: creations, replacements, patches of every kind, applies,
//! status, scale and deletions with finalizers and preconditions.

use futures::StreamExt;
use http::Method;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::ends::End;
use super::heard::differences;
use super::script::{Player, Step};
use crate::sample::{API_VERSION, KIND, Samples};

/// How many objects live, each in a namespace of its own. `REFIT_SEQUENCES` asks for another number.
const SEQUENCES: u64 = 48;
/// How many requests an object gets.
const REQUESTS: usize = 30;
const PARALLEL: usize = 8;
/// Of a hundred requests, how many must have succeeded for the sequences to show anything.
const MIN_SUCCESS_PERCENT: usize = 30;

/// Objects of which kind a sequence is about.
#[derive(Clone, Copy)]
enum Subject {
    Sample,
    Widget,
    ConfigMap,
}

#[test]
fn random_sequences_end_alike_on_the_real_server() {
    super::on_both_ends(async |ends| {
        let number =
            |name: &str, otherwise| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
        let (seed, count) = (number("REFIT_SEED", 1), number("REFIT_SEQUENCES", SEQUENCES));
        let runs = (0..count).map(|sequence| run(ends, seed * 1_000_000 + sequence));
        let results: Vec<Result<usize, String>> = futures::stream::iter(runs).buffered(PARALLEL).collect().await;
        let problems: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        let told: Vec<&str> = problems.iter().map(|problem| problem.as_str()).collect();
        assert!(problems.is_empty(), "{} of {count} sequences differ:\n{}", problems.len(), told.join("\n\n"));
        let succeeded: usize = results.iter().flatten().sum();
        let asked = usize::try_from(count).unwrap_or(0) * REQUESTS;
        assert!(succeeded * 100 >= asked * MIN_SUCCESS_PERCENT, "only {succeeded} of {asked} requests succeeded");
    });
}

/// Runs one sequence, again where time may have made the difference.
async fn run(ends: &[End; 2], seed: u64) -> Result<usize, String> {
    let mut result = Ok(0);
    for attempt in 1..=super::ATTEMPTS {
        result = attempt_at(ends, seed, attempt).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Runs one sequence. `Err` tells the story up to the first difference; otherwise it is how many requests succeeded.
async fn attempt_at(ends: &[End; 2], seed: u64, attempt: usize) -> Result<usize, String> {
    let namespace = format!("sequence-{seed}-{attempt}");
    super::make_namespace(ends, &namespace).await;
    let mut players = [Player::new(&namespace, 1), Player::new(&namespace, 1)];
    let (mut story, mut succeeded) = (format!("seed {seed}\n"), 0);
    for ask in requests(seed) {
        story.push_str(&format!("{} {}\n    {}\n", ask.method, ask.uri, String::from_utf8_lossy(&ask.body)));
        let step = Step { ask, differs: None };
        let [embedded, real] = &mut players;
        let (embedded, real) = futures::join!(embedded.play(&ends[0], &step), real.play(&ends[1], &step));
        let mut found = Vec::new();
        differences("", &embedded, &real, &mut found);
        if !found.is_empty() {
            return Err(format!("{story}{}\nembedded {embedded}\nreal     {real}", found.join("\n")));
        }
        succeeded += usize::from(real["code"].as_u64().is_some_and(|code| code < 300));
    }
    Ok(succeeded)
}

fn requests(seed: u64) -> Vec<Ask> {
    let mut samples = Samples(StdRng::seed_from_u64(seed));
    let subject = match samples.0.random_range(0..10) {
        0..6 => Subject::Sample,
        6..8 => Subject::Widget,
        _ => Subject::ConfigMap,
    };
    (0..REQUESTS).map(|_| request(&mut samples, subject)).collect()
}

impl Subject {
    fn collection(self) -> String {
        let (group, plural) = match self {
            Self::Sample => (format!("/apis/{API_VERSION}"), "samples"),
            Self::Widget => ("/apis/conf.refit.dev/v1".to_owned(), "widgets"),
            Self::ConfigMap => ("/api/v1".to_owned(), "configmaps"),
        };
        format!("{group}/namespaces/$ns/{plural}")
    }

    /// A random object of the only name.
    fn object(self, samples: &mut Samples) -> Value {
        match self {
            Self::Sample => samples.object("o"),
            Self::Widget => self.described(samples, widget_spec),
            Self::ConfigMap => {
                let mut object = self.described(samples, |_| json!(null));
                object["data"] = samples.texts();
                object
            }
        }
    }

    fn described(self, samples: &mut Samples, spec: impl FnOnce(&mut Samples) -> Value) -> Value {
        let (version, kind) = match self {
            Self::Sample => (API_VERSION, KIND),
            Self::Widget => ("conf.refit.dev/v1", "Widget"),
            Self::ConfigMap => ("v1", "ConfigMap"),
        };
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "o"}});
        let spec = spec(samples);
        if !spec.is_null() {
            object["spec"] = spec;
        }
        if samples.chance(30) {
            object["metadata"]["labels"] = samples.texts();
        }
        object
    }
}

/// A spec in which rules and bounds are sometimes broken.
fn widget_spec(samples: &mut Samples) -> Value {
    let mut spec = Map::new();
    let choices = [
        ("size", json!([1, 2, 10, 11, "x"])),
        ("low", json!([1, 2])),
        ("high", json!([1, 2])),
        ("replicas", json!([0, 1, 3, -1])),
        ("code", json!(["a", "b", "A", "toolong"])),
        ("tier", json!(["basic", "pro", "other", null])),
        ("mood", json!(["calm", null])),
        ("fixed", json!(["a", "b"])),
        ("tags", json!([["a"], ["a", "b"], ["a", "a"], []])),
        ("ports", json!([[{"port": 80}], [{"port": 80, "protocol": "UDP"}, {"port": 80}]])),
        ("numbers", json!([[1], [1, 2], []])),
        ("must", json!([{"x": "1"}, {"y": "1"}, {}])),
        ("limit", json!([1, "50%", true])),
    ];
    for (name, values) in choices {
        if samples.chance(20) {
            let values = values.as_array().cloned().unwrap_or_default();
            spec.insert(name.to_owned(), values[samples.0.random_range(0..values.len())].clone());
        }
    }
    Value::Object(spec)
}

fn request(samples: &mut Samples, subject: Subject) -> Ask {
    let collection = subject.collection();
    let manager = samples.pick(&["m1", "m2", "m3", "kubectl"]);
    let is_config_map = matches!(subject, Subject::ConfigMap);
    let part = if !is_config_map && samples.chance(20) { "/status" } else { "" };
    let uri = format!("{collection}/o{part}?fieldManager={manager}");
    let mut body = subject.object(samples);
    if part == "/status" && matches!(subject, Subject::Sample) {
        body["status"] = samples.status();
    }
    if part == "/status" && matches!(subject, Subject::Widget) {
        body["status"] = json!({"phase": samples.pick(&["a", "b"]), "replicas": samples.0.random_range(-1..3)});
    }
    match samples.0.random_range(0..100) {
        0..15 => Ask::json(Method::POST, &format!("{collection}?fieldManager={manager}"), JSON, &body),
        15..28 => {
            body["metadata"]["resourceVersion"] = samples.pick(&["$rv", "$rv", "$rv", "$rv", "$old", ""]).into();
            Ask::json(Method::PUT, &uri, JSON, &body)
        }
        28..45 if is_config_map => Ask::json(Method::PATCH, &uri, STRATEGIC, &strategic(samples)),
        28..42 => Ask::json(Method::PATCH, &uri, MERGE, &body),
        42..50 => Ask::json(Method::PATCH, &uri, JSON_PATCH, &operations(samples)),
        50..60 => Ask::json(Method::PATCH, &uri, MERGE, &finalizers(samples)),
        60..66 => Ask::json(Method::GET, &format!("{collection}/o{part}"), JSON, &Value::Null),
        66..72 if matches!(subject, Subject::Widget) => {
            let scale = json!({"spec": {"replicas": samples.0.random_range(0..4)}});
            Ask::json(Method::PATCH, &format!("{collection}/o/scale?fieldManager={manager}"), MERGE, &scale)
        }
        72..80 => Ask::json(Method::DELETE, &format!("{collection}/o"), JSON, &deletion(samples)),
        _ => {
            for metadata in ["/metadata", "/spec/template/metadata"] {
                body.pointer_mut(metadata).into_iter().for_each(without_empty);
            }
            Ask::json(Method::PATCH, &format!("{uri}&force={}", samples.chance(40)), APPLY, &body)
        }
    }
}

/// Empty parts of metadata are a documented difference.
fn without_empty(metadata: &mut Value) {
    let members = metadata.as_object_mut().expect("metadata must be an object");
    members.retain(|_, member| *member != json!({}) && *member != json!([]));
}

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

fn one_of(samples: &mut Samples, values: Value) -> Value {
    let values = values.as_array().cloned().unwrap_or_default();
    values[samples.0.random_range(0..values.len())].clone()
}

fn finalizers(samples: &mut Samples) -> Value {
    let lists = json!([null, [], [], ["refit.dev/a"], ["refit.dev/a", "refit.dev/b"]]);
    json!({"metadata": {"finalizers": one_of(samples, lists)}})
}

fn deletion(samples: &mut Samples) -> Value {
    let options = json!([
        null,
        {},
        {"propagationPolicy": "Background"},
        {"preconditions": {"uid": "$uid"}},
        {"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}},
        {"preconditions": {"resourceVersion": "$rv"}},
        {"preconditions": {"resourceVersion": "$old"}},
        {"dryRun": ["All"]},
    ]);
    one_of(samples, options)
}

fn operations(samples: &mut Samples) -> Value {
    let patches = json!([
        [{"op": "add", "path": "/metadata/labels", "value": {"k": "one"}}],
        [{"op": "add", "path": "/metadata/labels/k", "value": "two"}],
        [{"op": "remove", "path": "/metadata/labels"}],
        [{"op": "replace", "path": "/spec", "value": {}}],
        [{"op": "add", "path": "/spec/tags", "value": ["a"]}],
        [{"op": "add", "path": "/spec/tags/-", "value": "b"}],
        [{"op": "remove", "path": "/spec/tags/0"}],
        [{"op": "add", "path": "/data", "value": {"k": "json"}}],
        [{"op": "test", "path": "/metadata/uid", "value": "$uid"}, {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}],
        [{"op": "test", "path": "/metadata/resourceVersion", "value": "$old"}],
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    ]);
    one_of(samples, patches)
}

fn strategic(samples: &mut Samples) -> Value {
    let patches = json!([
        {"data": {"k": "strategic"}},
        {"data": {"k": null, "l": "x"}},
        {"data": null},
        {"data": {"$patch": "replace", "m": "only"}},
        {"metadata": {"finalizers": ["refit.dev/a"]}},
        {"metadata": {"finalizers": ["refit.dev/b"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["refit.dev/a"]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u-1"}]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "u-2"}]}},
        {"metadata": {"ownerReferences": [{"uid": "u-1", "controller": true}]}},
        {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "u-1"}]}},
        {"metadata": {"labels": {"k": "one", "$patch": "replace"}}},
        {"immutable": false},
    ]);
    one_of(samples, patches)
}
