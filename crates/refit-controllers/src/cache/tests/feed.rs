//! What an informer makes of interruptions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ObjectMeta, Status};
use refit_plan::effect::Target;
use tokio::time::Instant;

use crate::cache::{Event, Feed, Informer, ObjectKey, Sight, Start, Undecodable, WatchError, Written};
use crate::chance::Chance;

type Script = Vec<Result<Event<ConfigMap>, WatchError>>;

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

/// A list of these, at the highest of their versions.
fn listed(objects: &[(&str, u64)]) -> Script {
    let highest = objects.iter().map(|(_, version)| *version).max().unwrap_or(1);
    listed_at(objects, highest)
}

fn listed_at(objects: &[(&str, u64)], version: u64) -> Script {
    let objects = objects.iter().map(|(name, version)| Ok(Event::InitApply(Ok(object(name, *version)))));
    let (init, done) = (Event::Init { asked: Instant::now() }, Event::InitDone { version: version.to_string() });
    [Ok(init)].into_iter().chain(objects).chain([Ok(done)]).collect()
}

fn unreadable() -> serde_json::Error {
    serde_json::from_str::<ConfigMap>("[").expect_err("it must not decode")
}

fn undecodable(name: &str, version: u64) -> Box<Undecodable> {
    let ConfigMap { metadata, .. } = object(name, version);
    Box::new(Undecodable {
        key: ObjectKey::new("", name),
        uid: metadata.uid.clone(),
        version: version.to_string(),
        metadata: Some(metadata),
        why: "data: must be a string".to_owned(),
    })
}

fn status(code: u16) -> Box<Status> {
    Box::new(Status { code, ..Status::failure("no", "No") })
}

/// An informer that is fed one script after another, and hangs after the last. Notes how each was begun.
fn informer(scripts: Vec<Script>) -> (Informer<ConfigMap>, Arc<Mutex<Vec<Start>>>) {
    informer_of(scripts.into_iter().map(|script| Box::new(move || script) as Scripted).collect())
}

/// What is told, made when it is asked for.
type Scripted = Box<dyn FnOnce() -> Script + Send>;

fn informer_of(scripts: Vec<Scripted>) -> (Informer<ConfigMap>, Arc<Mutex<Vec<Start>>>) {
    let starts = Arc::<Mutex<Vec<Start>>>::default();
    let (begun, scripts) = (Arc::clone(&starts), Mutex::new(scripts.into_iter()));
    let feed = Feed::new("configmaps", move |start| {
        begun.lock().unwrap().push(start);
        let script = scripts.lock().unwrap().next().map(|script| script()).unwrap_or_default();
        futures::stream::iter(script).chain(futures::stream::pending()).boxed()
    });
    (Informer::start(feed, vec![], Chance::from_seed(1)), starts)
}

/// Begins with a list of `a` and `b`, fails, and finds `b` and `c` in the next.
async fn check_begun_anew(error: WatchError) {
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
    check_begun_anew(WatchError::Told(status(410))).await;
    check_begun_anew(WatchError::Request(kube::Error::Api(status(410)))).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_read_is_not_skipped() {
    check_begun_anew(WatchError::Unreadable(unreadable())).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_asked_for_a_list() {
    let refusal = || vec![Err(WatchError::Request(kube::Error::Api(status(422))))];
    let (informer, starts) = informer(vec![refusal(), listed(&[("a", 1)])]);
    assert!(informer.wait_ready(LIMIT).await);
    assert_eq!(*starts.lock().unwrap(), [Start::Streaming, Start::Listing]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_watch_goes_on_where_it_was_once_the_server_is_known_to_have_come_so_far() {
    let mut first = listed(&[("a", 1)]);
    first.push(Err(WatchError::Request(kube::Error::Api(status(503)))));
    let (informer, starts) = informer(vec![first, vec![Ok(Event::Resumed), Ok(Event::Apply(Ok(object("a", 2))))]]);
    assert!(informer.wait_seen(2, LIMIT).await);
    let after = Start::After { version: "1".to_owned(), is_checked: true };
    assert_eq!(*starts.lock().unwrap(), [Start::Streaming, after]);
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_server_that_was_restored_from_a_backup_are_taken_as_they_are() {
    let mut first = listed(&[("a", 900), ("b", 901)]);
    first.push(Err(WatchError::WentBack { at: "501".to_owned(), after: "901".to_owned() }));
    let mut second = listed(&[("a", 500), ("c", 501)]);
    second.push(Ok(Event::Apply(Ok(object("a", 502)))));
    let (informer, _) = informer(vec![first, second]);
    let version = |name: &str| {
        let found = informer.get(&ObjectKey::new("", name))?;
        found.metadata.resource_version.clone()
    };
    let taken = async {
        while version("a").as_deref() != Some("502") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, taken).await.expect("older versions of a list must be taken");
    assert_eq!((version("b"), version("c").as_deref()), (None, Some("501")));
}

/// The answer to a write of the object `name` said this version, a second ago.
async fn written(name: &str, version: u64) -> Written {
    let (api_version, kind) = ("v1".to_owned(), "ConfigMap".to_owned());
    let target = Target { api_version, kind, namespace: None, name: name.to_owned(), uid: None };
    let written = Written::Version { target, version, at: Instant::now() };
    tokio::time::sleep(Duration::from_secs(1)).await;
    written
}

#[tokio::test(start_paused = true)]
async fn a_write_is_seen_by_a_list_though_the_object_is_gone_again() {
    let written = written("a", 7).await;
    // `a` was written at 7 and deleted at 8, while nobody watched.
    let (informer, _) = informer(vec![listed_at(&[("b", 2)], 9)]);
    assert!(informer.has_seen(&written, LIMIT).await);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_seen_by_a_list_that_was_asked_for_later_whatever_its_version() {
    let written = written("a", 900).await;
    // The server was restored from a backup after the write.
    let (informer, _) = informer(vec![listed_at(&[("b", 2)], 500)]);
    assert!(informer.has_seen(&written, LIMIT).await);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_not_seen_by_who_does_not_hear_what_happens() {
    let mut script = listed_at(&[("b", 2)], 900);
    script.push(Err(WatchError::Broken(std::io::Error::other("the connection is gone"))));
    let (informer, _) = informer(vec![script]);
    assert!(informer.wait_ready(LIMIT).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // A server that was restored meanwhile may answer with any version.
    assert!(!informer.has_seen(&written("a", 510).await, LIMIT).await);
}

#[tokio::test(start_paused = true)]
async fn one_object_that_cannot_be_decoded_stops_no_other() {
    let mut script = listed(&[("a", 1), ("b", 2)]);
    script.push(Ok(Event::Apply(Err(undecodable("a", 3)))));
    script.push(Ok(Event::Apply(Ok(object("b", 4)))));
    let (informer, starts) = informer(vec![script]);
    assert!(informer.wait_seen(4, LIMIT).await);
    assert_eq!(starts.lock().unwrap().len(), 1, "nothing is listed anew for it");
    let problem = informer.read(&ObjectKey::new("", "a")).expect_err("nobody knows what it says").to_string();
    assert!(problem.contains("data: must be a string"), "{problem}");
    assert!(informer.get(&ObjectKey::new("", "a")).is_some(), "it is not taken for one that is gone");
    assert!(informer.doubt(|one, before| one.key.name == "a" && before.is_some()).is_some());
    assert!(informer.read(&ObjectKey::new("", "b")).is_ok_and(|found| found.is_some()));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_mended_or_deleted_is_in_doubt_no_more() {
    let mut script = vec![Ok(Event::Init { asked: Instant::now() })];
    script.extend(["a", "b"].map(|name| Ok(Event::InitApply(Err(undecodable(name, 1))))));
    script.push(Ok(Event::InitDone { version: "1".to_owned() }));
    script.push(Ok(Event::Apply(Ok(object("a", 2)))));
    script.push(Ok(Event::Delete(Err(undecodable("b", 3)))));
    let (informer, _) = informer(vec![script]);
    assert!(informer.wait_seen(3, LIMIT).await);
    assert_eq!(informer.undecodable(), 0);
    assert!(informer.get(&ObjectKey::new("", "a")).is_some() && informer.get(&ObjectKey::new("", "b")).is_none());
}

#[tokio::test(start_paused = true)]
async fn who_must_know_what_is_now_has_everything_listed_anew() {
    let second = [("a", 3), ("b", 4)];
    let (informer, starts) = informer_of(vec![Box::new(|| listed(&[("a", 1)])), Box::new(move || listed(&second))]);
    assert!(informer.wait_ready(LIMIT).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let now = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(informer.wait_as_new_as(now, LIMIT).await);
    assert!(informer.get(&ObjectKey::new("", "b")).is_some());
    assert_eq!(*starts.lock().unwrap(), [Start::Streaming, Start::Listing]);
    assert!(informer.wait_as_new_as(now, LIMIT).await, "it is known already");
    assert_eq!(starts.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_what_is_waited_for_or_with_the_time() {
    let mut script = listed(&[("a", 1)]);
    script.push(Ok(Event::Delete(Ok(object("a", 3)))));
    let (informer, _) = informer(vec![script]);
    let key = ObjectKey::new("", "a");
    assert!(informer.wait_gone(&key, "uid-a", LIMIT).await);
    assert!(informer.wait_seen(3, LIMIT).await);
    assert!(!informer.wait_seen(4, LIMIT).await);
    assert!(informer.get(&key).is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_seen_before_the_first_list_is_complete() {
    let (informer, _) =
        informer(vec![vec![Ok(Event::Init { asked: Instant::now() }), Ok(Event::InitApply(Ok(object("a", 1))))]]);
    assert!(!informer.wait_ready(LIMIT).await);
    assert!(!informer.wait_seen(1, LIMIT).await);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_does_not_end_the_watch() {
    let mut script = listed(&[("a", 1)]);
    script.push(Ok(Event::Apply(Ok(object("a", 2)))));
    let (informer, _) = informer(vec![script]);
    informer.subscribe("test", Box::new(|_| panic!("on purpose")));
    assert!(informer.wait_seen(2, LIMIT).await);
}
