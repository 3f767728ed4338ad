use std::collections::BTreeSet;

use refit_api::crd;

use super::*;

fn parsed(group: &str, version: &str) -> Value {
    let definitions = crd::all();
    let catalog = Catalog::new(&definitions);
    let document = document(&catalog, &definitions, group, version).expect("it must be served");
    serde_json::from_slice(&document.text).unwrap()
}

/// Every reference below a value.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(name)) => drop(found.insert(name.clone())),
            _ => references(value, found),
        }),
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let definitions = crd::all();
    let catalog = Catalog::new(&definitions);
    let versions: BTreeSet<(&str, &str)> =
        catalog.iter().map(|resource| (resource.group.as_str(), resource.version.as_str())).collect();
    for (group, version) in versions {
        let document = document(&catalog, &definitions, group, version).expect("it must be served");
        let document: Value = serde_json::from_slice(&document.text).unwrap();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a reference must be local");
            assert!(document.pointer(pointer).is_some(), "{group}/{version}: {reference}");
        }
    }
}

#[test]
fn patches_list_the_parameters_that_kubectl_looks_for() {
    let document = parsed("cluster.x-k8s.io", "v1beta2");
    let path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/{namespace}/machines/{name}";
    let patch = &document["paths"][path]["patch"];
    let names = patch["parameters"].as_array().unwrap().iter().filter_map(|parameter| parameter["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let gvk = json!({"group": "cluster.x-k8s.io", "version": "v1beta2", "kind": "Machine"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], gvk);
    let schema = &document["components"]["schemas"]["io.x-k8s.cluster.v1beta2.Machine"];
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([gvk]));
    let definition = crd::all().into_iter().find(|found| found["spec"]["names"]["kind"] == "Machine").unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|version| version["name"] == "v1beta2").unwrap();
    let expected = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert!(expected["description"].is_string(), "the definition must have something to explain");
    assert_eq!(&schema["properties"]["spec"], expected, "descriptions and all");
}

#[test]
fn the_hash_changes_with_the_definition_only() {
    let hash = |version: &str| {
        let mut definitions = crd::all();
        definitions.iter_mut().for_each(|definition| definition["metadata"]["resourceVersion"] = version.into());
        let catalog = Catalog::new(&definitions);
        ["cluster.x-k8s.io", "apps"].map(|group| hash(&catalog, group, if group == "apps" { "v1" } else { "v1beta2" }))
    };
    assert_eq!(hash("7"), hash("7"));
    assert_ne!(hash("7")[0], hash("8")[0]);
    assert_eq!(hash("7")[1], hash("8")[1]);
}

#[test]
fn the_index_names_a_document_for_each_version() {
    let definitions = crd::all();
    let catalog = Catalog::new(&definitions);
    let index: Value = serde_json::from_slice(&index(&catalog).text).unwrap();
    for (path, entry) in index["paths"].as_object().unwrap() {
        let url = entry["serverRelativeURL"].as_str().unwrap();
        let (address, hash_of_index) = url.split_once("?hash=").unwrap();
        let (group, version) = parse_path(address).expect("the path must be understood");
        assert_eq!(relative_path(group, version), *path);
        assert_eq!(document(&catalog, &definitions, group, version).unwrap().hash, hash_of_index);
    }
    assert!(parse_path("/openapi/v3").is_none() && parse_path("/openapi/v2").is_none());
}
