//! What can be asked at which path.

use serde_json::{Value, json};

use super::components::{gvk, list_reference, reference};
use super::relative_path;
use crate::resource::Resource;

/// The paths of a resource, each with its operations.
pub fn of(resource: &Resource) -> Vec<(String, Value)> {
    let base = format!("/{}", relative_path(&resource.group, &resource.version));
    let collection = match resource.is_namespaced {
        true => format!("{base}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("{base}/{}", resource.plural),
    };
    let mut paths = vec![
        (collection.clone(), collection_item(resource)),
        (format!("{collection}/{{name}}"), object_item(resource, true)),
    ];
    if resource.is_namespaced {
        let list = json!({"get": list(resource)});
        paths.push((format!("{base}/{}", resource.plural), list));
    }
    if resource.has_status {
        paths.push((format!("{collection}/{{name}}/status"), object_item(resource, false)));
    }
    paths
}

fn collection_item(resource: &Resource) -> Value {
    json!({
        "get": list(resource),
        "post": operation(resource, "post", "create", &WRITE),
        "delete": operation(resource, "deletecollection", "delete all", &["dryRun", "propagationPolicy"]),
        "parameters": path_parameters(resource, false),
    })
}

fn object_item(resource: &Resource, is_whole: bool) -> Value {
    let mut item = json!({
        "get": operation(resource, "get", "read", &[]),
        "put": operation(resource, "put", "replace", &WRITE),
        "patch": patch(resource),
        "parameters": path_parameters(resource, true),
    });
    if is_whole {
        item["delete"] = operation(resource, "delete", "delete", &["dryRun", "propagationPolicy"]);
    }
    item
}

const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

fn list(resource: &Resource) -> Value {
    let parameters = ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"];
    let mut operation = operation(resource, "list", "list or watch", &parameters);
    operation["responses"] = responses(&list_reference(resource));
    operation
}

fn patch(resource: &Resource) -> Value {
    let mut operation =
        operation(resource, "patch", "change parts of", &["dryRun", "fieldManager", "fieldValidation", "force"]);
    let mut types = vec!["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    if !resource.is_custom() {
        types.push("application/strategic-merge-patch+json");
    }
    let content: serde_json::Map<String, Value> =
        types.into_iter().map(|name| (name.to_owned(), json!({"schema": {"type": "object"}}))).collect();
    operation["requestBody"] = json!({"required": true, "content": content});
    operation
}

fn operation(resource: &Resource, action: &str, verb: &str, parameters: &[&str]) -> Value {
    let parameters: Value = parameters.iter().map(|name| query_parameter(name)).collect();
    let mut operation = json!({
        "description": format!("{verb} {}", resource.plural),
        "parameters": parameters,
        "responses": responses(&reference(resource)),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk(resource, &resource.kind),
    });
    if matches!(action, "post" | "put") {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(resource)}}});
    }
    operation
}

fn responses(schema: &Value) -> Value {
    json!({"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}})
}

fn query_parameter(name: &str) -> Value {
    let kind = match name {
        "force" | "watch" => "boolean",
        "limit" => "integer",
        _ => "string",
    };
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
}

fn path_parameters(resource: &Resource, has_name: bool) -> Value {
    let parameter = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    let names = [("name", has_name), ("namespace", resource.is_namespaced)];
    names.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| parameter(name)).collect()
}
