//! Pruning: fields that no schema knows are dropped, and their paths reported.

use serde_json::Value;

use super::{Additional, Schema};

/// How many bytes the paths of unknown fields have together; what is beyond goes without being named.
const MAX_UNKNOWN_BYTES: usize = 64 * 1024;

/// The members that every object has; they are checked elsewhere.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not know, and returns the sorted paths of it, as in `spec.items[0].typo`.
/// `apiVersion`, `kind` and `metadata` of the object itself are left alone.
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { path: Vec::new(), unknown: Vec::new(), room: MAX_UNKNOWN_BYTES };
    pruner.node(Some(schema), value, true);
    pruner.unknown.sort();
    pruner.unknown
}

struct Pruner {
    path: Vec<String>,
    unknown: Vec<String>,
    /// How many bytes further paths may have.
    room: usize,
}

impl Pruner {
    /// `is_resource`: the value has a type and metadata of its own.
    fn node(&mut self, schema: Option<&Schema>, value: &mut Value, is_resource: bool) {
        match value {
            Value::Object(members) => {
                let names: Vec<String> = members.keys().cloned().collect();
                for name in names {
                    if is_resource && META.contains(&name.as_str()) {
                        continue;
                    }
                    match self.known(schema, &name) {
                        Known::As(schema) => {
                            let member = members.get_mut(&name).expect("the name must be one of the members");
                            self.below(name, |pruner| {
                                pruner.node(schema, member, schema.is_some_and(|schema| schema.embedded_resource));
                            });
                        }
                        Known::Kept => {}
                        Known::Not => {
                            self.record(&name);
                            members.remove(&name);
                        }
                    }
                }
            }
            Value::Array(items) => {
                let schema = match schema {
                    Some(schema) if schema.items.is_none() && schema.preserves_unknown => return,
                    other => other.and_then(|schema| schema.items.as_deref()),
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(format!("[{index}]"), |pruner| {
                        pruner.node(schema, item, schema.is_some_and(|schema| schema.embedded_resource));
                    });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn known<'a>(&self, schema: Option<&'a Schema>, name: &str) -> Known<'a> {
        let Some(schema) = schema else { return Known::Not };
        match (schema.properties.get(name), &schema.additional) {
            (Some(member), _) => Known::As(Some(member)),
            (None, Additional::Values(values)) => Known::As(Some(values)),
            (None, _) if schema.preserves_unknown => Known::Kept,
            // The value is known, what is inside it is not: an object there is emptied.
            (None, Additional::Anything) => Known::As(None),
            (None, Additional::Unspecified | Additional::Forbidden) => Known::Not,
        }
    }

    fn below(&mut self, segment: String, descend: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        descend(self);
        self.path.pop();
    }

    fn record(&mut self, name: &str) {
        let bytes = self.path.iter().map(|segment| segment.len() + 1).sum::<usize>() + name.len();
        if bytes > self.room {
            return;
        }
        self.room -= bytes;
        let mut path = String::new();
        for segment in self.path.iter().map(String::as_str).chain([name]) {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        self.unknown.push(path);
    }
}

/// What a schema says of a member.
enum Known<'a> {
    As(Option<&'a Schema>),
    Kept,
    Not,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{Definitions, parse};

    fn check(value: Value, expected: &Value, unknown: &[&str]) {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}},
                "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                         "properties": {"strict": {"type": "object", "properties": {"x": {}}}}},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": true},
            }},
        }});
        let mut value = value;
        let found = prune(&parse(&schema, &Definitions::new()), &mut value);
        assert_eq!((&value, found), (expected, unknown.iter().map(|&path| path.to_owned()).collect()));
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        check(
            json!({"kind": "K", "metadata": {"odd": 1}, "top": 1, "spec": {"a": "1", "b": 2, "list": [{"x": "1"}, {"y": 2}]}}),
            &json!({"kind": "K", "metadata": {"odd": 1}, "spec": {"a": "1", "list": [{"x": "1"}, {}]}}),
            &["spec.b", "spec.list[1].y", "top"],
        );
        check(
            json!({"spec": {"map": {"k": {"x": 1, "y": 2}}}}),
            &json!({"spec": {"map": {"k": {"x": 1}}}}),
            &["spec.map.k.y"],
        );
    }

    #[test]
    fn fields_are_kept_where_the_schema_says_so() {
        check(
            json!({"spec": {"kept": {"any": {"thing": [1]}, "strict": {"x": 1, "y": 2}}}}),
            &json!({"spec": {"kept": {"any": {"thing": [1]}, "strict": {"x": 1}}}}),
            &["spec.kept.strict.y"],
        );
        check(
            json!({"spec": {"embedded": {"kind": "K", "metadata": {"name": "a"}, "spec": {}}}}),
            &json!({"spec": {"embedded": {"kind": "K", "metadata": {"name": "a"}}}}),
            &["spec.embedded.spec"],
        );
    }
}
