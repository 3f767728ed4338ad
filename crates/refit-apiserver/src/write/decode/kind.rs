//! Which kind a body says it is, and what is said when it says none or another.

use serde_json::{Map, Value};

use super::unhandled;
use crate::resource::{Resource, built_in};
use crate::status::Status;
use crate::write::Scene;

/// How much of a body a message repeats.
const QUOTED_BYTES: usize = 30;
/// The type that the real server reads kind and version into.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Checks that the value is an object of the resource's kind. Built-in kinds may leave out which they are.
pub(super) fn typed(scene: &Scene<'_>, value: Value) -> Result<Value, Status> {
    let resource = scene.resource;
    let mut object = match value {
        Value::Object(object) => object,
        // Nothing is an object with nothing in it.
        Value::Null => Map::new(),
        other => {
            let name = super::shape::json_type(&other);
            return Err(unparsed(scene, &format!("json: cannot unmarshal {name} into Go value of type {TYPE_META}")));
        }
    };
    for name in ["apiVersion", "kind"] {
        if let Some(other) = object.get(name).filter(|value| !value.is_string() && !value.is_null()) {
            let found = super::shape::json_type(other);
            let error = format!("json: cannot unmarshal {found} into Go struct field .{name} of type string");
            return Err(unparsed(scene, &error));
        }
    }
    if !resource.is_custom() {
        fill_in(&mut object, resource);
    }
    check(scene, &object)?;
    Ok(Value::Object(object))
}

fn fill_in(object: &mut Map<String, Value>, resource: &Resource) {
    for (name, value) in [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())] {
        let given = object.entry(name).or_insert(Value::Null);
        if matches!(given.as_str(), None | Some("")) {
            *given = value.into();
        }
    }
}

fn check(scene: &Scene<'_>, object: &Map<String, Value>) -> Result<(), Status> {
    let resource = scene.resource;
    let given = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, expected) = (given("apiVersion"), given("kind"), resource.api_version());
    if version.matches('/').count() > 1 {
        return Err(unrecognized(scene, &format!("unexpected GroupVersion string: {version}")));
    }
    if kind.is_empty() {
        let text = String::from_utf8_lossy(&scene.request.body);
        return Err(unrecognized(scene, &format!("Object 'Kind' is missing in '{text}'")));
    }
    if resource.is_custom() {
        if version != expected {
            let detail =
                format!("the API version in the data ({version}) does not match the expected API version ({expected})");
            return Err(Status::bad_request(detail));
        }
        return Ok(());
    }
    let Some(why) = inconvertible(resource, version, kind) else { return Ok(()) };
    let given_version = version.rsplit('/').next().unwrap_or_default();
    let expected = &resource.kind;
    Err(Status::bad_request(format!("{kind} in version \"{given_version}\" cannot be handled as a {expected}: {why}")))
}

/// Why an object of this kind cannot be one of a built-in resource's.
pub(in crate::write) fn inconvertible(resource: &Resource, version: &str, kind: &str) -> Option<String> {
    if version == resource.api_version() && kind == resource.kind {
        return None;
    }
    let is_known = |known: &&std::sync::Arc<Resource>| known.kind == kind && known.api_version() == version;
    Some(match built_in::all().iter().find(is_known) {
        Some(known) => {
            let (from, package, to) = (&known.version, package(resource), &resource.kind);
            format!("converting ({from}.{kind}) to ({package}.{to}): unknown conversion")
        }
        None => unregistered(version, kind),
    })
}

/// What the real server says of a kind that it does not know.
pub(in crate::write) fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"")
}

/// The name of the Go package that a built-in kind is in.
fn package(resource: &Resource) -> &str {
    match resource.group.as_str() {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}

/// The refusal of a body that is not even JSON. A number that is out of range is found later than other mistakes.
pub(super) fn unparsed(scene: &Scene<'_>, error: &str) -> Status {
    match error.starts_with("json: cannot unmarshal number ") && error.ends_with("of type float64") {
        true => unhandled(scene.resource, error),
        false if error.starts_with("yaml: ") => unrecognized(scene, error),
        false => unrecognized(scene, &format!("couldn't get version/kind; json parse error: {error}")),
    }
}

fn unrecognized(scene: &Scene<'_>, error: &str) -> Status {
    let kind = &scene.resource.kind;
    let body = quoted(&scene.request.body);
    Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {error} ({body})"))
}

/// The beginning of a body: as it is where it looks like JSON, and in hexadecimal otherwise.
fn quoted(body: &[u8]) -> String {
    let start = &body[..body.len().min(QUOTED_BYTES)];
    let rest = if body.len() > QUOTED_BYTES { " ..." } else { "" };
    match start.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{rest}", String::from_utf8_lossy(start)),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).chain([rest.to_owned()]).collect(),
    }
}
