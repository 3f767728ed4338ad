//! Types that do not fit. The real server decodes metadata and built-in kinds into structs, and says so in Go's words.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use crate::resource::{Resource, object_meta};
use crate::schema::{Additional, Kind, Schema};

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// What cannot be decoded in an object: all of a built-in kind, the metadata of a custom resource and of the objects
/// inside it. The rest of a custom resource is judged by validation.
pub(in crate::write) fn shape_error(resource: &Resource, object: &Value) -> Option<String> {
    if !resource.is_custom() {
        let root = Place { owner: &resource.kind, path: String::new() };
        return mismatch(&resource.schema, object, &root);
    }
    metadata_error(&object["metadata"]).or_else(|| embedded_error(&resource.schema, object, ""))
}

fn metadata_error(metadata: &Value) -> Option<String> {
    mismatch(object_meta(), metadata, &Place { owner: "ObjectMeta", path: String::new() })
}

/// Where a value is: the struct, and the path of the field from the root.
struct Place<'a> {
    owner: &'a str,
    path: String,
}

impl Place<'_> {
    fn refusal(&self, found: &str, expected: &str) -> String {
        match self.path.as_str() {
            "" => format!("json: cannot unmarshal {found} into Go value of type {expected}"),
            path => {
                format!("json: cannot unmarshal {found} into Go struct field {}.{path} of type {expected}", self.owner)
            }
        }
    }
}

fn mismatch(schema: &Schema, value: &Value, place: &Place<'_>) -> Option<String> {
    let refuse = |found: &str| Some(place.refusal(found, &go_type(schema)));
    match (value, schema.kind) {
        (Value::Null, _) | (_, None) => None,
        _ if schema.int_or_string || is_quantity(schema) => None,
        (Value::Object(members), Some(Kind::Object)) => {
            members.iter().find_map(|(name, member)| member_mismatch(schema, name, member, place))
        }
        (Value::Array(items), Some(Kind::Array)) => {
            let of_items = schema.items.as_deref()?;
            items.iter().find_map(|item| mismatch(of_items, item, place))
        }
        (Value::String(text), Some(Kind::String)) => malformed(schema, text),
        (Value::Bool(_), Some(Kind::Boolean)) | (Value::Number(_), Some(Kind::Number)) => None,
        (Value::Number(number), Some(Kind::Integer)) => match number.as_i64() {
            Some(integer) if schema.format.as_deref() != Some("int32") || i32::try_from(integer).is_ok() => None,
            _ => refuse(&format!("number {number}")),
        },
        (other, _) => refuse(json_type(other)),
    }
}

fn member_mismatch(schema: &Schema, name: &str, member: &Value, place: &Place<'_>) -> Option<String> {
    match (schema.properties.get(name), &schema.additional) {
        (Some(property), _) => {
            let owner = schema.go_type.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or(place.owner);
            let path = if place.path.is_empty() { name.to_owned() } else { format!("{}.{name}", place.path) };
            mismatch(property, member, &Place { owner, path })
        }
        (None, Additional::Values(values)) => {
            mismatch(values, member, &Place { owner: place.owner, path: place.path.clone() })
        }
        (None, Additional::Unspecified | Additional::Forbidden | Additional::Anything) => None,
    }
}

/// What is wrong with a text that must be a time or bytes.
fn malformed(schema: &Schema, text: &str) -> Option<String> {
    match schema.format.as_deref()? {
        "date-time" => {
            let is_exact = schema.go_type.as_deref() == Some("v1.MicroTime");
            let layout = if is_exact { MICROSECONDS } else { SECONDS };
            if text.parse::<Timestamp>().is_err() {
                return Some(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""));
            }
            let fraction = text.find('.').map(|start| &text[start..]);
            let digits = fraction.map_or(0, |rest| rest[1..].bytes().take_while(u8::is_ascii_digit).count());
            (is_exact && digits != 6).then(|| {
                let rest = fraction.unwrap_or(&text[text.len().min(19)..]);
                format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as \".000000\"")
            })
        }
        "byte" => STANDARD.decode(text).err().map(|error| {
            let position = match error {
                base64::DecodeError::InvalidByte(position, _) => position,
                _ => text.len(),
            };
            format!("illegal base64 data at input byte {position}")
        }),
        _ => None,
    }
}

fn is_quantity(schema: &Schema) -> bool {
    schema.go_type.as_deref() == Some("resource.Quantity")
}

/// The name that Go has for the type of a value, as far as the schema knows it.
fn go_type(schema: &Schema) -> String {
    if let Some(name) = schema.go_type.as_deref().filter(|name| !matches!(*name, "v1.Time" | "v1.MicroTime")) {
        return name.to_owned();
    }
    match (schema.kind, schema.format.as_deref()) {
        (Some(Kind::String), Some("byte")) => "[]uint8".to_owned(),
        (Some(Kind::String), _) | (None, _) => "string".to_owned(),
        (Some(Kind::Boolean), _) => "bool".to_owned(),
        (Some(Kind::Integer), Some(format @ ("int32" | "int64"))) => format.to_owned(),
        (Some(Kind::Integer), _) => "int64".to_owned(),
        (Some(Kind::Number), _) => "float64".to_owned(),
        (Some(Kind::Array), _) => format!("[]{}", schema.items.as_deref().map_or_else(|| "string".to_owned(), go_type)),
        (Some(Kind::Object), _) => match &schema.additional {
            Additional::Values(values) => format!("map[string]{}", go_type(values)),
            _ => "map[string]interface {}".to_owned(),
        },
    }
}

/// The type of a value in the messages of Go's decoder.
pub(in crate::write) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What cannot be decoded in the objects inside an object.
fn embedded_error(schema: &Schema, value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(members) => {
            if schema.embedded_resource
                && let Some(error) = embedded_type_error(value, path)
            {
                return Some(error);
            }
            members.iter().find_map(|(name, member)| {
                let below = schema.member(name)?;
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                embedded_error(below, member, &path)
            })
        }
        Value::Array(items) => {
            let of_items = schema.items.as_deref()?;
            items
                .iter()
                .enumerate()
                .find_map(|(index, item)| embedded_error(of_items, item, &format!("{path}[{index}]")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn embedded_type_error(value: &Value, path: &str) -> Option<String> {
    for name in ["apiVersion", "kind"] {
        if let Some(other) = value.get(name).filter(|value| !value.is_string()) {
            return Some(format!("{path}.{name}: Invalid value: {other}: must be a string"));
        }
    }
    let metadata = &value["metadata"];
    metadata_error(metadata).map(|error| format!("{path}.metadata: Invalid value: {metadata}: {error}"))
}
