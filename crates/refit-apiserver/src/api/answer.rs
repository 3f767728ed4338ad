//! Answers: whole ones, and those that go on.

mod warnings;

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, WARNING};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::request::ResourcePath;
use crate::status::Status;

/// What a client gets.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
}

/// The body of an answer.
pub enum Body {
    Whole(Bytes),
    /// What is whole only when all of it was read. It is made as the client reads, and takes up so many bytes until then.
    Parts {
        bytes: usize,
        parts: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    },
    /// A watch: one event after another, until the watch ends.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "{}", String::from_utf8_lossy(bytes)),
            Self::Parts { .. } | Self::Stream(_) => f.write_str("a stream"),
        }
    }
}

impl Answer {
    /// A JSON value.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::json_text(status, value.to_string())
    }

    /// JSON that is encoded already.
    pub fn json_text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, "application/json", Body::Whole(text.into()))
    }

    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", Body::Whole(text.into()))
    }

    pub fn new(status: StatusCode, content_type: &'static str, body: Body) -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
        Self { status, headers, body }
    }

    /// A refusal. Clients that shall come again find out when.
    pub fn refusal(status: &Status) -> Self {
        let mut answer = Self::json(status.code, &status.to_json());
        let seconds =
            status.details.as_ref().and_then(|details| details.get("retryAfterSeconds")).and_then(Value::as_u64);
        if let Some(seconds) = seconds {
            answer.headers.insert(HeaderName::from_static("retry-after"), HeaderValue::from(seconds));
        }
        answer.with_warnings(&status.warnings)
    }

    /// Nothing is served at this path.
    pub fn page_not_found(path: &str) -> Self {
        if path.starts_with("/api/") {
            return Self::refusal(&not_served());
        }
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }

    /// No such resource is served.
    pub fn unserved(path: &ResourcePath) -> Self {
        if path.group.is_empty() { Self::refusal(&not_served()) } else { Self::page_not_found("") }
    }

    /// Adds `Warning` headers, within a bound.
    #[must_use]
    pub fn with_warnings(mut self, warnings: &[String]) -> Self {
        for value in warnings::headers(warnings) {
            self.headers.append(WARNING, value);
        }
        self
    }

    /// Adds one more warning before those that the answer has.
    #[must_use]
    pub fn with_first_warning(mut self, warning: &str) -> Self {
        let others: Vec<HeaderValue> = self.headers.get_all(WARNING).iter().cloned().collect();
        self.headers.remove(WARNING);
        for value in warnings::headers(&[warning.to_owned()]).into_iter().chain(others) {
            self.headers.append(WARNING, value);
        }
        self
    }
}

pub(super) fn not_served() -> Status {
    let message = "the server could not find the requested resource";
    Status::new(StatusCode::NOT_FOUND, Some("NotFound"), message).with_empty_details()
}
