//! The resources that a CustomResourceDefinition makes: one per served version.

use std::sync::Arc;

use serde_json::Value;

use super::{Column, Endpoints, Origin, Resource, Scale, meta};
use crate::discovery::compare_versions;
use crate::metadata::is_being_deleted;
use crate::schema::{Definitions, Rules, Schema, parse};
use crate::store::Revision;

/// The resources of a definition, in the order of its versions. What the definition lacks, it was not accepted without.
pub fn resources(definition: &Value) -> Vec<Resource> {
    let versions = definition["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    versions.iter().filter(|version| version["served"] == true).map(|version| resource(definition, version)).collect()
}

fn resource(definition: &Value, version: &Value) -> Resource {
    let spec = &definition["spec"];
    // Names that the server accepted; the same as in the spec, and there before the status is written.
    let names = &spec["names"];
    let kind = text(&names["kind"]);
    let schema = schema(version);
    let has_status = version["subresources"]["status"].is_object();
    let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
    let endpoints = Endpoints::new(&schema, &api_version, &kind, has_status, Origin::Custom);
    let or_default = |name: &Value, default: String| name.as_str().map_or(default, str::to_owned);
    Resource {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        plural: text(&names["plural"]),
        singular: or_default(&names["singular"], kind.to_lowercase()),
        list_kind: or_default(&names["listKind"], format!("{kind}List")),
        kind,
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        is_namespaced: spec["scope"] == "Namespaced",
        origin: Origin::Custom,
        rules: Arc::new(Rules::compile_accepted(&schema)),
        schema: Arc::new(schema),
        endpoints: Arc::new(endpoints),
        has_status,
        scale: scale(&version["subresources"]["scale"]),
        columns: columns(version),
        selectable_fields: selectable_fields(version),
        is_stored: version["storage"] == true,
        since: text(&definition["metadata"]["resourceVersion"]).parse().map_or(Revision::FIRST, Revision),
        is_terminating: is_being_deleted(definition),
        deprecation_warning: deprecation_warning(definition, version),
    }
}

fn schema(version: &Value) -> Schema {
    meta::complete(parse(&version["schema"]["openAPIV3Schema"], &Definitions::new()))
}

fn scale(json: &Value) -> Option<Scale> {
    json.is_object().then(|| Scale {
        spec_replicas: text(&json["specReplicasPath"]),
        status_replicas: text(&json["statusReplicasPath"]),
        label_selector: json["labelSelectorPath"].as_str().map(str::to_owned),
    })
}

fn columns(version: &Value) -> Vec<Column> {
    let column = |json: &Value| Column {
        name: text(&json["name"]),
        kind: text(&json["type"]),
        format: text(&json["format"]),
        description: text(&json["description"]),
        priority: json["priority"].as_i64().unwrap_or(0),
        json_path: text(&json["jsonPath"]),
    };
    version["additionalPrinterColumns"].as_array().into_iter().flatten().map(column).collect()
}

fn selectable_fields(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect()
}

fn deprecation_warning(definition: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    let default = || {
        let spec = &definition["spec"];
        let (group, name, kind) = (text(&spec["group"]), text(&version["name"]), text(&spec["names"]["kind"]));
        let others = spec["versions"].as_array().into_iter().flatten();
        let mut better = others.filter(|other| other["served"] == true && other["deprecated"] != true);
        let better = better.find(|other| compare_versions(&text(&other["name"]), &name).is_lt());
        let advice = better.map(|other| format!("; use {group}/{} {kind}", text(&other["name"])));
        format!("{group}/{name} {kind} is deprecated{}", advice.unwrap_or_default())
    };
    Some(version["deprecationWarning"].as_str().map_or_else(default, str::to_owned))
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Value) -> Vec<String> {
    json.as_array().into_iter().flatten().map(text).collect()
}
