//! JSON patches, with the leniency of the library that the real server uses.

use http::StatusCode;
use serde_json::Value;

use super::inapplicable;
use crate::budget::{BYTES_PER_STEP, Budget, Exceeded, MAX_BODY_BYTES, MAX_DEPTH, Weight, weigh};
use crate::status::Status;
use crate::write::decode::json_type;

/// More would keep the server busy for too long.
const MAX_OPERATIONS: usize = 10_000;
const KNOWN: [&str; 4] = ["op", "path", "from", "value"];

/// By how many bytes all `copy` operations together may make an object larger, as on the real server: 3 MiB.
const MAX_COPIED_BYTES: usize = MAX_BODY_BYTES;

/// Applies a patch.
///
/// More is allowed than the standard says: replacing a member that is not there adds it, copying one that is not there
/// copies null, testing one that is not there against null succeeds, and a negative index counts from the end.
pub(super) fn apply(patch: &Value, object: &Value, budget: &Budget) -> Result<Value, Status> {
    let none = Vec::new();
    let operations = if patch.is_null() { &none } else { read(patch)? };
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(Status::new(StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"), message));
    }
    let mut patching = Patching { object: object.clone(), budget, copied: 0 };
    for operation in operations {
        patching.carry_out(operation)?;
    }
    Ok(patching.object)
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

/// An object that is being patched.
struct Patching<'a> {
    object: Value,
    budget: &'a Budget,
    copied: usize,
}

/// Why an operation is not carried out.
enum Refused {
    Impossible,
    TooLarge(Exceeded),
}

impl From<Exceeded> for Refused {
    fn from(exceeded: Exceeded) -> Self {
        Self::TooLarge(exceeded)
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Impossible => inapplicable(),
            Refused::TooLarge(exceeded) => exceeded.into(),
        }
    }
}

impl Patching<'_> {
    fn carry_out(&mut self, operation: &Value) -> Result<(), Refused> {
        let pointer = |name: &str| operation.get(name).and_then(Value::as_str).and_then(Pointer::parse);
        let pointer = |name: &str| pointer(name).ok_or(Refused::Impossible);
        let value = operation.get("value").unwrap_or(&Value::Null);
        let path = pointer("path")?;
        self.budget.take_steps(1 + path.0.len())?;
        match operation.get("op").and_then(Value::as_str) {
            Some("add") => {
                self.room_for(&path, value)?;
                self.add(&path, value.clone())
            }
            Some("remove") => self.remove(&path).map(drop),
            Some("replace") => {
                self.room_for(&path, value)?;
                self.replace(&path, value.clone())
            }
            Some("move") => {
                let moved = self.remove(&pointer("from")?)?;
                self.deep_enough(&path, weigh(&moved, self.budget)?)?;
                self.add(&path, moved)
            }
            Some("copy") => {
                let copied = self.copied(&pointer("from")?, &path)?;
                self.add(&path, copied)
            }
            Some("test") => {
                let is_same = path.get(&self.object).unwrap_or(&Value::Null) == value;
                is_same.then_some(()).ok_or(Refused::Impossible)
            }
            _ => Err(Refused::Impossible),
        }
    }

    /// Charges for a value before it is put somewhere.
    fn room_for(&self, path: &Pointer, value: &Value) -> Result<Weight, Refused> {
        let weight = weigh(value, self.budget)?;
        self.budget.take_bytes(weight.bytes)?;
        self.deep_enough(path, weight)?;
        Ok(weight)
    }

    /// Deeper objects cannot even be dropped.
    fn deep_enough(&self, path: &Pointer, weight: Weight) -> Result<(), Refused> {
        if path.0.len() + weight.depth > MAX_DEPTH {
            return Err(self.budget.refuse(Exceeded::Depth).into());
        }
        Ok(())
    }

    fn copied(&mut self, from: &Pointer, to: &Pointer) -> Result<Value, Refused> {
        from.parent(&mut self.object).ok_or(Refused::Impossible)?;
        let value = from.get(&self.object).unwrap_or(&Value::Null);
        let weight = self.room_for(to, value)?;
        self.copied += weight.text;
        if self.copied > MAX_COPIED_BYTES {
            return Err(Refused::Impossible);
        }
        Ok(value.clone())
    }

    fn add(&mut self, path: &Pointer, value: Value) -> Result<(), Refused> {
        let Some(last) = path.0.last() else {
            self.object = value;
            return Ok(());
        };
        match path.parent(&mut self.object).ok_or(Refused::Impossible)? {
            Value::Object(members) => {
                members.insert(last.clone(), value);
            }
            Value::Array(items) if last == "-" => items.push(value),
            Value::Array(items) => {
                let index = index(last, items.len() + 1).ok_or(Refused::Impossible)?;
                self.budget.take_steps((items.len() - index) / BYTES_PER_STEP)?;
                items.insert(index, value);
            }
            _ => return Err(Refused::Impossible),
        }
        Ok(())
    }

    fn replace(&mut self, path: &Pointer, value: Value) -> Result<(), Refused> {
        if let (Some(last), Some(Value::Array(items))) = (path.0.last(), path.parent(&mut self.object)) {
            let place = index(last, items.len()).and_then(|index| items.get_mut(index));
            *place.ok_or(Refused::Impossible)? = value;
            return Ok(());
        }
        self.add(path, value)
    }

    fn remove(&mut self, path: &Pointer) -> Result<Value, Refused> {
        let last = path.0.last().ok_or(Refused::Impossible)?;
        match path.parent(&mut self.object).ok_or(Refused::Impossible)? {
            Value::Object(members) => members.remove(last).ok_or(Refused::Impossible),
            Value::Array(items) => {
                let index = index(last, items.len()).ok_or(Refused::Impossible)?;
                self.budget.take_steps((items.len() - index) / BYTES_PER_STEP)?;
                Ok(items.remove(index))
            }
            _ => Err(Refused::Impossible),
        }
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
}

/// An index below `length`; negative ones count from the end.
fn index(segment: &str, length: usize) -> Option<usize> {
    let index: i64 = segment.parse().ok()?;
    let index = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}
