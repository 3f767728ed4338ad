use std::time::Duration;

use kube::Client;
use kube::api::ListParams;
use refit_controllers::act::{Carried, EventQueue, EventRecorder, Why, carry_out};
use refit_controllers::cache::Written;
use refit_controllers::chance::Chance;
use refit_controllers::clock::Clock;
use refit_peers::{ControlPlane, Options, require_peers};
use refit_plan::effect::{Apply, Delete, Effect, Event, Part, Patch, Target};
use serde_json::{Value, json};

use crate::world::{self, api, create, machine};

const VERSION: &str = "cluster.x-k8s.io/v1beta2";

/// What is expected of carrying out one effect.
#[derive(Debug, PartialEq)]
enum Expected {
    Done,
    Gone,
    Stale,
    Refused,
}

impl Expected {
    fn of(carried: &Carried) -> Self {
        match (&carried.failure, carried.written.first()) {
            (None, Some(Written::Version { version, .. })) if *version > 0 => Self::Done,
            (None, Some(Written::Gone { .. })) => Self::Gone,
            (Some(failure), _) => match &failure.why {
                Why::Stale { .. } => Self::Stale,
                Why::Refused { words, .. } if !words.is_empty() => Self::Refused,
                why => panic!("{why:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

struct Acting {
    client: Client,
    events: EventRecorder,
    queue: EventQueue,
}

impl Acting {
    fn new(client: Client) -> Self {
        let clock = Clock::from_system();
        let queue = EventQueue::start(client.clone(), "i".to_owned(), clock, Chance::from_seed(1));
        Self { client, events: EventRecorder::new("machine-controller", queue.clone()), queue }
    }

    async fn check(&self, effect: Effect, expected: Expected) {
        let carried = carry_out([&effect], &self.client, &self.events).await;
        assert_eq!(Expected::of(&carried), expected, "{effect:?}: {carried:?}");
    }
}

fn patch(object: &Value, merge: Value) -> Patch {
    Patch::object(Target::of_value(object), merge)
}

fn apply(target: Target, labels: Value) -> Effect {
    let mut intent = machine(&target.name);
    intent["apiVersion"] = json!(target.api_version);
    intent["kind"] = json!(target.kind);
    intent["metadata"]["labels"] = labels;
    Effect::Apply(Apply { target, manager: "capi-machineset", intent })
}

/// Every sort of write, with and without what it needs to be right.
async fn check_writes(acting: &Acting) {
    let object = create(&acting.client, VERSION, "Machine", Some("default"), machine("m1")).await;
    let target = Target::of_value(&object);
    let other = Target { uid: Some("00000000-0000-0000-0000-000000000000".to_owned()), ..target.clone() };
    let absent = Target { name: "absent".to_owned(), ..other.clone() };
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    let versioned =
        |version: &str| Patch { resource_version: Some(version.to_owned()), ..patch(&object, label.clone()) };
    let version = object["metadata"]["resourceVersion"].as_str().expect("it must have a version");
    acting.check(Effect::Patch(versioned(version)), Expected::Done).await;
    let status = Patch { part: Part::Status, ..patch(&object, json!({ "status": { "phase": "Running" } })) };
    acting.check(Effect::Patch(status), Expected::Done).await;
    acting.check(Effect::Patch(versioned(version)), Expected::Stale).await;
    acting.check(Effect::Patch(Patch::object(other.clone(), label.clone())), Expected::Stale).await;
    acting.check(Effect::Patch(Patch::object(absent.clone(), label)), Expected::Stale).await;
    let wrong = patch(&object, json!({ "spec": { "clusterName": "" } }));
    acting.check(Effect::Patch(wrong), Expected::Refused).await;
    acting.check(apply(target.clone(), json!({ "c": "d" })), Expected::Done).await;
    acting.check(apply(other.clone(), json!({ "c": "e" })), Expected::Stale).await;
    acting.check(apply(absent, json!({})), Expected::Stale).await;
    let new = Target { name: "m2".to_owned(), uid: None, ..target };
    acting.check(apply(new, json!({})), Expected::Done).await;
}

async fn check_deletes(acting: &Acting) {
    let object = create(&acting.client, VERSION, "Machine", Some("default"), machine("m3")).await;
    let target = Target::of_value(&object);
    let other = Target { uid: Some("00000000-0000-0000-0000-000000000000".to_owned()), ..target.clone() };
    acting.check(Effect::Delete(Delete::at_any_version(other)), Expected::Stale).await;
    let adopted = patch(&object, json!({ "metadata": { "labels": { "a": "b" } } }));
    acting.check(Effect::Patch(adopted), Expected::Done).await;
    acting.check(Effect::Delete(Delete::value_as_seen(&object)), Expected::Stale).await;
    let found = api(&acting.client, VERSION, "Machine", Some("default")).get("m3").await.expect("it must be there");
    let seen = serde_json::to_value(found).expect("it must encode");
    acting.check(Effect::Delete(Delete::value_as_seen(&seen)), Expected::Gone).await;
    acting.check(Effect::Delete(Delete::at_any_version(target)), Expected::Gone).await;
}

/// An event that repeats is one object that counts.
async fn check_events(acting: &Acting) {
    let object = create(&acting.client, VERSION, "Machine", Some("default"), machine("m4")).await;
    let event = |message: &str| Effect::Emit(Event::warning(Target::of_value(&object), "Why", message));
    let effects = [event("one"), event("one"), event("one"), event("two")];
    assert_eq!(carry_out(&effects, &acting.client, &acting.events).await, Carried::default());
    assert!(acting.queue.drain(Duration::from_secs(120)).await, "they must be written");
    let events = api(&acting.client, "events.k8s.io/v1", "Event", Some("default"));
    let listed = events.list(&ListParams::default()).await.expect("events must be listed");
    let about = |event: &Value| event["regarding"]["name"] == "m4";
    let mut told: Vec<Value> = listed
        .items
        .into_iter()
        .map(|event| event.data)
        .filter(about)
        .map(|event| json!([event["note"], event["series"]["count"], event["type"]]))
        .collect();
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, [json!(["one", 3, "Warning"]), json!(["two", null, "Warning"])]);
}

#[tokio::test]
async fn writes_on_the_embedded_server_come_to_what_they_should() {
    let acting = Acting::new(world::embedded().await);
    check_writes(&acting).await;
    check_deletes(&acting).await;
    check_events(&acting).await;
}

#[test]
fn writes_on_the_real_server_come_to_what_they_should() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let acting = Acting::new(world::real(&plane).await);
        check_writes(&acting).await;
        check_deletes(&acting).await;
        check_events(&acting).await;
    });
}
