//! From OpenAPI, as CustomResourceDefinitions and the file of built-in kinds write it, to a [`Schema`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Additional, Combined, Kind, Limits, ListType, MapType, PatchStrategy, Rule, Schema};

/// Schemas that others refer to by name.
pub type Definitions = BTreeMap<String, Value>;

/// How deep a schema may nest; deeper ones, and schemas that refer to themselves, keep anything below that.
const MAX_DEPTH: usize = 100;

/// Among how many leaves one looks for the same: each costs a few comparisons for every leaf that is read.
const MAX_LEAVES: usize = 32;

/// Reads a schema. What is misspelled or of the wrong type is ignored: whether a CustomResourceDefinition is well
/// formed is judged before, by the schema of CustomResourceDefinitions.
pub fn parse(json: &Value, definitions: &Definitions) -> Schema {
    Reader { definitions, open: Vec::new(), leaves: Vec::new() }.schema(json)
}

struct Reader<'a> {
    definitions: &'a Definitions,
    /// The definitions that the current node is inside of.
    open: Vec<&'a str>,
    /// Leaves that were read, for those that say the same.
    leaves: Vec<Arc<Schema>>,
}

impl<'a> Reader<'a> {
    fn schema(&mut self, json: &'a Value) -> Schema {
        let Some(fields) = json.as_object() else {
            return Schema { preserves_unknown: true, ..Schema::default() };
        };
        let mut schema = match fields.get("$ref").and_then(Value::as_str) {
            Some(name) => self.definition(name),
            None => self.own(fields),
        };
        if let Some(default) = fields.get("default") {
            schema.default = Some(default.clone());
        }
        schema
    }

    /// A node below another. Leaves that say the same are one: a node takes half a kilobyte, and `{"type": "string"}`
    /// stands in every definition hundreds of times.
    fn shared(&mut self, json: &'a Value) -> Arc<Schema> {
        let schema = self.schema(json);
        if !schema.is_leaf() {
            return Arc::new(schema);
        }
        if let Some(known) = self.leaves.iter().find(|known| ***known == schema) {
            return known.clone();
        }
        let schema = Arc::new(schema);
        if self.leaves.len() < MAX_LEAVES {
            self.leaves.push(schema.clone());
        }
        schema
    }

    fn definition(&mut self, name: &'a str) -> Schema {
        let found = self.definitions.get_key_value(name);
        match found {
            Some((name, json)) if !self.open.contains(&name.as_str()) && self.open.len() < MAX_DEPTH => {
                self.open.push(name);
                let mut schema = self.schema(json);
                self.open.pop();
                schema.preserves_unknown |= is_any_object(&schema);
                schema.go_type = go_type(name);
                schema
            }
            _ => Schema { preserves_unknown: true, ..Schema::default() },
        }
    }

    fn own(&mut self, fields: &'a Map<String, Value>) -> Schema {
        let by_format = text(fields, "format") == Some("int-or-string");
        Schema {
            kind: text(fields, "type").and_then(kind),
            go_type: None,
            format: owned(fields, "format"),
            nullable: flag(fields, "nullable"),
            default: None,
            properties: self.members(fields),
            additional: self.additional(fields),
            items: fields.get("items").map(|items| self.shared(items)),
            required: strings(fields, "required"),
            list: list_type(fields),
            map: map_type(fields),
            preserves_unknown: flag(fields, "x-kubernetes-preserve-unknown-fields"),
            int_or_string: by_format || flag(fields, "x-kubernetes-int-or-string"),
            embedded_resource: flag(fields, "x-kubernetes-embedded-resource"),
            limits: limits(fields),
            combined: if by_format { Combined::default() } else { self.combined(fields) },
            rules: list(fields, "x-kubernetes-validations").iter().filter_map(rule).collect(),
            patch: patch_strategy(fields),
        }
    }

    fn members(&mut self, fields: &'a Map<String, Value>) -> BTreeMap<String, Arc<Schema>> {
        let members = fields.get("properties").and_then(Value::as_object).into_iter().flatten();
        members.map(|(name, json)| (name.clone(), self.shared(json))).collect()
    }

    fn additional(&mut self, fields: &'a Map<String, Value>) -> Additional {
        match fields.get("additionalProperties") {
            None => Additional::Unspecified,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(Value::Bool(true)) => Additional::Anything,
            Some(json) => Additional::Values(self.shared(json)),
        }
    }

    fn combined(&mut self, fields: &'a Map<String, Value>) -> Combined {
        let mut all = |name| list(fields, name).iter().map(|json| self.schema(json)).collect();
        Combined {
            all_of: all("allOf"),
            any_of: all("anyOf"),
            one_of: all("oneOf"),
            not: fields.get("not").map(|json| Box::new(self.schema(json))),
        }
    }
}

/// Whether a definition says that it is an object and nothing else: raw JSON, such as the fields in `managedFields`.
fn is_any_object(schema: &Schema) -> bool {
    let is_unspecified = matches!(schema.additional, Additional::Unspecified);
    schema.kind == Some(Kind::Object) && schema.properties.is_empty() && is_unspecified
}

/// The last two parts of a name like `io.k8s.api.core.v1.Pod`.
fn go_type(name: &str) -> Option<String> {
    let (rest, last) = name.rsplit_once('.')?;
    Some(format!("{}.{last}", rest.rsplit('.').next().unwrap_or_default()))
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        _ => return None,
    })
}

fn list_type(fields: &Map<String, Value>) -> ListType {
    match text(fields, "x-kubernetes-list-type") {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map { keys: strings(fields, "x-kubernetes-list-map-keys") },
        _ => ListType::Atomic,
    }
}

fn map_type(fields: &Map<String, Value>) -> MapType {
    match text(fields, "x-kubernetes-map-type") {
        Some("atomic") => MapType::Atomic,
        _ => MapType::Granular,
    }
}

fn limits(fields: &Map<String, Value>) -> Limits {
    let count = |name| fields.get(name).and_then(Value::as_u64);
    let number = |name| fields.get(name).and_then(Value::as_f64);
    Limits {
        enumeration: list(fields, "enum").to_vec(),
        pattern: owned(fields, "pattern"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag(fields, "exclusiveMinimum"),
        exclusive_maximum: flag(fields, "exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag(fields, "uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
    }
}

fn rule(json: &Value) -> Option<Rule> {
    let fields = json.as_object()?;
    Some(Rule {
        rule: owned(fields, "rule")?,
        message: owned(fields, "message"),
        message_expression: owned(fields, "messageExpression"),
        reason: owned(fields, "reason"),
        field_path: owned(fields, "fieldPath"),
        optional_old_self: fields.get("optionalOldSelf").and_then(Value::as_bool),
    })
}

fn patch_strategy(fields: &Map<String, Value>) -> PatchStrategy {
    let strategies = text(fields, "x-kubernetes-patch-strategy").unwrap_or_default();
    PatchStrategy {
        merge: strategies.split(',').any(|strategy| strategy == "merge"),
        retain_keys: strategies.split(',').any(|strategy| strategy == "retainKeys"),
        merge_key: owned(fields, "x-kubernetes-patch-merge-key"),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

fn owned(fields: &Map<String, Value>, name: &str) -> Option<String> {
    text(fields, name).map(str::to_owned)
}

fn flag(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    fields.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    list(fields, name).iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
