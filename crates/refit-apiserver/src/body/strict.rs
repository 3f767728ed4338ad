//! JSON with a memory: which fields were there twice. What is wrong with a text is said as the real server says it.

mod path;
mod scan;

use serde_json::{Map, Number, Value};

use crate::budget::{BYTES_PER_STEP, Budget, Exceeded, MAX_DEPTH, MEMBER_BYTES, OBJECT_BYTES, VALUE_BYTES};
use path::{Path, Segment};
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
/// How many fields are named that are there twice, as on the real server.
const MAX_DUPLICATES: usize = 100;
/// How many bytes their names have together; no more are named beyond that.
const MAX_DUPLICATES_BYTES: usize = 64 * 1024;

pub(super) fn json(text: &[u8], budget: &Budget) -> Result<Parsed, String> {
    let (path, duplicates) = (Path::default(), Duplicates::default());
    let mut reader = Reader { scanner: Scanner::new(text), budget, depth: 0, path, duplicates, too_large: None };
    let value = reader.value()?;
    reader.scanner.end()?;
    match reader.too_large {
        Some(number) => Err(format!("json: cannot unmarshal number {number} into Go value of type float64")),
        None => Ok(Parsed { value, duplicates: reader.duplicates.paths, repeated: Vec::new() }),
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    budget: &'a Budget,
    depth: usize,
    path: Path,
    duplicates: Duplicates,
    /// A number that no float can be. Errors of syntax are reported before it.
    too_large: Option<String>,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, String> {
        self.charge(VALUE_BYTES)?;
        Ok(match self.scanner.next_token()? {
            b'{' => self.nested(b'{', Self::object)?,
            b'[' => self.nested(b'[', Self::array)?,
            b'"' => Value::String(self.text()?),
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

    /// For a value, and for its path: whoever walks over the object later may write that down.
    fn charge(&self, bytes: usize) -> Result<(), String> {
        let taken = self.budget.take_bytes(bytes);
        taken.and_then(|()| self.budget.take_steps(1 + self.path.bytes / BYTES_PER_STEP)).map_err(too_large)
    }

    fn text(&mut self) -> Result<String, String> {
        let text = self.scanner.string()?;
        self.budget.take_bytes(text.len()).map_err(too_large)?;
        Ok(text)
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

    fn object(&mut self) -> Result<Value, String> {
        let mut members = Map::new();
        let mut next = self.scanner.next_token()?;
        if next == b'}' {
            return Ok(Value::Object(members));
        }
        self.charge(OBJECT_BYTES)?;
        loop {
            if next != b'"' {
                return Err(format!("invalid character {} looking for beginning of object key string", printed(next)));
            }
            self.charge(MEMBER_BYTES)?;
            let name = self.text()?;
            self.scanner.expect(b':', "after object key")?;
            let is_duplicate = members.contains_key(&name);
            self.path.enter(Segment::Member(name));
            if is_duplicate {
                self.duplicates.add(&self.path);
            }
            let value = self.value()?;
            if let Some(Segment::Member(name)) = self.path.leave() {
                members.insert(name, value);
            }
            match self.scanner.next_token()? {
                b',' => next = self.scanner.next_token()?,
                b'}' => return Ok(Value::Object(members)),
                other => return Err(format!("invalid character {} after object key:value pair", printed(other))),
            }
        }
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        if self.scanner.skips(b']')? {
            return Ok(Value::Array(items));
        }
        loop {
            self.path.enter(Segment::Item(items.len()));
            items.push(self.value()?);
            self.path.leave();
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

/// The fields that a text has twice, as far as they are named.
#[derive(Default)]
struct Duplicates {
    paths: Vec<String>,
    bytes: usize,
}

impl Duplicates {
    fn add(&mut self, path: &Path) {
        if self.paths.len() < MAX_DUPLICATES && self.bytes + path.bytes <= MAX_DUPLICATES_BYTES {
            self.bytes += path.bytes;
            self.paths.push(path.to_string());
        }
    }
}

fn too_large(exceeded: Exceeded) -> String {
    format!("the object is too large: {exceeded}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json(text: &[u8]) -> Result<Parsed, String> {
        super::json(text, &Budget::default())
    }

    #[test]
    fn members_that_are_there_twice_under_a_long_name_are_named_within_a_bound() {
        let text = format!(r#"{{"{}": {{{}"a": 1}}}}"#, "k".repeat(100_000), r#""a":1,"#.repeat(1_000));
        let parsed = json(text.as_bytes()).expect("it must parse");
        assert!(parsed.duplicates.is_empty(), "{}", parsed.duplicates.len());
        let text = format!(r#"{{{}"a": 1}}"#, r#""a":1,"#.repeat(1 << 17));
        assert_eq!(json(text.as_bytes()).expect("it must parse").duplicates, vec!["a"; MAX_DUPLICATES]);
    }

    #[test]
    fn a_long_name_over_a_long_list_is_refused_early() {
        let text = format!(r#"{{"{}": [{}1]}}"#, "k".repeat(1 << 20), "1,".repeat(1 << 20));
        let refused = super::json(text.as_bytes(), &Budget::small()).map(|parsed| parsed.value);
        assert_eq!(refused, Err("the object is too large: it would take too many steps".to_owned()));
    }

    #[test]
    fn a_body_of_tiny_objects_is_refused_before_it_takes_up_memory() {
        let text = format!("[{}1]", r#"{"":0},"#.repeat(30_000));
        let refused = super::json(text.as_bytes(), &Budget::small()).map(|parsed| parsed.value);
        assert_eq!(refused, Err("the object is too large: it would take up too much memory".to_owned()));
    }

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
