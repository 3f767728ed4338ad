//! Whether an intent has been applied already: asking first keeps a settled control plane free of writes.
//!
//! An intent is only a part of an object, and what it does not name may be somebody else's. So values alone do not tell:
//! the managed fields say what the manager still holds and would let go. A merge patch has no such memory. It is made
//! from two whole states of the same fields, by [`merge`](crate::merge).

use serde_json::Value;

/// Whether the object says all that the intent says, and the manager holds nothing that the intent lets go.
pub(super) fn is_applied(object: &Value, manager: &str, intent: &Value) -> bool {
    let parts = ["/metadata/labels", "/metadata/annotations", "/metadata/ownerReferences", "/spec"];
    let says = |pointer: &str| intent.pointer(pointer).is_none_or(|wanted| contains(object.pointer(pointer), wanted));
    parts.iter().all(|pointer| says(pointer)) && owned(object, manager).is_some_and(|held| !lets_go(held, intent))
}

/// The fields that the manager holds by apply.
pub(super) fn owned<'a>(object: &'a Value, manager: &str) -> Option<&'a Value> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    entries.iter().find(|entry| is_apply_of(entry, manager))?.get("fieldsV1")
}

/// Whether a managed fields entry is the manager's, made by apply to the object itself.
pub(super) fn is_apply_of(entry: &Value, manager: &str) -> bool {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    text("manager") == manager && text("operation") == "Apply" && text("subresource").is_empty()
}

/// Whether all of `wanted` is in `found`. Lists must be the same, but for fields of their items that others added.
fn contains(found: Option<&Value>, wanted: &Value) -> bool {
    match (found, wanted) {
        // An empty value is the same as none: it has no fields that could be applied.
        (None, Value::Object(fields)) => fields.values().all(|field| contains(None, field)),
        (Some(Value::Object(found)), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| contains(found.get(name), value))
        }
        (Some(Value::Array(found)), Value::Array(wanted)) => {
            wanted.iter().all(|item| found.iter().any(|other| contains(Some(other), item)))
        }
        (found, wanted) => found == Some(wanted),
    }
}

/// Whether the manager holds a label, an annotation or a field of the spec that the intent does not name.
fn lets_go(held: &Value, intent: &Value) -> bool {
    let metadata = held.get("f:metadata");
    let part = |name: &str| metadata.and_then(|fields| fields.get(name));
    let pairs = [
        (part("f:labels"), intent.pointer("/metadata/labels")),
        (part("f:annotations"), intent.pointer("/metadata/annotations")),
        (held.get("f:spec"), intent.get("spec")),
    ];
    pairs.into_iter().any(|(held, intended)| has_more(held, intended))
}

fn has_more(held: Option<&Value>, intended: Option<&Value>) -> bool {
    let Some(Value::Object(held)) = held else { return false };
    held.iter().filter_map(|(name, inner)| Some((name.strip_prefix("f:")?, inner))).any(|(name, inner)| match intended
        .and_then(|fields| fields.get(name))
    {
        None => true,
        Some(Value::Array(items)) => items_held(inner) > items.len(),
        Some(field) => has_more(Some(inner), Some(field)),
    })
}

/// How many items of a list are held, where they are held one by one.
fn items_held(held: &Value) -> usize {
    held.as_object().map_or(0, |items| items.keys().filter(|name| name.starts_with("k:")).count())
}
