//! The `Status` object by which the API says no.

use std::collections::BTreeSet;
use std::fmt;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::apply::go_quoted;
use crate::field_error::FieldError;

/// A refusal, as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub code: StatusCode,
    /// Absent where Kubernetes gives none.
    pub reason: Option<&'static str>,
    pub message: String,
    /// `name`, `group`, `kind`, `uid`, `causes`, `retryAfterSeconds`. `None` where Kubernetes writes no details at all.
    pub details: Option<Map<String, Value>>,
    /// Sent as `Warning` headers: a client is warned of odd fields also where the request fails.
    pub warnings: Vec<String>,
}

/// A resource or kind in a message: `machines.cluster.x-k8s.io`, or `pods` in the core group.
#[derive(Debug, Clone, Copy)]
pub struct Qualified<'a> {
    pub group: &'a str,
    /// The plural, or the kind where Kubernetes says the kind.
    pub name: &'a str,
}

impl fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str(self.name),
            group => write!(f, "{}.{group}", self.name),
        }
    }
}

impl Qualified<'_> {
    fn details(self, name: &str) -> Map<String, Value> {
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", self.group), ("kind", self.name)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        details
    }
}

impl Status {
    pub fn new(code: StatusCode, reason: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, warnings: Vec::new() }
    }

    fn about(mut self, what: Qualified<'_>, name: &str) -> Self {
        self.details = Some(what.details(name));
        self
    }

    /// Adds a member to the details.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.to_owned(), value.into());
        self
    }

    /// Adds warnings.
    #[must_use]
    pub fn with_warnings(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// Writes details even where there is nothing to say in them.
    #[must_use]
    pub fn with_empty_details(mut self) -> Self {
        self.details.get_or_insert_default();
        self
    }

    pub fn not_found(resource: Qualified<'_>, name: &str) -> Self {
        let message = format!("{resource} {} not found", go_quoted(name));
        Self::new(StatusCode::NOT_FOUND, Some("NotFound"), message).about(resource, name)
    }

    pub fn already_exists(resource: Qualified<'_>, name: &str) -> Self {
        let message = format!("{resource} {} already exists", go_quoted(name));
        Self::new(StatusCode::CONFLICT, Some("AlreadyExists"), message).about(resource, name)
    }

    /// More is asked for than one request may take.
    pub fn too_large(why: impl fmt::Display) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"), message)
    }

    /// The write was made for another state of the object than the one there is.
    pub fn conflict(what: Qualified<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, Some("Conflict"), message).about(what, name)
    }

    /// The object was changed since the client read it.
    pub fn modified(resource: Qualified<'_>, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub fn forbidden(resource: Qualified<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} \"{name}\" is forbidden: {why}"),
        };
        Self::new(StatusCode::FORBIDDEN, Some("Forbidden"), message).about(resource, name)
    }

    /// The object breaks rules; every broken one is a cause.
    pub fn invalid(kind: Qualified<'_>, name: &str, errors: &[FieldError]) -> Self {
        let message = format!("{kind} {} is invalid: {}", go_quoted(name), aggregate(errors));
        let causes: Vec<Value> = errors.iter().map(FieldError::cause).collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Some("Invalid"), message).about(kind, name).with("causes", causes)
    }

    /// A method that resources do not have. The real server does not repeat it.
    pub fn unsupported_method(resource: Qualified<'_>) -> Self {
        let message = format!(" is not supported on resources of kind \"{resource}\"");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Some("MethodNotAllowed"), message).about(resource, "")
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Some("BadRequest"), message)
    }

    /// Something that Kubernetes itself answers as a failure of the server, without a reason.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, None, message)
    }

    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, Some("Unauthorized"), "Unauthorized")
    }

    /// The version is older than the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, Some("Expired"), message)
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, Some("TooManyRequests"), message)
            .with("retryAfterSeconds", retry_after_seconds)
    }

    /// The object of kind `Status`.
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if let Some(reason) = self.reason {
            json["reason"] = reason.into();
        }
        if let Some(details) = &self.details {
            json["details"] = Value::Object(details.clone());
        }
        json
    }
}

/// Several messages in one line, each once.
fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = BTreeSet::new();
    let mut messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    messages.retain(|message| seen.insert(message.clone()));
    match messages.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINES: Qualified<'_> = Qualified { group: "cluster.x-k8s.io", name: "machines" };

    #[test]
    fn a_missing_object_is_named_with_its_group() {
        let status = Status::not_found(MACHINES, "a").to_json();
        assert_eq!(status["message"], "machines.cluster.x-k8s.io \"a\" not found");
        assert_eq!(status["details"], json!({"name": "a", "group": "cluster.x-k8s.io", "kind": "machines"}));
        assert_eq!(status["code"], 404);
    }

    #[test]
    fn several_errors_are_joined_and_repeated_ones_said_once() {
        let errors = [FieldError::required("a", ""), FieldError::required("b", ""), FieldError::required("a", "")];
        let status = Status::invalid(MACHINES, "x", &errors);
        assert!(status.message.ends_with("is invalid: [a: Required value, b: Required value]"), "{}", status.message);
        assert_eq!(status.to_json()["details"]["causes"].as_array().map(Vec::len), Some(3));
    }
}
