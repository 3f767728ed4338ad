//! The scale subresource: an object seen as a Scale, and writes to that.

use std::sync::LazyLock;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::patch::{PatchType, merged};
use super::update::{check_name, replace};
use super::{Outcome, Scene};
use crate::apply::{self, Endpoint, FieldSet, Origin, Writer, scale};
use crate::body::{self, Encoding};
use crate::field_error::FieldError;
use crate::metadata::{metadata_mut, text};
use crate::resource::{Resource, Scale, built_in};
use crate::schema::{Definitions, parse};
use crate::status::{Qualified, Status};

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let count = || json!({"type": "integer", "format": "int32"});
    let schema = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {"replicas": count()}},
        "status": {"type": "object", "properties": {"replicas": count(), "selector": {"type": "string"}}},
    }});
    Endpoint {
        schema: apply::graft(&parse(&schema, &Definitions::new()), &apply::object_meta(built_in::definitions())),
        api_version: scale::API_VERSION.to_owned(),
        kind: "Scale".to_owned(),
        subresource: "scale".to_owned(),
        reset: FieldSet::default(),
        origin: Origin::BuiltIn,
    }
});

/// The Scale of an object, as clients see it: without owners.
pub fn scale_of(resource: &Resource, object: &Value) -> Result<Value, Status> {
    let paths = paths(resource)?;
    if at(object, &paths.spec_replicas).is_none() {
        let detail = format!("the spec replicas field {:?} does not exist", paths.spec_replicas);
        let message = format!("Internal error occurred: {detail}");
        let status = Status::new(StatusCode::INTERNAL_SERVER_ERROR, Some("InternalError"), message);
        return Err(status.with("causes", json!([{"message": detail}])));
    }
    Ok(seen(paths, object))
}

/// The Scale of an object, which may lack replicas. Their number is only said where it is not zero.
fn seen(paths: &Scale, object: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let count = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let spec = match count(&paths.spec_replicas) {
        0 => json!({}),
        replicas => json!({"replicas": replicas}),
    };
    let mut status = json!({"replicas": count(&paths.status_replicas)});
    if let Some(selector) = paths.label_selector.as_deref().and_then(|path| at(object, path)).and_then(Value::as_str) {
        status["selector"] = selector.into();
    }
    json!({"apiVersion": scale::API_VERSION, "kind": "Scale", "metadata": metadata, "spec": spec, "status": status})
}

/// Decides what is stored when a Scale is replaced, or patched where `patch` says how.
pub fn rescale(scene: &Scene<'_>, live: Option<&Value>, patch: Option<PatchType>) -> Result<Outcome, Status> {
    let resource = scene.resource;
    let name = scene.path.name.as_deref().unwrap_or_default();
    let live = live.ok_or_else(|| Status::not_found(resource.qualified_plural(), name))?;
    let paths = paths(resource)?;
    let replicas: Vec<&str> = split(&paths.spec_replicas).collect();
    let internal = |error: apply::ManagedError| Status::internal(error.to_string());
    let owners = live["metadata"].get("managedFields");
    let mut before = seen(paths, live);
    if let Some(owners) = scale::owners_of_scale(owners, &replicas).map_err(internal)? {
        before["metadata"]["managedFields"] = owners;
    }
    let after = written(scene, &before, patch)?;
    check_name(scene, &after)?;
    let scalers = after["metadata"].get("managedFields");
    let owners = scale::owners_of_object(owners, scalers, &resource.api_version(), &replicas).map_err(internal)?;
    let mut object = live.clone();
    if let Some(metadata) = metadata_mut(&mut object) {
        match owners {
            Some(owners) => metadata.insert("managedFields".to_owned(), owners),
            None => metadata.remove("managedFields"),
        };
        for name in ["resourceVersion", "uid"] {
            if !text(&after, name).is_empty() {
                metadata.insert(name.to_owned(), after["metadata"][name].clone());
            }
        }
    }
    let wanted = after["spec"].get("replicas").filter(|count| !count.is_null());
    set(&mut object, &replicas, wanted.cloned().unwrap_or_else(|| 0.into()));
    replace(scene, live, object, Vec::new())
}

/// The Scale after the write, with its owners.
fn written(scene: &Scene<'_>, before: &Value, patch: Option<PatchType>) -> Result<Value, Status> {
    let unreadable = |error: String| Status::bad_request(format!("error decoding Scale: {error}"));
    let writer = Writer { manager: scene.request.field_manager(), now: scene.now };
    let mut after = match patch {
        Some(PatchType::Apply) => {
            let mut config = body::parse(Encoding::Yaml, &scene.request.body, scene.budget).map_err(unreadable)?.value;
            if let Some(metadata) = metadata_mut(&mut config) {
                metadata.entry("name").or_insert_with(|| text(before, "name").into());
            }
            let writer = Writer { manager: &scene.options.field_manager, now: scene.now };
            let applied = apply::apply(&ENDPOINT, Some(before), &config, &writer, scene.options.force, |_| {});
            return applied.map_err(|error| error.status());
        }
        Some(patch) => {
            let body = body::parse(Encoding::Json, &scene.request.body, scene.budget).map_err(unreadable)?.value;
            merged(&ENDPOINT.schema, patch, &body, before, scene.budget)?
        }
        None => {
            body::parse(body::encoding(scene.request)?, &scene.request.body, scene.budget).map_err(unreadable)?.value
        }
    };
    let Some(fields) = after.as_object_mut() else {
        return Err(unreadable("json: cannot unmarshal a value that is no object".to_owned()));
    };
    fields.entry("kind").or_insert_with(|| "Scale".into());
    fields.entry("apiVersion").or_insert_with(|| scale::API_VERSION.into());
    if fields["kind"] != "Scale" {
        return Err(Status::bad_request(format!("wrong object passed to Scale update: {}", fields["kind"])));
    }
    check_replicas(&mut after, patch)?;
    apply::update(&ENDPOINT, Some(before), &mut after, &writer);
    Ok(after)
}

/// Zero is not said, so that nobody owns it; anything else must be a number.
fn check_replicas(after: &mut Value, patch: Option<PatchType>) -> Result<(), Status> {
    let replicas = &after["spec"]["replicas"];
    let found = match replicas {
        Value::Null => return Ok(()),
        Value::Number(number) if number.as_i64().is_some_and(|count| i32::try_from(count).is_ok()) => {
            if number.as_i64() == Some(0)
                && let Some(spec) = after["spec"].as_object_mut()
            {
                spec.remove("replicas");
            }
            return Ok(());
        }
        Value::Number(number) => format!("number {number}"),
        Value::String(_) => "string".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let detail = format!("json: cannot unmarshal {found} into Go struct field ScaleSpec.spec.replicas of type int32");
    Err(match patch {
        None => Status::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {detail}")),
        Some(_) => {
            let error = FieldError::invalid("patch", after.to_string(), detail);
            Status::invalid(Qualified { group: "", name: "" }, "", &[error])
        }
    })
}

fn paths(resource: &Resource) -> Result<&Scale, Status> {
    let missing = || Status::not_found(resource.qualified_plural(), "scale");
    resource.scale.as_ref().ok_or_else(missing)
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.trim_start_matches('.').split('.')
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    split(path).try_fold(object, |value, name| value.get(name))
}

fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut place = object;
    for name in parents {
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(*name).or_insert_with(|| json!({}));
    }
    if let Some(members) = place.as_object_mut() {
        members.insert((*last).to_owned(), value);
    }
}
