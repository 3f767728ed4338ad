//! The events of one kind, without end: list, watch, and begin anew where that is the only way to be sure.

use std::time::Duration;

use futures::StreamExt;
use kube::Resource;
use kube::api::Api;
use kube::core::ApiResource;
use refit_hooks::chain;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::event::{Event, item_version};
use super::provided::Provided;
use super::watch::{Events, SILENCE_LIMIT, Source, Start, WATCH_SECONDS, WatchError};
use crate::chance::Chance;
use crate::heart::{BEAT_EVERY, Beating};
use crate::queue::Backoff;

/// How long to leave a server alone that does not answer.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(30) };
/// After so many failures in a row the log says so aloud.
const LOUD: u32 = 3;
/// A server that ends a watch before this has other reasons than that its time is over.
const IN_TIME: Duration = Duration::from_secs(WATCH_SECONDS as u64 - 10);

/// What an API server says of a version that it has forgotten.
const GONE: u16 = 410;

/// Where the events of one kind come from.
pub struct Feed<K> {
    open: Box<dyn Fn(Start) -> Events<K> + Send + Sync>,
    /// What it is called in logs: the plural.
    resource: String,
}

/// Where a feed is.
struct Position {
    start: Start,
    /// Up to where everything was told, outside of lists.
    version: Option<String>,
    failures: u32,
}

/// Why nothing more comes from one request.
enum Ended {
    /// Somebody wants a new list.
    Renewed,
    /// The server, or the script of a test, says that this is all.
    Over,
    Silent,
    Failed(WatchError),
}

impl<K: Resource + Send + 'static> Feed<K> {
    /// Events from anything that can be begun anew.
    pub fn new(resource: &str, open: impl Fn(Start) -> Events<K> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), resource: resource.to_owned() }
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    /// Passes on all events. Never ends. Whoever notifies `renew` has everything listed anew.
    pub(super) async fn run(self, chance: &Chance, beating: Beating, renew: &Notify, take: impl Fn(Event<K>)) {
        let mut position = Position { start: Start::Streaming, version: None, failures: 0 };
        loop {
            let (began, start) = (Instant::now(), position.start.clone());
            let ended = self.follow(&mut position, &beating, renew, &take).await;
            let is_complete = match start {
                Start::Listing => position.version.is_some(),
                Start::Streaming | Start::After { .. } => began.elapsed() >= IN_TIME,
            };
            let is_in_time = is_complete && matches!(ended, Ended::Over);
            let pause = position.end(ended, is_in_time, &self.resource, chance);
            if !is_in_time {
                take(Event::Lost);
            }
            sleep(pause).await;
        }
    }

    /// Passes on what comes from one request.
    async fn follow(
        &self,
        position: &mut Position,
        beating: &Beating,
        renew: &Notify,
        take: &impl Fn(Event<K>),
    ) -> Ended {
        let (mut events, mut heard) = ((self.open)(position.start.clone()), Instant::now());
        loop {
            beating.beat();
            let next = tokio::select! {
                biased;
                () = renew.notified() => return Ended::Renewed,
                next = timeout(BEAT_EVERY, events.next()) => next,
            };
            match next {
                Ok(Some(Ok(event))) => {
                    heard = Instant::now();
                    position.note(&event);
                    take(event);
                }
                Ok(Some(Err(error))) => return Ended::Failed(error),
                Ok(None) => return Ended::Over,
                Err(_) if heard.elapsed() > SILENCE_LIMIT => return Ended::Silent,
                Err(_) => {}
            }
        }
    }
}

impl Position {
    fn note<K: Resource>(&mut self, event: &Event<K>) {
        let version = match event {
            // A list that is broken off is to be begun anew.
            Event::Init { .. } => {
                self.version = None;
                return;
            }
            Event::Resumed | Event::Lost => return,
            Event::InitApply(_) => None,
            Event::InitDone { version } | Event::Bookmark { version } => Some(version.as_str()),
            Event::Apply(item) | Event::Delete(item) => Some(item_version(item)),
        };
        self.failures = 0;
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            self.version = Some(version.to_owned());
        }
    }

    /// Decides how to begin next. Gives the time until then.
    fn end(&mut self, ended: Ended, is_in_time: bool, resource: &str, chance: &Chance) -> Duration {
        let is_anew = match &ended {
            Ended::Renewed => true,
            Ended::Over | Ended::Silent => false,
            Ended::Failed(error) => must_begin_anew(error, &self.start),
        };
        if let Ended::Failed(error) = &ended {
            let error = chain(error);
            match self.failures {
                LOUD => tracing::warn!(resource, error, failures = self.failures, "watch interrupted"),
                failures => tracing::debug!(resource, error, failures, "watch interrupted"),
            }
        }
        self.start = match (self.version.take().filter(|_| !is_anew), is_anew) {
            (Some(version), _) => {
                self.version = Some(version.clone());
                Start::After { version, is_checked: !is_in_time }
            }
            (None, true) => Start::Listing,
            (None, false) if self.start == Start::Streaming => Start::Streaming,
            (None, false) => Start::Listing,
        };
        if is_in_time || matches!(ended, Ended::Renewed) {
            return Duration::ZERO;
        }
        let delay = BACKOFF.delay(self.failures, chance);
        self.failures = self.failures.saturating_add(1);
        delay
    }
}

impl<K: Resource + DeserializeOwned + Send + 'static> Feed<K> {
    /// Events of all objects.
    pub fn of(api: Api<K>) -> Self {
        Self::selected(api, None)
    }

    /// Events of the object of this name only: whoever may read no other one may watch it.
    pub fn named(api: Api<K>, name: &str) -> Self {
        let path = api.resource_url().to_owned();
        let source = Source::named(api.into_client(), &path, name);
        Self::new(plural(&path), move |start| source.open(start))
    }

    /// Events of the objects that have the label.
    pub fn labelled(api: Api<K>, label: &'static str) -> Self {
        Self::selected(api, Some(label))
    }

    fn selected(api: Api<K>, label: Option<&'static str>) -> Self {
        let path = api.resource_url().to_owned();
        let source = Source::new(api.into_client(), &path, label);
        Self::new(plural(&path), move |start| source.open(start))
    }
}

impl Feed<Provided> {
    /// Events of all objects of a provider's kind.
    pub fn provided(api: Api<Provided>, resource: &ApiResource) -> Self {
        let (path, resource) = (api.resource_url().to_owned(), resource.clone());
        let source = Source::new(api.into_client(), &path, None);
        Self::new(plural(&path), move |start| {
            let resource = resource.clone();
            source.open(start).map(move |event| event.map(|event| of_kind(event, &resource))).boxed()
        })
    }
}

/// The last part of the path of a kind.
fn plural(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn of_kind(event: Event<Provided>, resource: &ApiResource) -> Event<Provided> {
    match event {
        Event::Apply(item) => Event::Apply(item.map(|object| object.of_kind(resource))),
        Event::InitApply(item) => Event::InitApply(item.map(|object| object.of_kind(resource))),
        Event::Delete(item) => Event::Delete(item.map(|object| object.of_kind(resource))),
        event @ (Event::Init { .. }
        | Event::InitDone { .. }
        | Event::Bookmark { .. }
        | Event::Lost
        | Event::Resumed) => event,
    }
}

/// Whether going on from the last version would miss something, or cannot work.
fn must_begin_anew(error: &WatchError, start: &Start) -> bool {
    match error {
        // An event that says so, whatever the server does with the stream afterwards; or what cannot be gone on from.
        WatchError::Told(_) | WatchError::NoVersion | WatchError::WentBack { .. } => true,
        // What cannot be read would be skipped, and never come again.
        WatchError::Unreadable(_) | WatchError::TooLong => true,
        // The version is forgotten, or the server does not stream lists.
        WatchError::Request(kube::Error::Api(status)) => {
            status.code == GONE || (*start == Start::Streaming && (400..500).contains(&status.code))
        }
        WatchError::Request(_) | WatchError::Broken(_) => false,
    }
}
