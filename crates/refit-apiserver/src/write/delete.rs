//! A deletion: what of an object stays, and why.

mod options;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Change;
use super::prepare::time;
use crate::definition;
use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, finalizers, is_being_deleted, metadata_mut, text};
use crate::resource::Resource;
use crate::status::Status;

pub use options::{DeleteOptions, Propagation};

/// Namespaces that every cluster needs.
const IMMORTAL_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];
/// How long a pod may take to end when neither it nor the client says.
const DEFAULT_POD_GRACE_SECONDS: i64 = 30;

/// Decides what becomes of an object that a client deletes: it goes, it is marked and held, or it is marked already.
pub fn delete(resource: &Resource, live: &Value, options: &DeleteOptions, now: Timestamp) -> Result<Change, Status> {
    check_preconditions(resource, live, options)?;
    let is_namespace = resource.is("", "namespaces");
    if is_namespace && IMMORTAL_NAMESPACES.contains(&text(live, "name")) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(resource.qualified_plural(), text(live, "name"), why));
    }
    if is_emptied_first(resource) && !is_being_deleted(live) {
        return Ok(Change::Put(begin_to_empty(resource, live, options, now)));
    }
    if is_namespace && live["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty()) {
        return Ok(Change::Nothing);
    }
    let mut object = live.clone();
    let seconds_left = match grace(resource, live, options) {
        Grace::Pending => return Ok(Change::Nothing),
        Grace::Seconds(seconds) => {
            mark_with_grace(&mut object, seconds, now);
            seconds
        }
        Grace::None => 0,
    };
    set_finalizers(resource, &mut object, options.propagation);
    let is_held = finalizers(&object).next().is_some();
    if is_held {
        mark(&mut object, now);
    }
    Ok(match is_held || seconds_left > 0 {
        true if object == *live => Change::Nothing,
        true => Change::Put(object),
        false => Change::Remove(object),
    })
}

/// Whether the answer to a finished deletion is the object; otherwise it is a `Status`.
pub fn answers_object(resource: &Resource) -> bool {
    const CORE: [&str; 6] =
        ["namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "serviceaccounts", "services"];
    (resource.group.is_empty() && CORE.contains(&resource.plural.as_str()))
        || resource.is("storage.k8s.io", "volumeattachments")
}

/// The `Status` of a deletion that is done.
pub fn success(resource: &Resource, object: &Value) -> Value {
    let mut details = json!({"name": text(object, "name"), "kind": resource.plural, "uid": text(object, "uid")});
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Kinds that contain other objects, which go before they do.
fn is_emptied_first(resource: &Resource) -> bool {
    resource.is("", "namespaces") || definition::is_definition(resource)
}

fn check_preconditions(resource: &Resource, live: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let checks = [
        ("UID", &options.uid, text(live, "uid"), "deleted and then recreated"),
        ("ResourceVersion", &options.resource_version, text(live, "resourceVersion"), "modified"),
    ];
    for (what, wanted, actual, suspicion) in checks {
        let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != actual) else { continue };
        let name = text(live, "name");
        if is_emptied_first(resource) {
            let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}");
            return Err(Status::conflict(resource.qualified_plural(), name, why));
        }
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). The object might have been {suspicion}"
        );
        return Err(Status::conflict(resource.qualified_kind(), name, why));
    }
    Ok(())
}

/// The first step of deleting what contains others.
fn begin_to_empty(resource: &Resource, live: &Value, options: &DeleteOptions, now: Timestamp) -> Value {
    let mut object = live.clone();
    set_finalizers(resource, &mut object, options.propagation);
    if let Some(metadata) = metadata_mut(&mut object) {
        metadata.insert("deletionTimestamp".to_owned(), time(now));
    }
    if definition::is_definition(resource) {
        definition::mark_for_deletion(&mut object, now);
    } else {
        object["status"]["phase"] = "Terminating".into();
    }
    object
}

/// How long an object is kept on its own account.
enum Grace {
    /// Its kind knows none, or the time is over.
    None,
    /// The time runs already, and this request does not shorten it.
    Pending,
    Seconds(i64),
}

/// Only pods take their time: those on a node that have not ended.
fn grace(resource: &Resource, live: &Value, options: &DeleteOptions) -> Grace {
    if !resource.is("", "pods") {
        return Grace::None;
    }
    let asked = options.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if is_being_deleted(live) {
        return match live["metadata"]["deletionGracePeriodSeconds"].as_i64() {
            None | Some(0) => Grace::None,
            Some(left) => asked.filter(|asked| *asked < left).map_or(Grace::Pending, Grace::Seconds),
        };
    }
    let is_running = live["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty())
        && !matches!(live["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let own = || live["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(DEFAULT_POD_GRACE_SECONDS);
    Grace::Seconds(if is_running { asked.unwrap_or_else(own).max(0) } else { 0 })
}

/// Writes down when the object's time is over. A time that was set before moves by as much as the grace is shorter.
fn mark_with_grace(object: &mut Value, seconds: i64, now: Timestamp) {
    let metadata = &object["metadata"];
    let before = metadata["deletionTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let begun = before.and_then(|end| {
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        end.checked_sub(SignedDuration::from_secs(grace)).ok()
    });
    let end = begun.unwrap_or(now).checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    if before.is_none() {
        count_generation(object);
    }
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert("deletionTimestamp".to_owned(), time(end));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), seconds.into());
    }
}

/// Marks an object that finalizers hold. One that is marked keeps its time, unless that lies ahead.
fn mark(object: &mut Value, now: Timestamp) {
    if object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0) {
        return;
    }
    if !is_being_deleted(object) {
        count_generation(object);
    }
    if let Some(metadata) = metadata_mut(object) {
        let known = metadata.get("deletionTimestamp").and_then(Value::as_str);
        let is_past = known.and_then(|text| text.parse::<Timestamp>().ok()).is_some_and(|deleted_at| deleted_at <= now);
        if !is_past {
            metadata.insert("deletionTimestamp".to_owned(), time(now));
        }
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    }
}

/// A deletion is a change of what is wanted.
fn count_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    if let Some(metadata) = metadata_mut(object).filter(|_| generation > 0) {
        metadata.insert("generation".to_owned(), (generation + 1).into());
    }
}

/// Puts the finalizer of the wanted propagation into the place of another's. Without a wish, what is there stays.
fn set_finalizers(resource: &Resource, object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation.filter(|_| resource.plural != "events") else { return };
    let others = finalizers(object).filter(|name| !matches!(*name, ORPHAN_FINALIZER | FOREGROUND_FINALIZER));
    let own = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND_FINALIZER),
        Propagation::Orphan => Some(ORPHAN_FINALIZER),
    };
    let wanted: Vec<Value> = others.chain(own).map(Value::from).collect();
    if let Some(metadata) = metadata_mut(object) {
        if wanted.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), wanted.into());
        }
    }
}
