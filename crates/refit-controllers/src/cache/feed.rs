//! The events of one kind, without end: list, watch, and begin anew where that is the only way to be sure.

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::api::Api;
use kube::core::ApiResource;
use kube::runtime::watcher::{self, Error, Event, watcher as watch};

use kube::{Error as ClientError, Resource};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::provided::Provided;
use crate::chance::Chance;
use crate::queue::Backoff;

/// How long to leave a server alone that does not answer.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(30) };

/// What an API server says of a version that it has forgotten.
const GONE: u16 = 410;

/// How to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the objects as the first events of the watch: one request, and the server need not hold a list together.
    Streaming,
    /// With a list of what there is, by a consistent read. For servers that do not stream, and after a gap: a stream
    /// may begin at a state that is older than what was known before the gap.
    Listing,
}

type Events<K> = BoxStream<'static, Result<Event<K>, Error>>;

/// Where the events of one kind come from.
pub struct Feed<K> {
    open: Box<dyn Fn(Start) -> Events<K> + Send + Sync>,
}

impl<K: Send + 'static> Feed<K> {
    /// Events from anything that can be begun anew.
    pub fn new(open: impl Fn(Start) -> Events<K> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open) }
    }

    /// Passes on all events. Never ends.
    pub(super) async fn run(self, chance: &Chance, take: impl Fn(Event<K>)) {
        let (mut start, mut failures) = (Start::Streaming, 0);
        loop {
            let mut events = (self.open)(start);
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        // The beginning of a list says nothing yet about a server that works.
                        failures = if matches!(event, Event::Init) { failures } else { 0 };
                        take(event);
                    }
                    Err(error) => {
                        tracing::debug!(%error, failures, "watch interrupted");
                        sleep(BACKOFF.delay(failures, chance)).await;
                        failures = failures.saturating_add(1);
                        if must_begin_anew(&error, start) {
                            start = Start::Listing;
                            break;
                        }
                    }
                }
            }
        }
    }
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Feed<K> {
    /// Events of all objects.
    pub fn of(api: Api<K>) -> Self {
        Self::new(move |start| watch(api.clone(), config(start)).boxed())
    }

    /// Events of the objects that have the label.
    pub fn labelled(api: Api<K>, label: &'static str) -> Self {
        Self::new(move |start| watch(api.clone(), config(start).labels(label)).boxed())
    }
}

impl Feed<Provided> {
    /// Events of all objects of a provider's kind.
    pub fn provided(api: Api<Provided>, resource: &ApiResource) -> Self {
        let resource = resource.clone();
        Self::new(move |start| {
            let resource = resource.clone();
            watch(api.clone(), config(start)).map_ok(move |event| of_kind(event, &resource)).boxed()
        })
    }
}

fn of_kind(event: Event<Provided>, resource: &ApiResource) -> Event<Provided> {
    match event {
        Event::Apply(object) => Event::Apply(object.of_kind(resource)),
        Event::InitApply(object) => Event::InitApply(object.of_kind(resource)),
        Event::Delete(object) => Event::Delete(object.of_kind(resource)),
        event @ (Event::Init | Event::InitDone) => event,
    }
}

fn config(start: Start) -> watcher::Config {
    match start {
        Start::Streaming => watcher::Config::default().streaming_lists(),
        Start::Listing => watcher::Config::default(),
    }
}

/// Whether going on from the last version would miss something, or cannot work.
fn must_begin_anew(error: &Error, start: Start) -> bool {
    match error {
        // An event that says so, whatever the server does with the stream afterwards; or a list without a version.
        Error::WatchError(_) | Error::NoResourceVersion => true,
        Error::InitialListFailed(_) => false,
        // The version is forgotten, or the server does not stream lists.
        Error::WatchStartFailed(ClientError::Api(status)) => {
            status.code == GONE || (start == Start::Streaming && (400..500).contains(&status.code))
        }
        // An event that cannot be read would be skipped, and never come again.
        Error::WatchFailed(error) => matches!(error, ClientError::SerdeError(_)),
        Error::WatchStartFailed(_) => false,
    }
}
