//! The schemas of built-in kinds, out of what the real server publishes: names, types and list types, no descriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use refit_apiserver::resource::built_in;
use refit_peers::{ControlPlane, GoError, Options, Peers, PeersError, StartError};
use serde_json::{Map, Value};

use super::Files;

const FILE: &str = "schemas.json";
const REFERENCE: &str = "#/components/schemas/";
/// What is left out: prose, and what the server knows from its own table.
const DROPPED: [&str; 2] = ["description", "x-kubernetes-group-version-kind"];

/// Why the schemas were not made.
#[derive(Debug, thiserror::Error)]
pub enum SchemasError {
    #[error("cannot get the real servers that the schemas of built-in kinds come from")]
    Peers(#[from] PeersError),
    #[error("cannot start the real servers that the schemas of built-in kinds come from")]
    Start(#[from] StartError),
    #[error("cannot get the Go types that the field numbers of built-in kinds come from")]
    Go(#[from] GoError),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot run kubectl")]
    Kubectl(#[source] io::Error),
    #[error("the real server does not publish {path}: {message}")]
    Refused { path: String, message: String },
    #[error("{path} of the real server is not JSON")]
    Json { path: String, source: serde_json::Error },
    #[error("the real server publishes no schema {0}")]
    Missing(String),
}

/// The file, or why it cannot be known here: without Go there is no real server. In CI that is an error.
pub fn files() -> Result<Files, SchemasError> {
    let peers = match Peers::find_or_build() {
        Err(error) if error.is_go_missing() && !refit_peers::is_ci() => {
            return Ok(Files::Unknown(refit_peers::chain(&error)));
        }
        peers => peers?,
    };
    let server = ControlPlane::start(&peers, Options::default())?;
    let mut published = Map::new();
    for path in built_in::openapi_paths() {
        published.extend(components(&server, &path)?);
    }
    let schemas = reachable(&published, built_in::definition_names())?;
    let text = serde_json::to_string(&schemas).expect("JSON must be text");
    Ok(Files::Made([(FILE.to_owned(), text)].into()))
}

/// The schemas of one document.
fn components(server: &ControlPlane, path: &str) -> Result<Map<String, Value>, SchemasError> {
    let output = server.kubectl().args(["get", "--raw", path]).output().map_err(SchemasError::Kubectl)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(SchemasError::Refused { path: path.to_owned(), message });
    }
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|source| SchemasError::Json { path: path.to_owned(), source })?;
    Ok(document["components"]["schemas"].as_object_mut().map(std::mem::take).unwrap_or_default())
}

/// The named schemas and all that they refer to.
fn reachable<'a>(
    published: &Map<String, Value>,
    roots: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, Value>, SchemasError> {
    let mut needed: BTreeSet<String> = roots.map(str::to_owned).collect();
    let mut schemas = BTreeMap::new();
    while let Some(name) = needed.pop_first() {
        let schema = published.get(&name).ok_or_else(|| SchemasError::Missing(name.clone()))?;
        let mut found = BTreeSet::new();
        schemas.insert(name, stripped(schema, &mut found));
        needed.extend(found.into_iter().filter(|name| !schemas.contains_key(name)));
    }
    Ok(schemas)
}

/// A schema without prose, whose references are bare names. Says which names these are.
fn stripped(schema: &Value, references: &mut BTreeSet<String>) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let mut kept = Map::new();
    for (key, value) in map.iter().filter(|(key, _)| !DROPPED.contains(&key.as_str())) {
        kept.insert(key.clone(), member(key, value, references));
    }
    collapse(&mut kept);
    Value::Object(kept)
}

fn member(key: &str, value: &Value, references: &mut BTreeSet<String>) -> Value {
    match (key, value) {
        ("$ref", Value::String(reference)) => {
            let name = reference.strip_prefix(REFERENCE).unwrap_or(reference);
            references.insert(name.to_owned());
            name.into()
        }
        // The names of properties are no keywords.
        ("properties", Value::Object(properties)) => {
            properties.iter().map(|(name, schema)| (name.clone(), stripped(schema, references))).collect()
        }
        ("default", value) => value.clone(),
        (_, Value::Array(list)) => list.iter().map(|item| stripped(item, references)).collect(),
        (_, value) => stripped(value, references),
    }
}

/// One reference among all of which hold is that reference.
fn collapse(schema: &mut Map<String, Value>) {
    let only = match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(only)]) if only.len() == 1 => only.get("$ref").cloned(),
        _ => None,
    };
    if let Some(reference) = only {
        schema.remove("allOf");
        schema.insert("$ref".to_owned(), reference);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_keep_their_shape_and_lose_their_prose() {
        let published = json!({
            "a.A": {"description": "x", "type": "object", "properties": {
                "description": {"type": "string", "description": "a property of this name"},
                "b": {"allOf": [{"$ref": "#/components/schemas/a.B"}], "default": {"description": 1}},
                "c": {"type": "array", "items": {"$ref": "#/components/schemas/a.A"}, "x-kubernetes-list-type": "atomic"},
            }},
            "a.B": {"oneOf": [{"type": "string", "description": "y"}]},
            "a.Unused": {"type": "string"},
        });
        let schemas = reachable(published.as_object().unwrap(), ["a.A"].into_iter()).unwrap();
        let expected = json!({
            "a.A": {"type": "object", "properties": {
                "description": {"type": "string"},
                "b": {"$ref": "a.B", "default": {"description": 1}},
                "c": {"type": "array", "items": {"$ref": "a.A"}, "x-kubernetes-list-type": "atomic"},
            }},
            "a.B": {"oneOf": [{"type": "string"}]},
        });
        assert_eq!(json!(schemas), expected);
        assert!(matches!(reachable(&Map::new(), ["a.A"].into_iter()), Err(SchemasError::Missing(_))));
    }
}
