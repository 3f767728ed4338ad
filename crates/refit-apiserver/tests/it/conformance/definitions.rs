//! The custom resources of the cases.

use serde_json::{Value, json};

pub const GROUP: &str = "conf.refit.dev";
/// The widgets of a case's namespace.
pub const WIDGETS: &str = "/apis/conf.refit.dev/v1/namespaces/$ns/widgets";
/// The same in the other version.
pub const WIDGETS_V2: &str = "/apis/conf.refit.dev/v2/namespaces/$ns/widgets";
/// A resource without namespaces, subresources and rules.
pub const GLOBES: &str = "/apis/conf.refit.dev/v1/globes";

/// A widget of a name with a spec.
pub fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// A widget for an update of what was answered last.
pub fn changed(name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "resourceVersion": "$rv"});
    json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": metadata, "spec": spec})
}

/// All definitions of the cases.
pub fn all() -> Vec<Value> {
    vec![widgets(), gadgets(), globes(), relics()]
}

fn keyed(keys: &[&str], item: &Value) -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item})
}

fn spec() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let port = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": text,
    }});
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": text, "value": text, "sub": {"type": "object", "properties": {"a": text, "b": text}},
    }});
    json!({
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not be above high"},
        ],
        "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 10},
            "small": {"type": "integer", "format": "int32"},
            "ratio": {"type": "number"},
            "low": {"type": "integer"},
            "high": {"type": "integer"},
            "replicas": {"type": "integer", "default": 1},
            "code": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
            "on": {"type": "boolean"},
            "tier": {"type": "string", "default": "basic", "enum": ["basic", "pro"]},
            "note": {"type": "string", "nullable": true},
            "mood": {"type": "string", "nullable": true, "default": "calm"},
            "when": {"type": "string", "format": "date-time"},
            "fixed": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "fixed is immutable"},
            ]},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "ports": keyed(&["port", "protocol"], &port),
            "items": keyed(&["name"], &item),
            "numbers": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer"}},
            "grid": {"type": "array", "maxItems": 1_000, "items": {"type": "integer"}, "x-kubernetes-validations": [
                {"rule": "self.all(x, self.all(y, x + y >= 0))"},
            ]},
            "params": texts,
            "sealed": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "must": {"type": "object", "required": ["x"], "minProperties": 1, "properties": {"x": text, "y": text}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "limit": {"x-kubernetes-int-or-string": true},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true,
                         "x-kubernetes-preserve-unknown-fields": true},
        },
    })
}

fn schema() -> Value {
    let text = json!({"type": "string"});
    let condition = json!({"type": "object", "required": ["type"], "properties": {"type": text, "status": text}});
    json!({"type": "object", "properties": {
        "spec": spec(),
        "status": {"type": "object", "properties": {
            "phase": text,
            "replicas": {"type": "integer"},
            "selector": text,
            "parts": {"type": "object", "minProperties": 1, "additionalProperties": text},
            "conditions": keyed(&["type"], &condition),
        }},
    }})
}

fn version(name: &str, is_stored: bool, schema: &Value) -> Value {
    json!({
        "name": name,
        "served": true,
        "storage": is_stored,
        "schema": {"openAPIV3Schema": schema},
        "selectableFields": [{"jsonPath": ".spec.code"}, {"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
    })
}

fn widgets() -> Value {
    let mut newer = schema();
    newer["properties"]["spec"]["properties"]["size"]["maximum"] = 20.into();
    // The real server refuses the same selectable fields in versions that have different schemas.
    let mut second = version("v2", false, &newer);
    second["selectableFields"] = json!([{"jsonPath": ".spec.code"}]);
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    definition("Namespaced", &names, &json!([version("v1", true, &schema()), second]))
}

/// Two versions with different fields.
fn gadgets() -> Value {
    let version = |name: &str, field: &str| {
        let fields = json!({"size": {"type": "integer"}, field: {"type": "string"}});
        let spec = json!({"type": "object", "properties": fields});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}})
    };
    let names = json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"});
    definition("Namespaced", &names, &json!([version("v1", "old"), version("v2", "new")]))
}

fn globes() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "code": {"type": "string"}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }});
    let names = json!({"plural": "globes", "singular": "globe", "kind": "Globe", "listKind": "GlobeList"});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    definition("Cluster", &names, &json!([version]))
}

pub fn definition(scope: &str, names: &Value, versions: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", names["plural"].as_str().unwrap_or_default())},
        "spec": {"group": GROUP, "scope": scope, "names": names, "versions": versions},
    })
}

/// A resource whose older version is deprecated, with patterns and rules that Go and Rust could read differently.
fn relics() -> Value {
    let text = |pattern: &str| json!({"type": "string", "maxLength": 10, "pattern": pattern});
    let said = |rule: &str| json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": rule, "message": "no match"}]});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "digits": text(r"^\d*$"),
        "words": text(r"^[\w]*$"),
        "spaces": text(r"^\s*$"),
        "bounds": text(r"a\b"),
        "class": text(r"^[[a&&b]*$"),
        "saidDigits": said(r"self.matches('^\\d*$')"),
        "saidFound": said(r"self.find('\\w+') == 'a'"),
        "grown": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "!oldSelf.hasValue() || oldSelf.value() <= self", "optionalOldSelf": true, "message": "it grows"},
        ]},
    }}}}});
    let version = |name: &str, rest: Value| {
        let mut version = json!({"name": name, "served": true, "storage": name == "v2", "schema": schema});
        for (key, value) in rest.as_object().into_iter().flatten() {
            version[key] = value.clone();
        }
        version
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("relics.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "relics", "singular": "relic", "kind": "Relic", "listKind": "RelicList"},
            "versions": [
                version("v1", json!({"deprecated": true})),
                version("v1beta1", json!({"deprecated": true, "deprecationWarning": "use v2"})),
                version("v2", json!({})),
            ],
        },
    })
}
