//! Bodies in Protobuf, which Go clients send of built-in kinds. Answers are JSON, which they accept, too.
//!
//! Schemas say what a field is; a generated table says which number it has. A message becomes the JSON that the same
//! client would have sent otherwise.

mod wire;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde_json::{Map, Value};

use crate::resource::built_in;
use wire::{Fields, Wire};

pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every message begins with.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may stand in messages. Those of built-in kinds stay below twenty.
const MAX_DEPTH: usize = 32;

/// By type and number: the name in JSON; after `*` where zero is a value too; after `<` the type whose fields stand in
/// its place.
type Table = BTreeMap<String, BTreeMap<u32, String>>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("generated/protobuf_fields.json")).expect("the generated table must be JSON")
});

/// Reads an object of a built-in kind. `Err` says what is wrong with it.
pub fn parse(body: &[u8]) -> Result<Value, String> {
    let message = body.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Fields::of(message) {
        match field? {
            (1, Wire::Bytes(type_meta)) => (api_version, kind) = type_meta_of(type_meta)?,
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let definition = built_in::definition_of(&api_version, &kind)
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?}"))?;
    let mut object = Map::new();
    message_into(&mut object, definition, properties(definition), raw, MAX_DEPTH)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

fn type_meta_of(message: &[u8]) -> Result<(String, String), String> {
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in Fields::of(message) {
        match field? {
            (1, Wire::Bytes(text)) => api_version = utf8(text)?,
            (2, Wire::Bytes(text)) => kind = utf8(text)?,
            _ => {}
        }
    }
    Ok((api_version, kind))
}

/// The properties of a definition; none for those that have none.
fn properties(definition: &str) -> &'static Value {
    built_in::definitions().get(definition).map_or(&Value::Null, |schema| &schema["properties"])
}

/// Puts the fields of a message into an object. `properties` are those of the object that the fields end up in.
fn message_into(
    object: &mut Map<String, Value>,
    kind: &str,
    properties: &'static Value,
    message: &[u8],
    depth: usize,
) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("the message is too deep")?;
    let Some(fields) = TABLE.get(kind) else { return Ok(()) };
    for field in Fields::of(message) {
        let (number, wire) = field?;
        let Some(name) = fields.get(&number) else { continue };
        if let (Some(kind), Wire::Bytes(message)) = (name.strip_prefix('<'), wire) {
            message_into(object, kind, properties, message, depth)?;
            continue;
        }
        let keeps_zero = name.starts_with('*');
        let name = name.trim_start_matches('*');
        add(object, name, &properties[name], wire, (keeps_zero, depth))?;
    }
    Ok(())
}

/// Adds a value: to a list or map one more, otherwise the only one.
fn add(
    object: &mut Map<String, Value>,
    name: &str,
    schema: &'static Value,
    wire: Wire<'_>,
    (keeps_zero, depth): (bool, usize),
) -> Result<(), String> {
    if let Some(items) = schema.get("items").filter(|_| schema["type"] == "array") {
        let item = value(items, wire, depth)?;
        if let Value::Array(list) = object.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            list.push(item);
        }
    } else if let (Some(values), Wire::Bytes(entry)) = (schema.get("additionalProperties"), wire) {
        let (key, value) = entry_of(values, entry, depth)?;
        if let Value::Object(map) = object.entry(name).or_insert_with(|| Value::Object(Map::new())) {
            map.insert(key, value);
        }
    } else {
        let value = value(schema, wire, depth)?;
        if !value.is_null() && (keeps_zero || !is_zero(&value)) {
            object.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// Whether Go leaves it out of JSON where it may be left out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn entry_of(values: &'static Value, entry: &[u8], depth: usize) -> Result<(String, Value), String> {
    let (mut key, mut found) = (String::new(), Value::Null);
    for field in Fields::of(entry) {
        match field? {
            (1, Wire::Bytes(text)) => key = utf8(text)?,
            (2, wire) => found = value(values, wire, depth)?,
            _ => {}
        }
    }
    if found.is_null() && values["type"] == "string" {
        found = "".into();
    }
    Ok((key, found))
}

/// One value by its schema. Null stands for a time that is not set.
fn value(schema: &'static Value, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
    if let (Some(definition), Wire::Bytes(message)) = (schema["$ref"].as_str(), wire) {
        return referred(definition, message, depth);
    }
    let mismatch = || "a field has another type than its kind says".to_owned();
    Ok(match (schema["type"].as_str().unwrap_or_default(), wire) {
        ("string", Wire::Bytes(bytes)) if schema["format"] == "byte" => STANDARD.encode(bytes).into(),
        ("string", Wire::Bytes(text)) => utf8(text)?.into(),
        ("boolean", Wire::Varint(number)) => (number != 0).into(),
        ("integer", Wire::Varint(number)) => number.cast_signed().into(),
        ("number", Wire::Fixed64(bits)) => f64::from_bits(bits).into(),
        // A list inside a map, as the extra attributes of users are, is a message with its items.
        ("array", Wire::Bytes(message)) => {
            let items = &schema["items"];
            let item = |field: Result<(u32, Wire<'_>), String>| field.and_then(|(_, wire)| value(items, wire, depth));
            Fields::of(message).map(item).collect::<Result<_, _>>()?
        }
        _ => return Err(mismatch()),
    })
}

/// A value of a type that has a name.
fn referred(definition: &str, message: &[u8], depth: usize) -> Result<Value, String> {
    match definition.rsplit('.').next().unwrap_or_default() {
        "Time" => time(message, 0),
        "MicroTime" => time(message, 6),
        "Quantity" => bytes_of(message, 1).and_then(utf8).map(Value::from),
        "FieldsV1" => serde_json::from_slice(bytes_of(message, 1)?).map_err(|error| error.to_string()),
        "IntOrString" => int_or_string(message),
        _ => {
            let mut object = Map::new();
            message_into(&mut object, definition, properties(definition), message, depth)?;
            Ok(Value::Object(object))
        }
    }
}

/// Seconds and nanoseconds as text with so many digits behind the point; null for none.
fn time(message: &[u8], digits: u8) -> Result<Value, String> {
    let seconds = varint_of(message, 1)?.cast_signed();
    let nanoseconds = i32::try_from(varint_of(message, 2)?).map_err(|error| error.to_string())?;
    if (seconds, nanoseconds) == (0, 0) {
        return Ok(Value::Null);
    }
    let time = Timestamp::new(seconds, nanoseconds).map_err(|error| error.to_string())?;
    Ok(DateTimePrinter::new().precision(Some(digits)).timestamp_to_string(&time).into())
}

fn int_or_string(message: &[u8]) -> Result<Value, String> {
    if varint_of(message, 1)? == 0 {
        return Ok(varint_of(message, 2)?.cast_signed().into());
    }
    bytes_of(message, 3).and_then(utf8).map(Value::from)
}

fn varint_of(message: &[u8], wanted: u32) -> Result<u64, String> {
    let mut found = 0;
    for field in Fields::of(message) {
        if let (number, Wire::Varint(value)) = field?
            && number == wanted
        {
            found = value;
        }
    }
    Ok(found)
}

fn bytes_of(message: &[u8], wanted: u32) -> Result<&[u8], String> {
    let mut found = &[][..];
    for field in Fields::of(message) {
        if let (number, Wire::Bytes(value)) = field?
            && number == wanted
        {
            found = value;
        }
    }
    Ok(found)
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
