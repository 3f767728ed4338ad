//! Answers for people: indented.

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::header::CONTENT_TYPE;

use super::{Answer, Body};
use crate::budget::PIECE_BYTES;

/// Indents a JSON answer, but not a watch. Others stay as they are.
///
/// Indentation can make a text a hundred times longer, so that only short answers are indented as a whole.
pub(crate) fn indented(answer: Answer) -> Answer {
    let is_json =
        answer.headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json {
        return answer;
    }
    let body = match answer.body {
        Body::Whole(text) if text.len() <= PIECE_BYTES / 8 => Body::Whole(indent(&text).into()),
        Body::Whole(text) => {
            let bytes = text.len();
            Body::Parts { bytes, parts: Box::pin(in_pieces(stream::iter([text]))) }
        }
        Body::Parts { bytes, parts } => Body::Parts { bytes, parts: Box::pin(in_pieces(parts)) },
        body @ Body::Stream(_) => body,
    };
    Answer { body, ..answer }
}

/// The same text indented, in pieces that are not longer for it.
fn in_pieces(parts: impl Stream<Item = Bytes> + Send + Unpin) -> impl Stream<Item = Bytes> + Send {
    stream::unfold((parts.fuse(), Indent::default(), Bytes::new()), async |(mut parts, mut indent, mut rest)| {
        let mut out = Vec::with_capacity(PIECE_BYTES);
        while out.len() < PIECE_BYTES {
            if rest.is_empty() {
                match parts.next().await {
                    Some(part) => rest = part,
                    None if out.is_empty() => return None,
                    None => break,
                }
            }
            let taken = indent.write(&rest, &mut out, PIECE_BYTES);
            rest = rest.slice(taken..);
        }
        Some((Bytes::from(out), (parts, indent, rest)))
    })
}

fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    Indent::default().write(json, &mut out, usize::MAX);
    out
}

/// Indents JSON without a pass through values, so that members keep their order and numbers their digits.
#[derive(Default)]
struct Indent {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// Behind a bracket that has just opened.
    has_opened: bool,
}

impl Indent {
    /// Writes until there is nothing more to read, or as much as wanted is written. Returns how much it has read.
    fn write(&mut self, json: &[u8], out: &mut Vec<u8>, wanted: usize) -> usize {
        for (at, &byte) in json.iter().enumerate() {
            if out.len() >= wanted {
                return at;
            }
            if self.in_text {
                out.push(byte);
                self.in_text = self.is_escaped || byte != b'"';
                self.is_escaped = !self.is_escaped && byte == b'\\';
            } else if !byte.is_ascii_whitespace() {
                self.outside_text(byte, out);
            }
        }
        json.len()
    }

    fn outside_text(&mut self, byte: u8, out: &mut Vec<u8>) {
        let closes = matches!(byte, b'}' | b']');
        self.depth -= usize::from(closes).min(self.depth);
        // Nothing stands between brackets that are empty.
        if self.has_opened != closes {
            self.new_line(out);
        }
        self.has_opened = matches!(byte, b'{' | b'[');
        self.depth += usize::from(self.has_opened);
        self.in_text = byte == b'"';
        out.push(byte);
        match byte {
            b',' => self.new_line(out),
            b':' => out.push(b' '),
            _ => {}
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', self.depth * 2));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn indented_json_is_the_same_value_as_serde_would_indent_it() {
        for value in [
            json!({}),
            json!([]),
            json!({"a": [1, {"b": "x{,:}\\\"[ \" ] é"}], "c": {}, "d": [], "e": -1.5e10, "f": [[], [{}]]}),
            json!("alone \\"),
            json!(vec![json!({"k": ["text", "\\"]}); 10_000]),
        ] {
            let (text, expected) = (value.to_string(), serde_json::to_string_pretty::<Value>(&value).unwrap());
            assert_eq!(String::from_utf8(indent(text.as_bytes())).unwrap(), expected);
            for length in [1, 7, text.len()] {
                let parts: Vec<Bytes> = text.as_bytes().chunks(length).map(Bytes::copy_from_slice).collect();
                let pieces: Vec<Bytes> = in_pieces(Box::pin(stream::unfold(parts.into_iter(), async |mut parts| {
                    Some((parts.next()?, parts))
                })))
                .collect()
                .await;
                assert!(pieces.iter().all(|piece| piece.len() < 2 * PIECE_BYTES));
                assert_eq!(String::from_utf8(pieces.concat()).unwrap(), expected);
            }
        }
    }
}
