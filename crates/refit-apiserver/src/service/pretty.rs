//! Answers for people: indented.

use http::header::CONTENT_TYPE;

use crate::api::{Answer, Body};

/// Indents a whole JSON answer. Others stay as they are.
pub(super) fn indented(answer: Answer) -> Answer {
    let is_json =
        answer.headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    match answer.body {
        Body::Whole(text) if is_json => Answer { body: Body::Whole(indent(&text).into()), ..answer },
        body => Answer { body, ..answer },
    }
}

/// Indents JSON without a pass through values, so that members keep their order and numbers their digits.
fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, &byte) in json.iter().enumerate() {
        if in_text {
            out.push(byte);
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => {
                in_text = true;
                out.push(byte);
            }
            b'{' | b'[' => {
                out.push(byte);
                depth += 1;
                if !matches!(json.get(at + 1), Some(b'}' | b']')) {
                    new_line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(out.last(), Some(b'{' | b'[')) {
                    new_line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte if byte.is_ascii_whitespace() => {}
            byte => out.push(byte),
        }
    }
    out
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth * 2));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn indented_json_is_the_same_value_as_serde_would_indent_it() {
        for value in [
            json!({}),
            json!([]),
            json!({"a": [1, {"b": "x{,:}\\\"[ \" ] é"}], "c": {}, "d": [], "e": -1.5e10, "f": [[], [{}]]}),
            json!("alone \\"),
        ] {
            let text = indent(value.to_string().as_bytes());
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string_pretty::<Value>(&value).unwrap());
        }
    }
}
