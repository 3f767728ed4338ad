//! Watches: which events a client sees, and as which text.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::View;
use super::list::{integer, parse_version};
use super::selector::Selector;
use crate::field_error::{FieldError, FieldErrors};
use crate::request::{Query, Verb};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Event, EventKind, Record, Revision};
use crate::write::options;

/// How long a watch goes on when the client does not say: half an hour, after which it is begun anew.
const DEFAULT_SECONDS: u64 = 1_800;

/// The longest that a watch goes on, whatever the client asks for: a week.
const MAX_SECONDS: u64 = 7 * 24 * 60 * 60;

/// How a watch is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    pub start: Start,
    pub bookmarks: bool,
    pub timeout_seconds: u64,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what there is, as events, and then what changes.
    Now {
        /// A bookmark says where what there was ends.
        is_marked: bool,
        /// What there is must be at least as new.
        at_least: Option<Revision>,
    },
    /// With what changed after this version.
    After(Revision),
}

impl WatchOptions {
    pub fn parse(query: &Query) -> Result<Self, Status> {
        let version = query.get("resourceVersion").unwrap_or_default();
        let matching = query.get("resourceVersionMatch").unwrap_or_default();
        let initial = query.get("sendInitialEvents").map(|_| query.is_true("sendInitialEvents"));
        let mut errors = match_errors(matching, initial);
        if query.get("continue").is_some_and(|token| !token.is_empty()) {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", detail));
        }
        if !errors.is_empty() {
            return Err(options::invalid(Verb::Watch, &errors));
        }
        let revision = match version {
            "" | "0" => None,
            text => Some(parse_version(text).map_err(|error| Status::internal(error.to_string()))?),
        };
        let start = match (initial, revision) {
            (Some(true), at_least) => Start::Now { is_marked: true, at_least },
            (_, None) => Start::Now { is_marked: false, at_least: None },
            (_, Some(revision)) => Start::After(revision),
        };
        integer(query, "limit")?;
        let timeout_seconds = match integer(query, "timeoutSeconds")? {
            None | Some(0) => DEFAULT_SECONDS,
            // A time that is over before the watch begins ends it at once.
            Some(seconds) => u64::try_from(seconds).unwrap_or(0).min(MAX_SECONDS),
        };
        Ok(Self { start, bookmarks: query.is_true("allowWatchBookmarks"), timeout_seconds })
    }
}

fn match_errors(matching: &str, initial: Option<bool>) -> FieldErrors {
    let field = "resourceVersionMatch";
    match (initial, matching) {
        (None, "") => FieldErrors::default(),
        (None, _) => {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            FieldError::forbidden(field, detail).into()
        }
        (Some(_), "NotOlderThan") => FieldErrors::default(),
        (Some(_), other) => {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            let odd = (!other.is_empty()).then(|| FieldError::not_supported(field, other, &["NotOlderThan"]));
            [FieldError::forbidden(field, detail)].into_iter().chain(odd).collect()
        }
    }
}

/// Turns changes into the lines that a client reads.
pub struct Lines {
    view: View,
    selector: Selector,
    /// Whether a line was made already: only the first table says what its columns are.
    has_begun: bool,
}

impl Lines {
    pub fn new(view: View, selector: Selector) -> Self {
        Self { view, selector, has_begun: false }
    }

    /// The line of an object that is there when the watch begins.
    pub fn initial(&mut self, resource: &Resource, record: &Record, now: Timestamp) -> Option<Bytes> {
        self.selects(record).then(|| self.line("ADDED", resource, record, now))
    }

    /// The line of a change. To a client, an object that leaves its selector is deleted, as it was before and at the
    /// version of the change; one that comes in is added.
    pub fn change(&mut self, resource: &Resource, event: &Event, now: Timestamp) -> Option<Bytes> {
        let was = event.previous.as_ref().is_some_and(|record| self.selects(record));
        let is = event.kind != EventKind::Deleted && self.selects(&event.record);
        match (was, is) {
            (false, true) => Some(self.line("ADDED", resource, &event.record, now)),
            (true, true) => Some(self.line("MODIFIED", resource, &event.record, now)),
            (true, false) if event.kind == EventKind::Deleted => {
                Some(self.line("DELETED", resource, &event.record, now))
            }
            (true, false) => {
                let last = event.previous.as_ref()?.at(event.revision());
                Some(self.line("DELETED", resource, &last, now))
            }
            (false, false) => None,
        }
    }

    /// Says up to which version everything was sent. `ends_initial`: and that this is all that there was.
    pub fn bookmark(&mut self, resource: &Resource, revision: Revision, ends_initial: bool, now: Timestamp) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let is_first = self.is_first();
        line("BOOKMARK", &self.view.bookmark(resource, &metadata, now, is_first))
    }

    fn selects(&self, record: &Record) -> bool {
        self.selector.is_everything() || self.selector.matches(&record.value())
    }

    fn line(&mut self, kind: &str, resource: &Resource, record: &Record, now: Timestamp) -> Bytes {
        let is_first = self.is_first();
        let object = self.view.event(resource, record, now, is_first);
        [format!("{{\"type\":\"{kind}\",\"object\":").as_bytes(), &object, b"}\n"].concat().into()
    }

    /// Whether nothing was sent before; from now on, something was.
    fn is_first(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true)
    }
}

/// The last line of a watch that cannot go on.
pub fn error(status: &Status) -> Bytes {
    line("ERROR", &status.to_json())
}

fn line(kind: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({"type": kind, "object": object})).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_ends_some_day_whatever_is_asked_for() {
        let seconds = |query: &str| WatchOptions::parse(&Query::parse(query)).unwrap().timeout_seconds;
        assert_eq!(seconds("timeoutSeconds=9223372036854775807"), MAX_SECONDS);
        assert_eq!(seconds("timeoutSeconds=5"), 5);
        assert_eq!(seconds("timeoutSeconds=0"), DEFAULT_SECONDS);
        assert_eq!(seconds("timeoutSeconds=-5"), 0, "it ends at once");
    }
}
