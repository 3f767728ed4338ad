//! How deeply input is nested, found out without recursion.

use serde_json::Value;

/// The nesting of JSON text. Counts brackets outside of strings; whether they match is for the parser to say.
pub(super) fn of_json(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a value is nested deeper than `limit`.
pub(super) fn exceeds(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, above)) = open.pop() {
        let children: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(items) => Box::new(items.iter()),
            Value::Object(members) => Box::new(members.values()),
            _ => continue,
        };
        if above == limit {
            return true;
        }
        open.extend(children.map(|child| (child, above + 1)));
    }
    false
}

/// Drops a value of any depth. The usual way recurses, and overflows the stack on a value that is too deep.
pub(super) fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}
