//! Items of lists. The items of built-in lists do not say what they are: the list does.

use bytes::Bytes;

/// The text of an object without its `apiVersion` and `kind`.
pub fn without_type(text: &Bytes) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for member in members(text) {
        let is_type = member.starts_with(b"\"apiVersion\":") || member.starts_with(b"\"kind\":");
        if !is_type {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(member);
        }
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out
}

/// The members of an object in the compact JSON that the store keeps, each with its name.
fn members(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inner = text.trim_ascii().strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")).unwrap_or_default();
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    inner.split(move |byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *byte == b',' && depth == 0 && !is_text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_type_of_the_object_itself_goes() {
        let object = json!({
            "apiVersion": "v1",
            "data": {"kind": "a", "b": "},\"kind\":[\\"},
            "kind": "ConfigMap",
            "metadata": {"ownerReferences": [{"kind": "X", "apiVersion": "v1"}]},
        });
        let mut expected = object.clone();
        let members = expected.as_object_mut().expect("it must be an object");
        members.retain(|name, _| name != "kind" && name != "apiVersion");
        let found = without_type(&object.to_string().into());
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&found).expect("it must be JSON"), expected);
        assert_eq!(without_type(&Bytes::from_static(b"{\"kind\":\"A\"}")), b"{}");
    }
}
