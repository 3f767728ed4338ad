//! What the server itself writes into an object before it judges it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Scene;
use crate::definition;
use crate::metadata::metadata_mut;
use crate::resource::event;

/// The version of whole seconds in which Kubernetes writes times.
pub(crate) fn time(now: Timestamp) -> Value {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

/// Gives a new object its identity, and takes away what only the server writes.
pub(super) fn identify(scene: &Scene<'_>, object: &mut Value) {
    let Some(metadata) = metadata_mut(object) else { return };
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
        metadata.remove(name);
    }
    metadata.insert("uid".to_owned(), scene.fresh.uid.as_str().into());
    metadata.insert("creationTimestamp".to_owned(), time(scene.now));
}

/// What the kind does to a new object.
pub(super) fn for_create(scene: &Scene<'_>, object: &mut Value) {
    let resource = scene.resource;
    // Nodes register themselves with a status.
    if resource.has_status
        && !resource.is("", "nodes")
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
    if has_generation(scene)
        && let Some(metadata) = metadata_mut(object)
    {
        metadata.insert("generation".to_owned(), 1.into());
    }
    if resource.is("", "namespaces") {
        prepare_namespace(object);
    }
    fill_in_zeros(scene, object);
    if definition::is_definition(resource) {
        definition::note_storage_version(object);
    }
}

/// What the kind does to a changed object: puts back what this endpoint cannot change.
pub(super) fn for_update(scene: &Scene<'_>, new: &mut Value, old: &Value) {
    let is_custom = scene.resource.is_custom();
    let is_status = scene.path.subresource.as_deref() == Some("status");
    match (is_status, scene.resource.has_status) {
        (true, _) if is_custom => keep_all_but_status(new, old),
        (true, _) => restore("spec", new, old),
        (false, true) => restore("status", new, old),
        (false, false) => {}
    }
    let generation = &old["metadata"]["generation"];
    let is_changed = has_generation(scene) && !is_status && without_metadata(new) != without_metadata(old);
    let generation = if is_changed { json!(generation.as_i64().unwrap_or(0) + 1) } else { generation.clone() };
    restore_metadata(new, old, generation);
    fill_in_zeros(scene, new);
    if definition::is_definition(scene.resource) {
        definition::note_storage_version(new);
    }
    if scene.resource.is("", "namespaces") {
        if scene.path.subresource.as_deref() != Some("finalize") {
            restore("spec", new, old);
        }
        label_namespace(new);
    }
}

/// Kinds whose objects count the changes of what is wanted.
fn has_generation(scene: &Scene<'_>) -> bool {
    let resource = scene.resource;
    let counted = [
        ("apps", "daemonsets"),
        ("policy", "poddisruptionbudgets"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("", "pods"),
    ];
    resource.is_custom() || counted.iter().any(|(group, plural)| resource.is(group, plural))
}

fn keep_all_but_status(new: &mut Value, old: &Value) {
    let (Some(members), Some(old)) = (new.as_object_mut(), old.as_object()) else { return };
    members.retain(|name, _| name == "status" || old.contains_key(name));
    for (name, value) in old {
        match name.as_str() {
            "status" => {}
            "metadata" => keep_metadata(members, value),
            _ => set_if_other(members, name, value),
        }
    }
}

/// All of the old metadata but who owns what, and the version if the new one names any.
fn keep_metadata(members: &mut Map<String, Value>, old: &Value) {
    let Some(Value::Object(new)) = members.get_mut("metadata") else {
        members.insert("metadata".to_owned(), old.clone());
        return;
    };
    let Some(old) = old.as_object() else { return };
    new.retain(|name, _| name == "managedFields" || name == "resourceVersion" || old.contains_key(name));
    for (name, value) in old {
        match name.as_str() {
            "managedFields" => {}
            "resourceVersion" if new.contains_key(name) => {}
            _ => set_if_other(new, name, value),
        }
    }
}

/// Comparing is cheaper than copying, and most fields are what they were.
fn set_if_other(members: &mut Map<String, Value>, name: &str, value: &Value) {
    if members.get(name) != Some(value) {
        members.insert(name.to_owned(), value.clone());
    }
}

fn restore(name: &str, new: &mut Value, old: &Value) {
    match (new.as_object_mut(), old.get(name)) {
        (Some(new), Some(value)) => set_if_other(new, name, value),
        (new, None) => set_or_remove(new, name, None),
        (None, Some(_)) => {}
    }
}

/// Puts back what no client changes. What is kept unless said otherwise (uid, grace period) is filled in only.
fn restore_metadata(new: &mut Value, old: &Value, generation: Value) {
    let old = &old["metadata"];
    let Some(metadata) = metadata_mut(new) else { return };
    set_or_remove(Some(metadata), "generation", Some(generation).filter(|value| !value.is_null()));
    set_or_remove(Some(metadata), "creationTimestamp", old.get("creationTimestamp").cloned());
    if let Some(time) = old.get("deletionTimestamp") {
        metadata.insert("deletionTimestamp".to_owned(), time.clone());
    }
    for name in ["uid", "deletionGracePeriodSeconds"] {
        let is_given = metadata.get(name).is_some_and(|value| *value != "");
        if let Some(value) = old.get(name).filter(|_| !is_given) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
}

fn set_or_remove(object: Option<&mut Map<String, Value>>, name: &str, value: Option<Value>) {
    let Some(object) = object else { return };
    match value {
        Some(value) => object.insert(name.to_owned(), value),
        None => object.remove(name),
    };
}

/// All of an object but its metadata.
fn without_metadata(object: &Value) -> Vec<(&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(name, _)| *name != "metadata").collect()
}

fn prepare_namespace(object: &mut Value) {
    let held = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !held.iter().any(|name| name == "kubernetes") {
        object["spec"]["finalizers"] = held.into_iter().chain(["kubernetes".into()]).collect();
    }
    object["status"] = json!({"phase": "Active"});
    label_namespace(object);
}

/// Fields that Go writes even where nobody set them.
fn fill_in_zeros(scene: &Scene<'_>, object: &mut Value) {
    const NODE_INFO: [&str; 10] = [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ];
    let fill = |object: &mut Value, name: &str, zero: Value| {
        if let Some(members) = object.as_object_mut() {
            members.entry(name).or_insert(zero);
        }
    };
    if scene.resource.is("", "events") {
        event::fill_in_zeros(object);
    }
    if scene.resource.is("", "nodes") {
        fill(object, "status", json!({}));
        let status = &mut object["status"];
        fill(status, "daemonEndpoints", json!({"kubeletEndpoint": {}}));
        fill(&mut status["daemonEndpoints"]["kubeletEndpoint"], "Port", 0.into());
        fill(status, "nodeInfo", json!({}));
        NODE_INFO.into_iter().for_each(|name| fill(&mut status["nodeInfo"], name, json!("")));
    }
}

/// Every namespace can be selected by its name. One that gets its name later is labelled then.
pub(super) fn label_namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if let Some(metadata) = metadata_mut(object).filter(|_| name.is_string()) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name);
        }
    }
}
