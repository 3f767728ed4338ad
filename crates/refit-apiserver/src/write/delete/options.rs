//! How a deletion is to be done: `DeleteOptions`, from the body or the query.

use serde_json::{Map, Value};

use super::super::decode::unregistered;
use crate::body;
use crate::budget::Budget;
use crate::field_error::{FieldError, FieldErrors};
use crate::request::{Request, Verb};
use crate::status::Status;
use crate::write::options::{self, dry_run_error};

/// What a client wants of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    /// Everything is judged and nothing is deleted.
    pub is_dry_run: bool,
    /// How long a pod may take to end.
    pub grace_seconds: Option<i64>,
    /// Which object is meant, of several that had the name one after the other.
    pub uid: Option<String>,
    /// Which state of the object is meant.
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
    /// The client used the old flag to say that nothing is orphaned. It gets 202 where an object is held.
    pub wants_accepted: bool,
}

/// What happens to the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

const POLICIES: [&str; 4] = ["Foreground", "Background", "Orphan", "nil"];

impl DeleteOptions {
    /// Reads the options of a request: a body says all, and the query counts where there is none.
    pub fn parse(request: &Request) -> Result<Self, Status> {
        if request.body.is_empty() { Self::from_query(request) } else { Self::from_body(request) }
    }

    fn from_query(request: &Request) -> Result<Self, Status> {
        let query = &request.query;
        let grace_seconds = query.get("gracePeriodSeconds").map(|text| text.parse().map_err(|_| not_a_number(text)));
        let orphan = query.get("orphanDependents").map(|_| query.is_true("orphanDependents"));
        let (propagation, mut errors) = propagation(query.get("propagationPolicy"), orphan);
        errors.extend(dry_run_error(query));
        let is_dry_run = query.all("dryRun").next().is_some();
        let options = Self {
            is_dry_run,
            grace_seconds: grace_seconds.transpose()?,
            propagation,
            wants_accepted: orphan == Some(false),
            ..Self::default()
        };
        options.unless(&errors)
    }

    fn from_body(request: &Request) -> Result<Self, Status> {
        let parsed = body::parse(body::encoding(request)?, &request.body, &Budget::small())
            .map_err(|error| Status::bad_request(format!("couldn't get version/kind; json parse error: {error}")))?;
        Self::from_value(&parsed.value)
    }

    /// Reads an object of kind DeleteOptions; null is one without wishes.
    pub fn from_value(value: &Value) -> Result<Self, Status> {
        let fields = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(fields) => fields,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(Status::bad_request(no_object(value)));
            }
        };
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
        if kind != "DeleteOptions" {
            let version = fields.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            return Err(Status::bad_request(unregistered(version, kind)));
        }
        let grace_seconds = typed(fields, "gracePeriodSeconds", "int64", Value::as_i64)?;
        let policy = typed(fields, "propagationPolicy", "string", Value::as_str)?;
        let orphan = typed(fields, "orphanDependents", "bool", Value::as_bool)?;
        let (propagation, mut errors) = propagation(policy, orphan);
        let dry_run = fields.get("dryRun").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if dry_run.iter().any(|value| value != "All") {
            errors.push(FieldError::not_supported("dryRun", dry_run, &["All"]));
        }
        let precondition = |name: &str| fields.get("preconditions")?.get(name)?.as_str().map(str::to_owned);
        let options = Self {
            is_dry_run: !dry_run.is_empty(),
            grace_seconds,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            propagation,
            wants_accepted: orphan == Some(false),
        };
        options.unless(&errors)
    }

    fn unless(self, errors: &[FieldError]) -> Result<Self, Status> {
        if errors.is_empty() { Ok(self) } else { Err(options::invalid(Verb::Delete, errors)) }
    }
}

/// One field of the body, if it has the type that it must have.
fn typed<'a, T>(
    fields: &'a Map<String, Value>,
    name: &str,
    expected: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, Status> {
    let Some(value) = fields.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let found = json_type(value);
    let message =
        format!("json: cannot unmarshal {found} into Go struct field DeleteOptions.{name} of type {expected}");
    read(value).map(Some).ok_or_else(|| Status::bad_request(message))
}

fn no_object(value: &Value) -> String {
    let found = json_type(value);
    format!(
        r#"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }}"#
    )
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    }
}

/// From the policy, and from the flag that it replaced.
fn propagation(policy: Option<&str>, orphan: Option<bool>) -> (Option<Propagation>, FieldErrors) {
    const FIELD: &str = "propagationPolicy";
    let mut errors = FieldErrors::default();
    if let (Some(policy), Some(_)) = (policy, orphan) {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(FIELD, policy, detail));
    }
    let propagation = match (policy, orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some(other), _) => {
            errors.push(FieldError::not_supported(FIELD, other, &POLICIES));
            None
        }
        (None, None) => None,
    };
    (propagation, errors)
}

fn not_a_number(text: &str) -> Status {
    Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
}
