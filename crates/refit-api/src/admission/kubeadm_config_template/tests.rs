use serde_json::{Value, json};

use super::*;

fn template(template: Value) -> KubeadmConfigTemplate {
    let object = json!({ "metadata": { "name": "t" }, "spec": { "template": template } });
    serde_json::from_value(object).expect("a KubeadmConfigTemplate must decode")
}

fn check(resource: Value, expected: &[&str]) {
    let errors: Vec<String> = template(resource).validate(None).errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected);
}

#[test]
fn nothing_is_defaulted() {
    let written = template(json!({ "spec": { "verbosity": 2 } }));
    let mut defaulted = written.clone();
    defaulted.set_defaults(None);
    assert_eq!(defaulted, written);
}

#[test]
fn rules_of_the_config_hold_in_its_template() {
    check(json!({ "spec": { "files": [{ "path": "/a" }, { "path": "/b" }] } }), &[]);
    check(
        json!({ "spec": { "files": [{ "path": "/a" }, { "path": "/a" }] } }),
        &[r#"spec.template.spec.files[1].path: Duplicate value: "/a""#],
    );
}

#[test]
fn template_metadata_is_valid() {
    check(json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "x.io/a": "b c" } } }), &[]);
    let errors =
        template(json!({ "metadata": { "labels": { "a": "b c" }, "annotations": { "/": "" } } })).validate(None);
    let fields: Vec<&str> = errors.errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["spec.template.metadata.labels", "spec.template.metadata.annotations"]);
}
