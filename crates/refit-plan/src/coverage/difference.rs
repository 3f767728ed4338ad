//! Where two JSON values differ, field by field.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A step of a path into a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

/// A place where two values differ. What is not there is nothing; `null` is something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference<'a> {
    pub path: Vec<Segment<'a>>,
    pub before: Option<&'a Value>,
    pub after: Option<&'a Value>,
}

/// All places where the values differ: fields by name, items by index. None if and only if they are equal.
///
/// A difference is as deep as it can be: two objects differ in their fields, two lists in their items. A list that
/// grew or shrank differs in the items at its end.
pub(super) fn differences<'a>(before: Option<&'a Value>, after: Option<&'a Value>) -> Vec<Difference<'a>> {
    let mut walk = Walk { path: Vec::new(), found: Vec::new() };
    walk.compare(before, after);
    walk.found
}

struct Walk<'a> {
    path: Vec<Segment<'a>>,
    found: Vec<Difference<'a>>,
}

impl<'a> Walk<'a> {
    fn compare(&mut self, before: Option<&'a Value>, after: Option<&'a Value>) {
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => self.compare_objects(before, after),
            (Some(Value::Array(before)), Some(Value::Array(after))) => self.compare_lists(before, after),
            _ if before == after => {}
            _ => self.found.push(Difference { path: self.path.clone(), before, after }),
        }
    }

    fn compare_objects(&mut self, before: &'a Map<String, Value>, after: &'a Map<String, Value>) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            self.beneath(Segment::Key(key), before.get(key), after.get(key));
        }
    }

    fn compare_lists(&mut self, before: &'a [Value], after: &'a [Value]) {
        for index in 0..before.len().max(after.len()) {
            self.beneath(Segment::Index(index), before.get(index), after.get(index));
        }
    }

    fn beneath(&mut self, segment: Segment<'a>, before: Option<&'a Value>, after: Option<&'a Value>) {
        self.path.push(segment);
        self.compare(before, after);
        self.path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Segment::{Index, Key};
    use super::*;

    fn check(before: Value, after: Value, expected: &[&[Segment]]) {
        let found = differences(Some(&before), Some(&after));
        let paths: Vec<&[Segment]> = found.iter().map(|difference| difference.path.as_slice()).collect();
        assert_eq!(paths, expected, "{before} -> {after}");
    }

    #[test]
    fn fields_differ_by_name_in_order() {
        check(
            json!({ "b": 1, "a": 1, "same": {} }),
            json!({ "a": 2, "c": 1, "same": {} }),
            &[&[Key("a")], &[Key("b")], &[Key("c")]],
        );
        check(json!({ "a": { "b": 1, "c": 1 } }), json!({ "a": { "b": 1, "c": 2 } }), &[&[Key("a"), Key("c")]]);
    }

    #[test]
    fn items_differ_by_index_and_length() {
        check(json!([1, 2, 3]), json!([1, 5, 3]), &[&[Index(1)]]);
        check(json!([1]), json!([1, 2, 3]), &[&[Index(1)], &[Index(2)]]);
        check(json!([[1], 2]), json!([[1, 1]]), &[&[Index(0), Index(1)], &[Index(1)]]);
    }

    #[test]
    fn absent_null_and_empty_are_three_things_and_so_are_whole_and_broken_numbers() {
        check(json!({}), json!({ "a": null }), &[&[Key("a")]]);
        check(json!({}), json!({ "a": {} }), &[&[Key("a")]]);
        check(json!({ "a": [] }), json!({ "a": {} }), &[&[Key("a")]]);
        check(json!({ "a": 1 }), json!({ "a": 1.0 }), &[&[Key("a")]]);
        check(json!(1), json!(2), &[&[]]);
    }

    #[test]
    fn both_sides_are_kept() {
        let (before, after) = (json!({ "a": 1 }), json!({ "b": [2] }));
        let found = differences(Some(&before), Some(&after));
        let sides: Vec<_> = found.iter().map(|difference| (difference.before, difference.after)).collect();
        assert_eq!(sides, [(Some(&json!(1)), None), (None, Some(&json!([2])))]);
        assert_eq!(differences(None, Some(&before)).len(), 1);
        assert_eq!(differences(None, None), []);
    }
}
