//! JSON with a memory: which fields were there twice. What is wrong with a text is said as the real server says it.

mod scan;

use serde_json::{Map, Number, Value};

use scan::{Scanner, printed};

/// A value, and the paths of the fields that its text has twice. The last one counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// As in `spec.size`, in the order of the text.
    pub duplicates: Vec<String>,
    /// The same of YAML, in sentences.
    pub repeated: Vec<String>,
}

/// Up to here every whole number is a float: 2^53.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
/// How deep a value may nest. All that is done to values goes as deep as they do, on stacks of two megabytes.
const MAX_DEPTH: usize = 120;

pub(super) fn json(text: &[u8]) -> Result<Parsed, String> {
    let mut reader = Reader { scanner: Scanner::new(text), depth: 0, duplicates: Vec::new(), too_large: None };
    let value = reader.value("")?;
    reader.scanner.end()?;
    match reader.too_large {
        Some(number) => Err(format!("json: cannot unmarshal number {number} into Go value of type float64")),
        None => Ok(Parsed { value, duplicates: reader.duplicates, repeated: Vec::new() }),
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    depth: usize,
    duplicates: Vec<String>,
    /// A number that no float can be. Errors of syntax are reported before it.
    too_large: Option<String>,
}

impl Reader<'_> {
    fn value(&mut self, path: &str) -> Result<Value, String> {
        Ok(match self.scanner.next_token()? {
            b'{' => self.nested(b'{', |reader| reader.object(path))?,
            b'[' => self.nested(b'[', |reader| reader.array(path))?,
            b'"' => Value::String(self.scanner.string()?),
            b't' => self.scanner.literal("true").map(|()| Value::Bool(true))?,
            b'f' => self.scanner.literal("false").map(|()| Value::Bool(false))?,
            b'n' => self.scanner.literal("null").map(|()| Value::Null)?,
            first @ (b'-' | b'0'..=b'9') => {
                let text = self.scanner.number(first)?;
                self.number(&text)
            }
            other => return Err(format!("invalid character {} looking for beginning of value", printed(other))),
        })
    }

    fn nested(&mut self, open: u8, read: impl FnOnce(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("invalid character {} exceeded max depth", printed(open)));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self, path: &str) -> Result<Value, String> {
        let mut members = Map::new();
        let mut next = self.scanner.next_token()?;
        if next == b'}' {
            return Ok(Value::Object(members));
        }
        loop {
            if next != b'"' {
                return Err(format!("invalid character {} looking for beginning of object key string", printed(next)));
            }
            let name = self.scanner.string()?;
            self.scanner.expect(b':', "after object key")?;
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if members.contains_key(&name) {
                self.duplicates.push(path.clone());
            }
            let value = self.value(&path)?;
            members.insert(name, value);
            match self.scanner.next_token()? {
                b',' => next = self.scanner.next_token()?,
                b'}' => return Ok(Value::Object(members)),
                other => return Err(format!("invalid character {} after object key:value pair", printed(other))),
            }
        }
    }

    fn array(&mut self, path: &str) -> Result<Value, String> {
        let mut items = Vec::new();
        if self.scanner.skips(b']')? {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(&format!("{path}[{}]", items.len()))?);
            match self.scanner.next_token()? {
                b',' => {}
                b']' => return Ok(Value::Array(items)),
                other => return Err(format!("invalid character {} after array element", printed(other))),
            }
        }
    }

    /// What fits into 64 bits with a sign is an integer, and so is a float that is one; the real server keeps `2.0` as `2`.
    fn number(&mut self, text: &str) -> Value {
        if let Ok(integer) = text.parse::<i64>() {
            return integer.into();
        }
        let float = text.parse::<f64>().unwrap_or(f64::INFINITY);
        if float.is_infinite() && self.too_large.is_none() {
            self.too_large = Some(text.to_owned());
        }
        if float.fract() == 0.0 && float.abs() <= LARGEST_EXACT {
            #[allow(clippy::cast_possible_truncation, reason = "whole and within the bound, so that nothing is lost")]
            return (float as i64).into();
        }
        Number::from_f64(float).map_or(Value::Null, Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_of_two_counts_and_both_are_reported() {
        let parsed = json(br#"{"a": 1, "b": [{"c": 1, "c": 2}], "a": 3}"#).expect("it must parse");
        assert_eq!(parsed.value, json!({"a": 3, "b": [{"c": 2}]}));
        assert_eq!(parsed.duplicates, ["b[0].c", "a"]);
    }

    #[test]
    fn numbers_stay_what_they_are_and_whole_ones_are_integers() {
        let text = r#"{"i":-1,"u":18446744073709551615,"f":1.5,"e":1e3,"w":2.0,"l":1e300}"#;
        let parsed = json(text.as_bytes()).expect("it must parse");
        assert_eq!(
            parsed.value,
            json!({"i": -1, "u": 18_446_744_073_709_551_616_f64, "f": 1.5, "e": 1000, "w": 2, "l": 1e300})
        );
    }

    #[test]
    fn texts_have_escapes_and_what_is_no_text_is_replaced() {
        let check =
            |text: &[u8], expected: &str| assert_eq!(json(text).map(|parsed| parsed.value), Ok(expected.into()));
        check(br#""a\n\"\\\/\u0041\ud83d\ude00""#, "a\n\"\\/A\u{1f600}");
        check(br#""\ud800x""#, "\u{fffd}x");
        check(b"\"\xff\"", "\u{fffd}");
    }

    #[test]
    fn what_is_no_json_is_an_error_in_the_words_of_the_real_server() {
        let check = |text: &str, expected: &str| {
            assert_eq!(json(text.as_bytes()).map(|parsed| parsed.value), Err(expected.to_owned()), "{text}");
        };
        check("", "unexpected end of JSON input");
        check("{", "unexpected end of JSON input");
        check("\"a", "unexpected end of JSON input");
        check("{} {}", "invalid character '{' after top-level value");
        check("nul", "invalid character ' ' in literal null (expecting 'l')");
        check("nix", "invalid character 'i' in literal null (expecting 'u')");
        check("{'a'", r"invalid character '\'' looking for beginning of object key string");
        check("[1,]", "invalid character ']' looking for beginning of value");
        check("[1 2", "invalid character '2' after array element");
        check("-", "invalid character ' ' in numeric literal");
        check("1.", "invalid character ' ' after decimal point in numeric literal");
        check("01", "invalid character '1' after top-level value");
        check("1e", "invalid character ' ' in exponent of numeric literal");
        check("\"\u{1}\"", r"invalid character '\x01' in string literal");
        check(r#""\x""#, "invalid character 'x' in string escape code");
        check(r#""\u00g0""#, r"invalid character 'g' in \u hexadecimal character escape");
        check("[1e400]", "json: cannot unmarshal number 1e400 into Go value of type float64");
        check(&"[".repeat(200), "invalid character '[' exceeded max depth");
    }
}
