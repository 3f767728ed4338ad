use refit_api::crd;

use super::*;

/// A definition that is right, and then changed.
fn definition(change: impl Fn(&mut Value)) -> Value {
    let mut definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    });
    change(&mut definition);
    set_defaults(&mut definition);
    note_storage_version(&mut definition);
    definition
}

fn messages(definition: &Value, old: Option<&Value>) -> Vec<String> {
    validate(definition, old, &Budget::default()).iter().map(ToString::to_string).collect()
}

fn check(change: impl Fn(&mut Value), expected: &[&str]) {
    assert_eq!(messages(&definition(change), None), expected);
}

/// Judges a schema of the field `spec.a`.
fn check_field(schema: Value, expected: &[&str]) {
    let prefix = "spec.validation.openAPIV3Schema.properties[spec].properties[a]";
    let expected: Vec<String> = expected.iter().map(|error| format!("{prefix}{error}")).collect();
    let spec = json!({"type": "object", "properties": {"a": schema}});
    let found = messages(&definition(|d| root(d)["properties"]["spec"] = spec.clone()), None);
    assert_eq!(found, expected, "{schema}");
}

fn root(definition: &mut Value) -> &mut Value {
    &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

#[test]
fn our_own_definitions_are_accepted() {
    for definition in crd::all() {
        let mut definition = definition.clone();
        set_defaults(&mut definition);
        note_storage_version(&mut definition);
        assert_eq!(messages(&definition, None), Vec::<String>::new(), "{}", definition["metadata"]["name"]);
    }
}

#[test]
fn names_group_and_scope_are_judged() {
    check(|_| {}, &[]);
    check(
        |d| d["metadata"]["name"] = "x.example.com".into(),
        &[r#"metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group"#],
    );
    check(
        |d| d["spec"]["scope"] = "Foo".into(),
        &[r#"spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced""#],
    );
    check(|d| d["spec"]["scope"] = Value::Null, &["spec.scope: Required value"]);
    check(
        |d| {
            d["spec"]["group"] = "example".into();
            d["metadata"]["name"] = "widgets.example".into();
        },
        &[r#"spec.group: Invalid value: "example": should be a domain with at least one dot"#],
    );
    check(
        |d| d["spec"]["conversion"] = json!({"strategy": "Webhook"}),
        &["spec.conversion.strategy: Forbidden: this server calls no conversion webhooks; the strategy must be None"],
    );
    check(
        |d| {
            d["spec"]["group"] = "x.k8s.io".into();
            d["metadata"]["name"] = "widgets.x.k8s.io".into();
        },
        &[
            r#"metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111"#,
        ],
    );
}

#[test]
fn versions_are_judged() {
    check(
        |d| d["spec"]["versions"][0]["storage"] = false.into(),
        &[
            r#"spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version"#,
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ],
    );
    check(
        |d| d["spec"]["versions"][0]["schema"] = Value::Null,
        &["spec.versions[0].schema.openAPIV3Schema: Required value"],
    );
    check(
        |d| {
            d["spec"]["versions"][0]["additionalPrinterColumns"] =
                json!([{"name": "a", "type": "foo", "jsonPath": "x"}]);
        },
        &[
            r#"spec.additionalPrinterColumns[0].type: Invalid value: "foo": must be one of boolean,date,integer,number,string"#,
            r#"spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with ."#,
        ],
    );
    check(
        |d| {
            d["spec"]["versions"][0]["subresources"] =
                json!({"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".spec.y"}});
        },
        &[
            r#"spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec"#,
            r#"spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.y": should be a json path under .status"#,
        ],
    );
    check(
        |d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.foo"}]),
        &[
            r#"spec.selectableFields[0].jsonPath: Invalid value: ".spec.foo": is an invalid path: does not refer to a valid field"#,
        ],
    );
}

#[test]
fn schemas_are_structural() {
    check_field(json!({}), &[".type: Required value: must not be empty for specified object fields"]);
    check_field(json!({"x-kubernetes-preserve-unknown-fields": true}), &[]);
    check_field(json!({"type": "array"}), &[".items: Required value: must be specified"]);
    check_field(json!({"$ref": "x"}), &[".$ref: Forbidden: $ref is not supported"]);
    check_field(
        json!({"type": "foo"}),
        &[
            r#".type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ],
    );
    check_field(
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
        &[".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"],
    );
    check_field(
        json!({"type": "object", "anyOf": [{"type": "object"}]}),
        &[".anyOf[0].type: Forbidden: must be empty to be structural"],
    );
    check_field(json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}), &[]);
    check_field(
        json!({"type": "object", "additionalProperties": true, "properties": {"b": {"type": "string"}}}),
        &[".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    );
    check(
        |d| root(d)["properties"]["metadata"] = json!({"type": "object", "properties": {"labels": {"type": "object"}}}),
        &[
            "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        ],
    );
    check(
        |d| root(d)["nullable"] = true.into(),
        &["spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"],
    );
}

#[test]
fn list_types_fit_their_lists() {
    let map = |items: Value, keys: Value| {
        json!({
            "type": "array", "x-kubernetes-list-type": "map", "items": items, "x-kubernetes-list-map-keys": keys,
        })
    };
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}}});
    let mut required = item.clone();
    required["required"] = json!(["k"]);
    check_field(map(required, json!(["k"])), &[]);
    check_field(
        map(item, json!(["k"])),
        &[
            ".items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ],
    );
    check_field(
        map(json!({"type": "object"}), json!([])),
        &[".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    );
    check_field(
        map(json!({"type": "object"}), json!(["k"])),
        &[r#".x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties"#],
    );
    check_field(
        json!({"type": "string", "x-kubernetes-list-type": "set"}),
        &[r#".type: Invalid value: "string": must be array if x-kubernetes-list-type is specified"#],
    );
}

#[test]
fn defaults_and_rules_are_judged() {
    check_field(
        json!({"type": "string", "default": 5}),
        &[r#".default: Invalid value: "integer":  in body must be of type string: "integer""#],
    );
    check_field(
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}),
        &[r#".default: Invalid value: {"c":1}: must not have unknown fields"#],
    );
    check_field(
        json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
        &[".x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    );
    let broken = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.foo =="}]});
    let found = messages(&definition(|d| root(d)["properties"]["spec"] = broken.clone()), None);
    let start = r#"spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.foo ==","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: "#;
    assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
}

#[test]
fn what_objects_depend_on_does_not_change() {
    let mut old = definition(|_| {});
    accept_names(&mut old, [].into_iter(), Timestamp::UNIX_EPOCH);
    let mut new = old.clone();
    new["spec"]["scope"] = "Cluster".into();
    assert_eq!(messages(&new, Some(&old)), [r#"spec.scope: Invalid value: "Cluster": field is immutable"#]);
    let mut renamed = old.clone();
    renamed["spec"]["versions"][0]["name"] = "v2".into();
    note_storage_version(&mut renamed);
    let found = messages(&renamed, Some(&old));
    assert!(found[0].starts_with("status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; "));
}

#[test]
fn of_two_definitions_the_first_gets_the_names() {
    let mut first = definition(|_| {});
    accept_names(&mut first, [].into_iter(), Timestamp::UNIX_EPOCH);
    assert!(is_established(&first));
    assert_eq!(first["status"]["acceptedNames"]["listKind"], "WidgetList");
    let mut second = definition(|d| {
        d["metadata"]["name"] = "gadgets.example.com".into();
        d["spec"]["names"]["plural"] = "gadgets".into();
    });
    accept_names(&mut second, [&first].into_iter(), Timestamp::UNIX_EPOCH);
    let conditions = &second["status"]["conditions"];
    assert_eq!(conditions[0]["message"], "\"WidgetList\" is already in use");
    assert_eq!((&conditions[0]["reason"], &conditions[1]["status"]), (&json!("ListKindConflict"), &json!("False")));
    accept_names(&mut second, [].into_iter(), Timestamp::UNIX_EPOCH);
    assert!(is_established(&second));
}
