//! The numbers of fields in Protobuf, out of the tags of the Go types. Names and numbers, nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use refit_apiserver::resource::built_in;
use refit_peers::{Kubernetes, kubernetes_module};

use super::Files;
use super::schemas::SchemasError;

const FILE: &str = "protobuf_fields.json";

/// By number: the name in JSON; after `*` where zero is a value too; after `<` the type whose fields stand in its place.
type Fields = BTreeMap<u32, String>;

pub fn files() -> Result<Files, SchemasError> {
    let api = match kubernetes_module(Kubernetes::Api) {
        Err(error) if error.is_missing() && !refit_peers::is_ci() => {
            return Ok(Files::Unknown(refit_peers::chain(&error)));
        }
        folder => folder?,
    };
    let machinery = kubernetes_module(Kubernetes::Machinery)?;
    let mut all: BTreeMap<String, Fields> = BTreeMap::new();
    for package in packages() {
        let path = folder(&package, &api, &machinery).join("types.go");
        let text =
            std::fs::read_to_string(&path).map_err(|source| SchemasError::Read { path: path.clone(), source })?;
        all.extend(types(&package, &text));
    }
    let text = serde_json::to_string(&reachable(&all)).expect("JSON must be text");
    Ok(Files::Made([(FILE.to_owned(), text)].into()))
}

/// The packages of the built-in kinds' schemas, as in `io.k8s.api.core.v1`. CustomResourceDefinitions are sent as JSON.
fn packages() -> Vec<String> {
    let of = |name: &String| name.rsplit_once('.').map(|(package, _)| package.to_owned());
    let mut packages: Vec<String> = built_in::definitions().keys().filter_map(of).collect();
    packages.retain(|package| package.starts_with("io.k8s.api.") || package.ends_with(".meta.v1"));
    packages.dedup();
    packages
}

fn folder(package: &str, api: &Path, machinery: &Path) -> PathBuf {
    match package.strip_prefix("io.k8s.api.") {
        Some(rest) => api.join(rest.replace('.', "/")),
        None => machinery.join("pkg/apis/meta/v1"),
    }
}

/// The types that schemas have, and those whose fields stand in theirs.
fn reachable(all: &BTreeMap<String, Fields>) -> BTreeMap<&String, &Fields> {
    let mut needed: Vec<&String> = built_in::definitions().keys().collect();
    let mut found = BTreeMap::new();
    while let Some(name) = needed.pop() {
        if let Some((name, fields)) = all.get_key_value(name).filter(|(name, _)| !found.contains_key(*name)) {
            found.insert(name, fields);
            let inlined = fields.values().filter_map(|field| field.strip_prefix('<'));
            needed.extend(inlined.filter_map(|name| all.get_key_value(name).map(|(name, _)| name)));
        }
    }
    found
}

/// The structures of a file with their fields.
fn types(package: &str, text: &str) -> BTreeMap<String, Fields> {
    let mut all = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.strip_suffix(" struct {")) {
            current = Some(format!("{package}.{name}"));
        } else if line.starts_with('}') {
            current = None;
        } else if let Some(name) = &current
            && let Some((number, field)) = field(package, line)
        {
            all.entry(name.clone()).or_insert_with(Fields::new).insert(number, field);
        }
    }
    all
}

/// The number and the name of one field, from a line such as `Spec *T `json:"spec" protobuf:"bytes,2,opt,name=spec"``.
fn field(package: &str, line: &str) -> Option<(u32, String)> {
    let (declaration, tags) = line.trim().split_once('`')?;
    let number = tag(tags, "protobuf:\"")?.split(',').nth(1)?.parse().ok()?;
    let mut json = tag(tags, "json:\"")?.split(',');
    let name = json.next().unwrap_or_default();
    let options: Vec<&str> = json.collect();
    let kind = declaration.split_whitespace().last()?;
    if options.contains(&"inline") {
        return Some((number, format!("<{package}.{kind}")));
    }
    let keeps_zero = kind.starts_with('*') || !options.contains(&"omitempty");
    Some((number, if keeps_zero { format!("*{name}") } else { name.to_owned() }))
}

fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tags.split_once(name)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_the_tags_of_go_types() {
        let text = r#"
type Volume struct {
	metav1.TypeMeta `json:",inline"`
	// A comment with `json:"x" protobuf:"bytes"` in it.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	VolumeSource `json:",inline" protobuf:"bytes,2,opt,name=volumeSource"`
	Mode *int32 `json:"mode,omitempty" protobuf:"varint,3,opt,name=mode"`
	Note string `json:"note,omitempty" protobuf:"bytes,4,opt,name=note"`
}
"#;
        let expected = [(1, "*name"), (2, "<p.VolumeSource"), (3, "*mode"), (4, "note")];
        let expected: Fields = expected.map(|(number, name)| (number, name.to_owned())).into();
        assert_eq!(types("p", text), BTreeMap::from([("p.Volume".to_owned(), expected)]));
    }
}
