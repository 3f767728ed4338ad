//! OpenAPI v3: an index, and one document for each group and version. Pure: catalog and definitions in, JSON out.
//!
//! The documents have what kubectl looks for: schemas with their descriptions for `explain`, and which parameters a
//! patch understands. They are described in refit's words.

mod components;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use components::Part;

use crate::digest;
use crate::resource::{Catalog, Resource, built_in};

/// Where the documents are.
pub const ROOT: &str = "/openapi/v3";

/// Where clients look for the older form, which describes nothing here.
pub const V2: &str = "/openapi/v2";
/// How they name its encoding.
pub const V2_PROTOBUF: &str = "proto-openapi.spec.v2";

/// A document and the hash that the index gives for it.
#[derive(Debug, Clone)]
pub struct Document {
    pub text: Bytes,
    pub hash: String,
}

/// A document on its way to text. What definitions say is not copied.
#[derive(Serialize)]
struct Text<'a> {
    components: Components<'a>,
    info: Value,
    openapi: &'static str,
    paths: Map<String, Value>,
}

#[derive(Serialize)]
struct Components<'a> {
    schemas: BTreeMap<String, Part<'a>>,
}

/// Part of every hash: another build may describe the same resources otherwise.
static BUILD: LazyLock<String> =
    LazyLock::new(|| format!("{} {}", env!("CARGO_PKG_VERSION"), digest::hex(built_in::definitions_text().as_bytes())));

/// The index: where each document is, and the hash by which it may be kept.
pub fn index(catalog: &Catalog) -> Document {
    let mut paths = Map::new();
    for resource in catalog.iter() {
        let path = relative_path(&resource.group, &resource.version);
        if !paths.contains_key(&path) {
            let hash = hash(catalog, &resource.group, &resource.version);
            paths.insert(path.clone(), json!({"serverRelativeURL": format!("{ROOT}/{path}?hash={hash}")}));
        }
    }
    let text = json!({"paths": paths}).to_string();
    Document { hash: digest::hex(text.as_bytes()), text: text.into() }
}

/// Where the documents are, without their hashes.
pub fn paths(catalog: &Catalog) -> BTreeSet<String> {
    catalog.iter().map(|resource| format!("{ROOT}/{}", relative_path(&resource.group, &resource.version))).collect()
}

/// The document of a group and version. `definitions` are those that the catalog was made from.
pub fn document<'a>(
    catalog: &Catalog,
    definitions: impl IntoIterator<Item = &'a Value>,
    group: &str,
    version: &str,
) -> Option<Document> {
    let resources: Vec<&Resource> = of(catalog, group, version).collect();
    if resources.is_empty() {
        return None;
    }
    let definitions: Vec<&Value> = definitions.into_iter().collect();
    let text = Text {
        components: Components { schemas: components::of(&resources, &definitions) },
        info: json!({"title": "refit", "version": env!("CARGO_PKG_VERSION")}),
        openapi: "3.0.0",
        paths: resources.iter().flat_map(|resource| paths::of(resource)).collect(),
    };
    let text = serde_json::to_vec(&text).expect("JSON must encode");
    Some(Document { text: text.into(), hash: hash(catalog, group, version) })
}

/// A document in the older form, with its content type. kubectl wants one before it reads a `List`, in Protobuf, and leaves
/// what it finds no schema for to the server.
pub fn empty_v2(is_protobuf: bool) -> (&'static str, Vec<u8>) {
    if is_protobuf {
        // Field 1, a text of three bytes: the version of the form.
        return ("application/com.github.proto-openapi.spec.v2.v1.0+protobuf", b"\x0a\x032.0".to_vec());
    }
    let info = json!({"title": "refit", "version": env!("CARGO_PKG_VERSION")});
    ("application/json", json!({"swagger": "2.0", "info": info, "paths": {}}).to_string().into_bytes())
}

/// Group and version of a path below [`ROOT`].
pub fn parse_path(path: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = path.strip_prefix(ROOT)?.strip_prefix('/')?.split('/').collect();
    match parts.as_slice() {
        ["api", version] => Some(("", version)),
        ["apis", group, version] => Some((group, version)),
        _ => None,
    }
}

/// As in `api/v1` or `apis/apps/v1`.
fn relative_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn of<'a>(catalog: &'a Catalog, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Resource> {
    catalog.iter().map(|resource| &**resource).filter(move |found| found.group == group && found.version == version)
}

/// Whether there is a document of this group and version.
pub fn is_served(catalog: &Catalog, group: &str, version: &str) -> bool {
    of(catalog, group, version).next().is_some()
}

/// What the document is made from in short: it changes when a definition is written.
pub fn hash(catalog: &Catalog, group: &str, version: &str) -> String {
    let resources = of(catalog, group, version).map(|resource| format!(" {}@{}", resource.plural, resource.since));
    digest::hex([BUILD.clone()].into_iter().chain(resources).collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests;
