//! What an informer makes of interruptions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ObjectMeta, Status};
use kube::runtime::watcher::{Error, Event};

use crate::cache::{Feed, Informer, ObjectKey, Start};
use crate::chance::Chance;

type Script = Vec<Result<Event<ConfigMap>, Error>>;

const LIMIT: Duration = Duration::from_secs(60);

fn object(name: &str, version: u64) -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn listed(objects: &[(&str, u64)]) -> Script {
    let objects = objects.iter().map(|(name, version)| Ok(Event::InitApply(object(name, *version))));
    [Ok(Event::Init)].into_iter().chain(objects).chain([Ok(Event::InitDone)]).collect()
}

fn status(code: u16) -> Box<Status> {
    Box::new(Status { code, ..Status::failure("no", "No") })
}

/// An informer that is fed one script after another, and hangs after the last. Notes how each was begun.
fn informer(scripts: Vec<Script>) -> (Informer<ConfigMap>, Arc<Mutex<Vec<Start>>>) {
    let starts = Arc::<Mutex<Vec<Start>>>::default();
    let (begun, scripts) = (Arc::clone(&starts), Mutex::new(scripts.into_iter()));
    let feed = Feed::new(move |start| {
        begun.lock().unwrap().push(start);
        let script = scripts.lock().unwrap().next().unwrap_or_default();
        futures::stream::iter(script).chain(futures::stream::pending()).boxed()
    });
    (Informer::start(feed, vec![], Chance::from_seed(1)), starts)
}

/// Begins with a list of `a` and `b`, fails, and finds `b` and `c` in the next.
async fn check_begun_anew(error: Error) {
    let mut first = listed(&[("a", 1), ("b", 2)]);
    first.push(Err(error));
    let (informer, starts) = informer(vec![first, listed(&[("b", 2), ("c", 4)])]);
    let told = Arc::<Mutex<Vec<String>>>::default();
    let telling = Arc::clone(&told);
    informer.subscribe(
        "test",
        Box::new(move |change| {
            let sign = if change.is_deletion() { '-' } else { '+' };
            let name = change.either().and_then(|object| object.metadata.name.clone()).unwrap_or_default();
            telling.lock().unwrap().push(format!("{sign}{name}"));
        }),
    );
    assert!(informer.wait_seen(4, LIMIT).await);
    assert_eq!(*told.lock().unwrap(), ["+a", "+b", "+c", "-a"]);
    assert_eq!(*starts.lock().unwrap(), [Start::Streaming, Start::Listing]);
}

#[tokio::test(start_paused = true)]
async fn what_vanished_in_a_gap_is_told_as_deleted() {
    check_begun_anew(Error::WatchError(status(410))).await;
    check_begun_anew(Error::WatchStartFailed(kube::Error::Api(status(410)))).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_read_is_not_skipped() {
    let unreadable = serde_json::from_str::<ConfigMap>("[").expect_err("it must not decode");
    check_begun_anew(Error::WatchFailed(kube::Error::SerdeError(unreadable))).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_asked_for_a_list() {
    let refusal = || vec![Err(Error::WatchStartFailed(kube::Error::Api(status(422))))];
    let (informer, starts) = informer(vec![refusal(), listed(&[("a", 1)])]);
    assert!(informer.wait_ready(LIMIT).await);
    assert_eq!(*starts.lock().unwrap(), [Start::Streaming, Start::Listing]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_watch_goes_on_where_it_was() {
    let mut script = listed(&[("a", 1)]);
    script.push(Err(Error::WatchStartFailed(kube::Error::Api(status(503)))));
    script.push(Ok(Event::Apply(object("a", 2))));
    let (informer, starts) = informer(vec![script]);
    assert!(informer.wait_seen(2, LIMIT).await);
    assert_eq!(starts.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_what_is_waited_for_or_with_the_time() {
    let mut script = listed(&[("a", 1)]);
    script.push(Ok(Event::Delete(object("a", 3))));
    let (informer, _) = informer(vec![script]);
    let key = ObjectKey::new("", "a");
    assert!(informer.wait_gone(&key, "uid-a", LIMIT).await);
    assert!(informer.wait_seen(3, LIMIT).await);
    assert!(!informer.wait_seen(4, LIMIT).await);
    assert!(informer.get(&key).is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_seen_before_the_first_list_is_complete() {
    let (informer, _) = informer(vec![vec![Ok(Event::Init), Ok(Event::InitApply(object("a", 1)))]]);
    assert!(!informer.wait_ready(LIMIT).await);
    assert!(!informer.wait_seen(1, LIMIT).await);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_does_not_end_the_watch() {
    let mut script = listed(&[("a", 1)]);
    script.push(Ok(Event::Apply(object("a", 2))));
    let (informer, _) = informer(vec![script]);
    informer.subscribe("test", Box::new(|_| panic!("on purpose")));
    assert!(informer.wait_seen(2, LIMIT).await);
}
