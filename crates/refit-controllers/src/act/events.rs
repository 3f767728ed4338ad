//! Events for people. One that repeats is counted, not written again.
//!
//! Nobody waits for an event: it goes into a queue that has a bound, and is written from there. What finds no place is
//! dropped and counted.

mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as ApiEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use refit_hooks::shortened;
use refit_plan::effect::{Event, EventType, Target};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::chance::Chance;
use crate::clock::Clock;
pub use queue::{EventMetrics, EventQueue, MAX_WAITING};

/// How many different events are remembered by one writer, to be counted when they repeat. A thousand machines with a few
/// each, in all writers.
pub const MAX_SERIES: usize = 1_024;

/// After this time an event that repeats is told anew.
const SERIES_LIFETIME: Duration = Duration::from_secs(360);
/// The API takes 1024 bytes as the text of an event; three are for the dots of one that is cut.
const MAX_NOTE: usize = 1_024 - 3;
/// How long an event may hold up those behind it.
const EVENT_LIMIT: Duration = Duration::from_secs(5);
/// The longest name of an object that is part of the name of its event: 253 bytes are a name, 17 are the suffix.
const MAX_NAME: usize = 236;
/// Where events about objects without a namespace go.
const DEFAULT_NAMESPACE: &str = "default";

/// Why an event was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("the event was refused")]
    Request(#[from] kube::Error),
    #[error("no answer within {}s", EVENT_LIMIT.as_secs())]
    Late(#[from] tokio::time::error::Elapsed),
}

/// Records the events of one controller.
#[derive(Clone)]
pub struct EventRecorder {
    component: &'static str,
    queue: EventQueue,
}

impl EventRecorder {
    /// Records for the controller `component`.
    pub fn new(component: &'static str, queue: EventQueue) -> Self {
        Self { component, queue }
    }

    /// Has the event written, as soon as its turn comes. Nobody's work depends on it.
    pub fn record(&self, event: &Event) {
        let Event { about, reason, message, .. } = event;
        tracing::info!(kind = %about.kind, namespace = about.namespace, name = %about.name, reason, "{message}");
        self.queue.add(self.component, event.clone());
    }
}

/// Writes events, one after another.
struct Writer {
    shared: Arc<Writing>,
    series: BTreeMap<Sameness, Series>,
}

/// What all writers of a process have.
struct Writing {
    client: Client,
    instance: String,
    clock: Clock,
    chance: Chance,
}

/// What makes two events the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sameness {
    component: &'static str,
    about: Target,
    is_warning: bool,
    reason: &'static str,
    message: String,
}

#[derive(Debug, Clone)]
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl Writer {
    fn new(shared: Arc<Writing>) -> Self {
        Self { shared, series: BTreeMap::new() }
    }

    /// Writes an event. What goes wrong is logged. Whether it was written.
    async fn write(&mut self, component: &'static str, event: &Event) -> bool {
        let written = self.try_write(component, event).await;
        if let Err(error) = &written {
            let (Event { about, reason, .. }, error) = (event, refit_hooks::chain(error));
            tracing::warn!(kind = %about.kind, name = %about.name, reason, error, "event not recorded");
        }
        written.is_ok()
    }

    async fn try_write(&mut self, component: &'static str, event: &Event) -> Result<(), EventError> {
        let sameness = Sameness::of(component, event);
        let namespace = event.about.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        let api = Api::<ApiEvent>::namespaced(self.shared.client.clone(), namespace);
        if let Some(known) = self.known(&sameness) {
            let series = json!({ "series": { "count": known.count, "lastObservedTime": self.now() } });
            let patch = Patch::Merge(series);
            let patched = timeout(EVENT_LIMIT, api.patch(&known.name, &PatchParams::default(), &patch)).await?;
            match patched {
                // It has been cleaned up: told anew.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                patched => return patched.map(drop).map_err(EventError::from),
            }
        }
        let new = self.new_event(component, event, namespace);
        let name = new.metadata.name.clone().unwrap_or_default();
        timeout(EVENT_LIMIT, api.create(&PostParams::default(), &new)).await??;
        self.remember(sameness, name);
        Ok(())
    }

    /// The series that the event belongs to, counted on.
    fn known(&mut self, sameness: &Sameness) -> Option<Series> {
        let known = self.series.get_mut(sameness).filter(|known| known.last.elapsed() < SERIES_LIFETIME)?;
        known.count = known.count.saturating_add(1);
        known.last = Instant::now();
        Some(known.clone())
    }

    fn remember(&mut self, sameness: Sameness, name: String) {
        let series = &mut self.series;
        if series.len() >= MAX_SERIES {
            let oldest = series.iter().min_by_key(|(_, known)| known.last).map(|(sameness, _)| sameness.clone());
            oldest.iter().for_each(|oldest| drop(series.remove(oldest)));
        }
        series.insert(sameness, Series { name, count: 1, last: Instant::now() });
    }

    fn new_event(&self, component: &'static str, event: &Event, namespace: &str) -> ApiEvent {
        let Target { api_version, kind, name, uid, .. } = &event.about;
        let mut base = name.clone();
        base.truncate(base.floor_char_boundary(MAX_NAME));
        ApiEvent {
            metadata: ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(format!("{base}.{:016x}", self.shared.chance.number())),
                ..ObjectMeta::default()
            },
            action: Some(event.reason.to_owned()),
            event_time: Some(self.now()),
            note: Some(shortened(&event.message, MAX_NOTE)),
            reason: Some(event.reason.to_owned()),
            regarding: Some(ObjectReference {
                api_version: Some(api_version.clone()),
                kind: Some(kind.clone()),
                name: Some(name.clone()),
                namespace: event.about.namespace.clone(),
                uid: uid.clone(),
                ..ObjectReference::default()
            }),
            reporting_controller: Some(component.to_owned()),
            reporting_instance: Some(self.shared.instance.clone()),
            type_: Some(if is_warning(event) { "Warning" } else { "Normal" }.to_owned()),
            ..ApiEvent::default()
        }
    }

    fn now(&self) -> MicroTime {
        MicroTime(self.shared.clock.now())
    }
}

impl Sameness {
    fn of(component: &'static str, event: &Event) -> Self {
        let Event { about, reason, message, .. } = event.clone();
        Self { component, about, is_warning: is_warning(event), reason, message }
    }
}

fn is_warning(event: &Event) -> bool {
    match event.type_ {
        EventType::Normal => false,
        EventType::Warning => true,
    }
}
