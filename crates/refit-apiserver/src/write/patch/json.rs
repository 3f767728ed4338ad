//! JSON patches, with the leniency of the library that the real server uses.

use http::StatusCode;
use serde_json::Value;

use super::inapplicable;
use crate::status::Status;
use crate::write::decode::json_type;

/// More would keep the server busy for too long.
const MAX_OPERATIONS: usize = 10_000;
const KNOWN: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a patch.
///
/// More is allowed than the standard says: replacing a member that is not there adds it, copying one that is not there
/// copies null, testing one that is not there against null succeeds, and a negative index counts from the end.
pub(super) fn apply(patch: &Value, object: &Value) -> Result<Value, Status> {
    let none = Vec::new();
    let operations = if patch.is_null() { &none } else { read(patch)? };
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(Status::new(StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"), message));
    }
    let mut object = object.clone();
    for operation in operations {
        carry_out(operation, &mut object).ok_or_else(inapplicable)?;
    }
    Ok(object)
}

/// The operations, if all are of the right form.
fn read(patch: &Value) -> Result<&Vec<Value>, Status> {
    let refuse = |found: &Value, place: &str| {
        let found = json_type(found);
        Err(Status::bad_request(format!("error decoding patch: json: cannot unmarshal {found} into Go {place}")))
    };
    let Some(operations) = patch.as_array() else { return refuse(patch, "value of type []handlers.jsonPatchOp") };
    for operation in operations {
        if !operation.is_object() && !operation.is_null() {
            return refuse(operation, "value of type handlers.jsonPatchOp");
        }
        for name in ["op", "path", "from"] {
            if let Some(value) = operation.get(name).filter(|value| !value.is_string() && !value.is_null()) {
                return refuse(value, &format!("struct field jsonPatchOp.{name} of type string"));
            }
        }
    }
    Ok(operations)
}

/// The members of operations that mean nothing, as in `[0].odd`.
pub(super) fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    operations
        .flat_map(|(index, operation)| {
            let names = operation.as_object().into_iter().flat_map(|members| members.keys());
            names.filter(|name| !KNOWN.contains(&name.as_str())).map(move |name| format!("[{index}].{name}"))
        })
        .collect()
}

/// `None`: it cannot be done.
fn carry_out(operation: &Value, object: &mut Value) -> Option<()> {
    let pointer = |name: &str| Pointer::parse(operation.get(name)?.as_str()?);
    let value = operation.get("value").unwrap_or(&Value::Null);
    let path = pointer("path")?;
    match operation.get("op")?.as_str()? {
        "add" => path.add(object, value.clone()),
        "remove" => path.remove(object).map(|_| ()),
        "replace" => path.replace(object, value.clone()),
        "move" => {
            let moved = pointer("from")?.remove(object)?;
            path.add(object, moved)
        }
        "copy" => {
            let from = pointer("from")?;
            from.parent(object)?;
            let copied = from.get(object).cloned().unwrap_or(Value::Null);
            path.add(object, copied)
        }
        "test" => (path.get(object).unwrap_or(&Value::Null) == value).then_some(()),
        _ => None,
    }
}

/// A path of a JSON patch.
struct Pointer(Vec<String>);

impl Pointer {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let segments = text.strip_prefix('/')?.split('/');
        Some(Self(segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()))
    }

    fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(items) => items.get(index(segment, items.len())?),
            _ => None,
        })
    }

    fn parent<'a>(&self, object: &'a mut Value) -> Option<&'a mut Value> {
        let (_, parents) = self.0.split_last()?;
        parents.iter().try_fold(object, |value, segment| match value {
            Value::Object(members) => members.get_mut(segment),
            Value::Array(items) => {
                let index = index(segment, items.len())?;
                items.get_mut(index)
            }
            _ => None,
        })
    }

    fn add(&self, object: &mut Value, value: Value) -> Option<()> {
        let Some(last) = self.0.last() else {
            *object = value;
            return Some(());
        };
        match self.parent(object)? {
            Value::Object(members) => {
                members.insert(last.clone(), value);
            }
            Value::Array(items) if last == "-" => items.push(value),
            Value::Array(items) => {
                let index = index(last, items.len() + 1)?;
                items.insert(index, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn replace(&self, object: &mut Value, value: Value) -> Option<()> {
        match (self.0.last(), self.0.is_empty()) {
            (Some(last), _) if matches!(self.parent(object)?, Value::Array(_)) => {
                let items = self.parent(object)?.as_array_mut()?;
                let index = index(last, items.len())?;
                *items.get_mut(index)? = value;
                Some(())
            }
            _ => self.add(object, value),
        }
    }

    fn remove(&self, object: &mut Value) -> Option<Value> {
        let last = self.0.last()?;
        match self.parent(object)? {
            Value::Object(members) => members.remove(last),
            Value::Array(items) => {
                let index = index(last, items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }
}

/// An index below `length`; negative ones count from the end.
fn index(segment: &str, length: usize) -> Option<usize> {
    let index: i64 = segment.parse().ok()?;
    let index = if index < 0 { index + i64::try_from(length).ok()? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}
