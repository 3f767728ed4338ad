//! One kind on an API server: its list, its first state as a stream, or what happened since a version.
//!
//! Objects are decoded one by one: one that cannot be is told as such, and the others are told.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use kube::Client;
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, Status};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::event::{Event, Listed, Told};

/// How many objects are asked for at a time, as in client-go.
const PAGE: u32 = 500;
/// After this time a server ends a watch, and it is begun anew. As in kube.
pub(super) const WATCH_SECONDS: u32 = 290;
/// The longest line of a watch: twenty of the largest objects that etcd takes, as JSON.
const MAX_LINE: u64 = 32 * 1024 * 1024;

/// How to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// With the objects as the first events of the watch: one request, and the server need not hold a list together.
    Streaming,
    /// With a list of what there is, by a consistent read. For servers that do not stream.
    Listing,
    /// With what happened after this version. `is_checked`: the server is asked first whether it has come so far. One
    /// that was restored from a backup has not, and would tell nothing until it has.
    After { version: String, is_checked: bool },
}

/// Why there is nothing more to be heard.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the request failed")]
    Request(#[from] kube::Error),
    #[error("the server said so")]
    Told(#[source] Box<Status>),
    #[error("the watch broke off")]
    Broken(#[from] io::Error),
    #[error("what the server sent is no list and no event")]
    Unreadable(#[from] serde_json::Error),
    #[error("a line is longer than {MAX_LINE} bytes")]
    TooLong,
    #[error("the server said no version")]
    NoVersion,
    /// As after it was restored from a backup.
    #[error("the server is at version {at}, before {after}")]
    WentBack { at: String, after: String },
}

pub(super) type Events<K> = BoxStream<'static, Result<Event<K>, WatchError>>;

/// One kind on an API server.
#[derive(Clone)]
pub(super) struct Source {
    client: Client,
    request: Request,
    label: Option<&'static str>,
    /// The only object that is looked at, by its name.
    name: Option<String>,
}

impl Source {
    /// All objects below the path; those with the label, if there is one.
    pub fn new(client: Client, path: &str, label: Option<&'static str>) -> Self {
        Self { client, request: Request::new(path), label, name: None }
    }

    /// Only the object of this name.
    pub fn named(client: Client, path: &str, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::new(client, path, None) }
    }

    fn fields(&self) -> Option<String> {
        self.name.as_ref().map(|name| format!("metadata.name={name}"))
    }

    /// The events from there on, until the server or something else ends them.
    pub fn open<K: DeserializeOwned + Send + 'static>(&self, start: Start) -> Events<K> {
        let state = Reading { source: self.clone(), waiting: VecDeque::new(), next: Next::Begin(start) };
        stream::try_unfold(state, |state| state.step().boxed()).boxed()
    }

    async fn page<K: DeserializeOwned>(&self, token: Option<String>) -> Result<Listed<K>, WatchError> {
        let params = ListParams { limit: Some(PAGE), continue_token: token, ..self.list_params() };
        self.list(&params).await
    }

    /// The version that the server is at, by a consistent read.
    async fn version(&self) -> Result<String, WatchError> {
        let params = ListParams { limit: Some(1), ..self.list_params() };
        Ok(self.list::<serde_json::Value>(&params).await?.version)
    }

    /// Whether the server has come so far.
    async fn check(&self, after: &str) -> Result<(), WatchError> {
        let at = self.version().await?;
        match (at.parse::<u64>(), after.parse::<u64>()) {
            (Ok(is_at), Ok(known)) if is_at < known => Err(WatchError::WentBack { at, after: after.to_owned() }),
            _ => Ok(()),
        }
    }

    async fn list<K: DeserializeOwned>(&self, params: &ListParams) -> Result<Listed<K>, WatchError> {
        let request = self.request.list(params).map_err(kube::Error::BuildRequest)?;
        Ok(Listed::of(&self.client.request_text(request).await?)?)
    }

    fn list_params(&self) -> ListParams {
        ListParams {
            label_selector: self.label.map(str::to_owned),
            field_selector: self.fields(),
            ..ListParams::default()
        }
    }

    async fn lines(&self, version: &str, send_initial_events: bool) -> Result<Lines, WatchError> {
        let params = WatchParams {
            label_selector: self.label.map(str::to_owned),
            field_selector: self.fields(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            send_initial_events,
        };
        let mut request = self.request.watch(&params, version).map_err(kube::Error::BuildRequest)?;
        // Some servers compress each event by itself, which not every client can take apart.
        let identity = http::HeaderValue::from_static("identity");
        request.headers_mut().insert(http::header::ACCEPT_ENCODING, identity);
        Ok(Lines(Box::pin(self.client.request_stream(request).await?)))
    }
}

struct Reading<K> {
    source: Source,
    /// What was read and not told yet.
    waiting: VecDeque<Event<K>>,
    next: Next,
}

/// What to read next.
enum Next {
    Begin(Start),
    /// The page after this token; the first without one.
    Page {
        token: Option<String>,
    },
    Line {
        lines: Lines,
        /// What there was at the beginning is not complete yet.
        is_initial: bool,
    },
    End,
}

impl<K: DeserializeOwned + Send> Reading<K> {
    async fn step(mut self) -> Result<Option<(Event<K>, Self)>, WatchError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some((event, self)));
            }
            self.next = match std::mem::replace(&mut self.next, Next::End) {
                Next::Begin(start) => self.begin(start).await?,
                Next::Page { token } => self.page(token).await?,
                Next::Line { lines, is_initial } => self.line(lines, is_initial).await?,
                Next::End => return Ok(None),
            };
        }
    }

    async fn begin(&mut self, start: Start) -> Result<Next, WatchError> {
        match start {
            Start::Streaming => {
                let asked = Instant::now();
                // Without a version the server tells what is at least as new as this request.
                let lines = self.source.lines("", true).await?;
                self.waiting.push_back(Event::Init { asked });
                Ok(Next::Line { lines, is_initial: true })
            }
            Start::Listing => {
                self.waiting.push_back(Event::Init { asked: Instant::now() });
                Ok(Next::Page { token: None })
            }
            Start::After { version, is_checked } => {
                if is_checked {
                    self.source.check(&version).await?;
                }
                let lines = self.source.lines(&version, false).await?;
                self.waiting.push_back(Event::Resumed);
                Ok(Next::Line { lines, is_initial: false })
            }
        }
    }

    async fn page(&mut self, token: Option<String>) -> Result<Next, WatchError> {
        let listed = self.source.page(token).await?;
        self.waiting.extend(listed.items.into_iter().map(Event::InitApply));
        match listed.token {
            Some(token) => Ok(Next::Page { token: Some(token) }),
            None if listed.version.is_empty() => Err(WatchError::NoVersion),
            None => {
                self.waiting.push_back(Event::InitDone { version: listed.version });
                Ok(Next::End)
            }
        }
    }

    async fn line(&mut self, mut lines: Lines, is_initial: bool) -> Result<Next, WatchError> {
        let Some(line) = lines.next().await? else { return Ok(Next::End) };
        let mut is_still_initial = is_initial;
        let event = match Told::of(&line)? {
            Told::Object(item) if is_initial => Event::InitApply(item),
            Told::Object(item) => Event::Apply(item),
            Told::Deleted(item) => Event::Delete(item),
            Told::Bookmark { version, ends_initial } if is_initial && ends_initial => {
                is_still_initial = false;
                Event::InitDone { version }
            }
            Told::Bookmark { version, .. } => Event::Bookmark { version },
            Told::Error(status) => return Err(WatchError::Told(status)),
        };
        // Bookmarks before the end of what there was say nothing yet.
        if !(is_initial && matches!(event, Event::Bookmark { .. })) {
            self.waiting.push_back(event);
        }
        Ok(Next::Line { lines, is_initial: is_still_initial })
    }
}

/// The lines of an answer that goes on.
struct Lines(std::pin::Pin<Box<dyn AsyncBufRead + Send>>);

impl Lines {
    /// The next line that says something. Nothing at the end; half a line there is not one.
    async fn next(&mut self) -> Result<Option<String>, WatchError> {
        loop {
            let mut line = Vec::new();
            (&mut self.0).take(MAX_LINE).read_until(b'\n', &mut line).await?;
            match line.last() {
                Some(b'\n') if line.len() > 1 => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
                Some(b'\n') => {}
                Some(_) if line.len() as u64 >= MAX_LINE => return Err(WatchError::TooLong),
                Some(_) | None => return Ok(None),
            }
        }
    }
}

/// How long a watch may be silent: the server ends it before that.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 15);
