//! Field selectors as text: `metadata.name=a,status.phase!=Failed`.

use serde_json::Value;

use crate::resource::{Resource, event};

/// Requirements on fields, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    field: String,
    value: String,
    is_equal: bool,
}

impl FieldSelector {
    /// `Err` says what cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in split(text) {
            let (field, value, is_equal) =
                term(part).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            requirements.push(Requirement { field: field.to_owned(), value: unescape(value), is_equal });
        }
        Ok(Self(requirements))
    }

    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.0
            .iter()
            .all(|requirement| (lookup(object, &requirement.field) == requirement.value) == requirement.is_equal)
    }

    /// The value that a field must have, where the selector says so.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let is_exact = |requirement: &&Requirement| requirement.is_equal && requirement.field == field;
        self.0.iter().find(is_exact).map(|requirement| requirement.value.as_str())
    }

    /// The same requirements on the fields that are stored.
    pub fn stored(mut self, resource: &Resource) -> Self {
        if event::is_converted(resource) {
            self.0.iter_mut().for_each(|requirement| requirement.field = event::stored_field(&requirement.field));
        }
        self
    }

    /// Refuses fields that the resource cannot be asked for.
    pub fn check(&self, resource: &Resource) -> Result<(), String> {
        let is_known = |field: &str| {
            field == "metadata.name"
                || (field == "metadata.namespace" && (resource.is_namespaced || !resource.is_custom()))
                || resource.selectable_fields.iter().any(|known| known == field)
        };
        let unknown = self.0.iter().map(|requirement| &requirement.field).find(|field| !is_known(field));
        unknown.map_or(Ok(()), |field| {
            Err(if resource.is_custom() {
                format!("field label not supported: {field}")
            } else {
                let known = ["metadata.name", "metadata.namespace"].into_iter();
                let known = known.chain(resource.selectable_fields.iter().map(String::as_str));
                let known: Vec<String> = known.map(|field| format!("{field:?}")).collect();
                format!("{field:?} is not a known field selector: only {}", known.join(", "))
            })
        })
    }
}

/// The parts between commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_escaped) = (0, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ',' => {
                parts.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

fn term(part: &str) -> Option<(&str, &str, bool)> {
    let position = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(position);
    let (value, is_equal) = match rest {
        _ if rest.starts_with("!=") => (&rest[2..], false),
        _ if rest.starts_with("==") => (&rest[2..], true),
        _ if rest.starts_with('=') => (&rest[1..], true),
        _ => return None,
    };
    Some((field, value, is_equal))
}

fn unescape(value: &str) -> String {
    let mut out = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        out.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    out
}

/// A field as text; empty where there is none.
fn lookup(object: &Value, field: &str) -> String {
    match field.split('.').try_fold(object, |value, name| value.get(name)) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_compared_as_text() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"on": true, "odd": "x,y"}});
        let cases = [
            ("metadata.name=a", true),
            ("metadata.name==a,spec.on=true", true),
            ("metadata.name!=a", false),
            ("spec.none=", true),
            (r"spec.odd=x\,y", true),
            ("spec.on=false", false),
        ];
        for (text, expected) in cases {
            assert_eq!(FieldSelector::parse(text).expect("it must parse").matches(&object), expected, "{text}");
        }
        assert!(FieldSelector::parse("metadata.name").is_err());
    }
}
