//! Carrying out reads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::{Answer, Api, Body, Call, Clock};
use crate::read::View;
use crate::read::list::{self, ListOptions};
use crate::read::selector::Selector;
use crate::read::watch::{self, Lines, Start, WatchOptions};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Key, Record, Revision, Scope, Watch, WatchEnd};

/// How often a quiet watch says how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Selecting keeps none of what it decodes, so that of small objects a megabyte is selected on the spot, in a hundredth of a second.
const SELECTED_PER_SHOWN: usize = 16;
/// How long a list waits for a version that is not there yet.
const WAIT_FOR_VERSION: Duration = Duration::from_secs(3);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Api {
    pub(super) async fn get(&self, call: &Call<'_>, name: &str) -> Result<Answer, Status> {
        match call.request.query.get("resourceVersion").unwrap_or_default() {
            "" | "0" => {}
            version => {
                let asked = list::parse_version(version).map_err(|error| Status::internal(error.to_string()))?;
                self.wait_for(asked).await?;
            }
        }
        let record = self.shared.store.get(&call.key(name));
        let record = record.ok_or_else(|| Status::not_found(call.resource.qualified_plural(), name))?;
        let view = View::of_object(call.request)?;
        let bytes = if view.is_plain(call.resource, &record) { 0 } else { record.json().len() };
        let show = || view.object(call.resource, &record, self.now());
        Ok(Answer::json_text(StatusCode::OK, self.in_turn(&call.request.user, bytes, show).await))
    }

    pub(super) async fn list(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let view = View::of_list(call.request)?;
        let options = ListOptions::parse(&call.request.query)?;
        let selector = Selector::parse(&call.request.query, call.resource)?;
        if let Some(asked) = options.at_least.or(options.exact) {
            self.wait_for(asked).await?;
        }
        let at = options.position.as_ref().map(|position| Revision(position.revision)).or(options.exact);
        let after = options.position.as_ref().map(|position| {
            let resource = call.resource.storage_name();
            Key::new(call.request.cluster.clone(), resource, position.namespace.as_str(), position.name.as_str())
        });
        let snapshot = self.shared.store.list(&call.scope(), at, after.as_ref());
        let snapshot = snapshot.map_err(|error| list::refusal(error, at.unwrap_or(Revision(0)), after.is_some()))?;
        let revision = snapshot.revision;
        let bytes =
            if selector.is_everything() { 0 } else { snapshot.records.iter().map(|record| record.json().len()).sum() };
        let page = || list::page(snapshot, &selector, options.limit);
        let (records, page) = self.in_turn(&call.request.user, bytes / SELECTED_PER_SHOWN, page).await;
        Ok(self.listed(call, view, records, (revision, &page)).await)
    }

    /// Waits a moment for a version that a client has seen elsewhere.
    async fn wait_for(&self, asked: Revision) -> Result<(), Status> {
        let deadline = Instant::now() + WAIT_FOR_VERSION;
        while self.shared.store.revision() < asked {
            if Instant::now() >= deadline {
                return Err(list::too_new(asked, self.shared.store.revision()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    pub(super) async fn watch(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let view = View::of_watch(call.request)?;
        let options = WatchOptions::parse(&call.request.query)?;
        let selector = Selector::parse(&call.request.query, call.resource)?;
        let lines = Lines::new(view, selector);
        let deadline = Instant::now() + Duration::from_secs(options.timeout_seconds);
        let (initial, from) = self.begin(call, &options).await?;
        let follow = match self.shared.store.watch(call.scope(), from) {
            Ok(watch) => Follow {
                initial,
                watch,
                lines,
                resource: call.resource.clone(),
                clock: self.shared.clock.clone(),
                bookmark: options.bookmarks.then(|| Instant::now() + BOOKMARK_EVERY),
                deadline,
            },
            Err(end) => {
                let body = Body::Stream(Box::pin(stream::iter([watch::error(&ended(end, from))])));
                return Ok(Answer::new(StatusCode::OK, "application/json", body));
            }
        };
        let body = Body::Stream(Box::pin(stream::unfold(Some(follow), Follow::step)));
        Ok(Answer::new(StatusCode::OK, "application/json", body))
    }

    /// What there is, and the version behind which the changes begin.
    async fn begin(&self, call: &Call<'_>, options: &WatchOptions) -> Result<(Initial, Revision), Status> {
        let (is_marked, at_least) = match options.start {
            Start::After(revision) => return Ok((Initial::default(), revision)),
            Start::Now { is_marked, at_least } => (is_marked, at_least),
        };
        if let Some(asked) = at_least {
            self.wait_for(asked).await?;
        }
        let snapshot = self.shared.store.list(&call.scope(), None, None);
        let snapshot = snapshot.map_err(|error| list::refusal(error, Revision(0), false))?;
        let mark = is_marked.then_some(snapshot.revision);
        Ok((Initial { records: snapshot.records.into_iter(), mark }, snapshot.revision))
    }
}

/// What a watch shows before the first change. It becomes text as the client reads: the records are shared.
#[derive(Default)]
struct Initial {
    records: std::vec::IntoIter<Record>,
    /// The version to tell when all was shown.
    mark: Option<Revision>,
}

/// A watch on its way.
struct Follow {
    initial: Initial,
    watch: Watch,
    lines: Lines,
    resource: Arc<Resource>,
    clock: Clock,
    /// When the next bookmark is due, where the client wants any.
    bookmark: Option<Instant>,
    deadline: Instant,
}

impl Follow {
    /// The next line; `None` after the last.
    async fn step(state: Option<Self>) -> Option<(Bytes, Option<Self>)> {
        let mut follow = state?;
        if let Some(line) = follow.initially() {
            return Some((line, Some(follow)));
        }
        loop {
            let wake = follow.bookmark.map_or(follow.deadline, |bookmark| bookmark.min(follow.deadline));
            match timeout_at(wake, follow.watch.next()).await {
                Ok(Ok(event)) => {
                    if let Some(line) = follow.lines.change(&follow.resource, &event, (follow.clock)()) {
                        return Some((line, Some(follow)));
                    }
                }
                Ok(Err(end)) => {
                    let position = follow.watch.position();
                    return Some((watch::error(&ended(end, position)), None));
                }
                Err(_) if Instant::now() >= follow.deadline => return None,
                Err(_) => {
                    follow.bookmark = Some(Instant::now() + BOOKMARK_EVERY);
                    let (position, now) = (follow.watch.position(), (follow.clock)());
                    let line = follow.lines.bookmark(&follow.resource, position, false, now);
                    return Some((line, Some(follow)));
                }
            }
        }
    }
}

impl Follow {
    /// The next line of what was there; `None` when all of it was shown.
    fn initially(&mut self) -> Option<Bytes> {
        let Self { initial, lines, resource, clock, .. } = self;
        let line = initial.records.find_map(|record| lines.initial(resource, &record, clock()));
        line.or_else(|| initial.mark.take().map(|revision| lines.bookmark(resource, revision, true, clock())))
    }
}

fn ended(end: WatchEnd, position: Revision) -> Status {
    match end {
        WatchEnd::TooOld { oldest } => Status::expired(format!("too old resource version: {position} ({oldest})")),
        WatchEnd::Dropped => Status::expired("the logical cluster is gone"),
    }
}

impl Call<'_> {
    /// The objects that a list or watch is about.
    pub(super) fn scope(&self) -> Scope {
        let scope = Scope::resource(self.request.cluster.clone(), self.resource.storage_name());
        match self.path.namespace.as_deref().filter(|_| self.resource.is_namespaced) {
            Some(namespace) => scope.in_namespace(namespace),
            None => scope,
        }
    }
}
