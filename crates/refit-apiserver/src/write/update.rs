//! A changed object.

use serde_json::Value;

use super::{Change, Decoded, Outcome, Scene, admission, create, prepare, validation};
use crate::apply::{self, Writer};
use crate::definition;
use crate::field_error::FieldError;
use crate::metadata::{finalizers, is_being_deleted, metadata_mut, text};
use crate::resource::built_in;
use crate::status::{Qualified, Status};

/// Decides what is stored when a client replaces an object as a whole.
pub fn update(scene: &Scene<'_>, live: &Value, decoded: Decoded) -> Result<Outcome, Status> {
    let Decoded { object, warnings } = decoded;
    let updated = |object| replaced(scene, live, object, warnings.clone());
    updated(object).map_err(|status| status.with_warnings(&warnings))
}

/// Decides what is stored when a client replaces an object that is not there, of a kind that is made that way.
pub fn create_named(scene: &Scene<'_>, mut decoded: Decoded) -> Result<Outcome, Status> {
    check_name(scene, &decoded.object)?;
    check_uid(scene, &decoded.object, &Value::Null)?;
    if let Some(metadata) = metadata_mut(&mut decoded.object) {
        metadata.remove("resourceVersion");
    }
    create(scene, decoded)
}

fn replaced(scene: &Scene<'_>, live: &Value, mut object: Value, warnings: Vec<String>) -> Result<Outcome, Status> {
    check_name(scene, &object)?;
    check_uid(scene, &object, live)?;
    let writer = Writer { manager: scene.request.field_manager(), now: scene.now };
    apply::charge(scene.endpoint(), &object, scene.budget)?;
    apply::update(scene.endpoint(), Some(live), &mut object, &writer);
    replace(scene, live, object, warnings)
}

/// What happens to every changed object, however it came: the version is checked, admission and the kind have their
/// say, and what changes nothing is nothing.
pub(super) fn replace(
    scene: &Scene<'_>,
    live: &Value,
    mut object: Value,
    mut warnings: Vec<String>,
) -> Result<Outcome, Status> {
    check_version(scene, &mut object, live)?;
    admission::set_defaults(scene, &mut object, Some(live));
    prepare::for_update(scene, &mut object, live);
    validation::of_change(scene, &object, live)?;
    apply::keep_times(live, &mut object);
    warnings.extend(validation::advice(scene.resource, &object, Some(live)));
    warnings.extend(admission::validate(scene, &object, Some(live))?);
    let change = if is_let_go(&object) {
        Change::Remove(object)
    } else if object == *live {
        Change::Nothing
    } else {
        Change::Put(object)
    };
    Ok(Outcome { change, warnings })
}

/// Whether a deleted object is held by nobody any more.
pub(crate) fn is_let_go(object: &Value) -> bool {
    let has_grace = object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0);
    // Only a Namespace has finalizers in its spec; in other kinds the field means what its author says.
    let is_namespace = object["kind"] == "Namespace" && object["apiVersion"] == "v1";
    let is_held_by_kind = is_namespace && object["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
    is_being_deleted(object) && finalizers(object).next().is_none() && !has_grace && !is_held_by_kind
}

/// The name in the body is the name in the path.
pub(super) fn check_name(scene: &Scene<'_>, object: &Value) -> Result<(), Status> {
    let expected = scene.path.name.as_deref().unwrap_or_default();
    match text(object, "name") {
        name if name == expected => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        ))),
        name => Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({expected})"
        ))),
    }
}

/// A replacement that names another object of the same name is not for this one.
fn check_uid(scene: &Scene<'_>, object: &Value, live: &Value) -> Result<(), Status> {
    let (given, actual) = (text(object, "uid"), text(live, "uid"));
    if given.is_empty() || given == actual {
        return Ok(());
    }
    let name = scene.path.name.as_deref().unwrap_or_default();
    let key = storage_key(scene);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {actual}"
    );
    Err(Status::conflict(scene.resource.qualified_plural(), name, why))
}

/// Where etcd would keep the object, which some messages say.
fn storage_key(scene: &Scene<'_>) -> String {
    let resource = scene.resource;
    let has_group = resource.is_custom() || definition::is_definition(resource);
    let group = if has_group { format!("{}/", resource.group) } else { String::new() };
    let namespace = scene.path.namespace.as_deref().filter(|_| resource.is_namespaced);
    let namespace = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    let plural = match resource.plural.as_str() {
        "nodes" if !resource.is_custom() => "minions",
        "services" if !resource.is_custom() => "services/specs",
        plural => plural,
    };
    format!("/registry/{group}{plural}/{namespace}{}", scene.path.name.as_deref().unwrap_or_default())
}

/// Whether the write is meant for the version that there is. One that names none is meant for any, except that custom
/// resources must name one.
fn check_version(scene: &Scene<'_>, object: &mut Value, live: &Value) -> Result<(), Status> {
    let resource = scene.resource;
    let (given, actual) = (text(object, "resourceVersion").to_owned(), text(live, "resourceVersion"));
    if given != actual && !matches!(given.as_str(), "" | "0") {
        given
            .parse::<u64>()
            .map_err(|_| Status::internal(format!("strconv.ParseUint: parsing {given:?}: invalid syntax")))?;
        return Err(Status::modified(resource.qualified_plural(), text(live, "name")));
    }
    if given == actual {
        return Ok(());
    }
    if resource.is_custom() || built_in::must_name_version(resource) {
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        let about = Qualified { group: &resource.group, name: &resource.plural };
        return Err(Status::invalid(about, text(live, "name"), &[error]));
    }
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert("resourceVersion".to_owned(), actual.into());
    }
    Ok(())
}
