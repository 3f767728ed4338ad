//! Whatever comes in, something bounded comes out. The gate looks at a few of each; `REFIT_FUZZ_CASES` says how many
//! otherwise.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::body::{self, Encoding};
use crate::budget::{Budget, MAX_DEPTH, weigh};
use crate::read::selector::Selector;
use crate::request::Query;
use crate::resource::built_in;
use crate::schema::{Definitions, Rules, parse, prune, set_defaults, validate, validate_lists};
use crate::table::first_by_path;
use crate::write::patch::{PatchType, merged};

const CASES: u32 = 32;

fn run<S: Strategy>(strategy: S, check: impl Fn(S::Value)) {
    let cases = std::env::var("REFIT_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    // The gate always looks at the same ones; longer runs at others each time.
    let mut seed = [7; 32];
    if cases != CASES {
        seed[..8].copy_from_slice(&jiff::Timestamp::now().as_microsecond().to_le_bytes());
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let outcome = TestRunner::new_with_rng(config, rng).run(&strategy, |input| {
        check(input);
        Ok(())
    });
    outcome.expect("every input must be taken");
}

/// Texts that are put together from these parts.
fn soup(parts: &'static [&'static str], length: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec((proptest::sample::select(parts), 1..40_usize), 0..length).prop_map(|parts| {
        parts.into_iter().map(|(part, times)| if times < 38 { part.to_owned() } else { part.repeat(times) }).collect()
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300_f64).prop_map(Value::from),
        "[a-c]{0,6}|\\PC{0,6}".prop_map(Value::from),
        Just(json!("2026-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]|\\PC{0,3}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn bodies() {
    let parts: &[&str] = &[
        "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "1", "-", "1e999", "null", "\\u12", " ", "\n", "&a ", "*a", "- ",
        "a: ", "? ", "|", "<<: ",
    ];
    run((soup(parts, 60), any::<Vec<u8>>()), |(text, bytes)| {
        for encoding in [Encoding::Json, Encoding::Yaml, Encoding::Protobuf] {
            let budget = Budget::small();
            if let Ok(parsed) = body::parse(encoding, text.as_bytes(), &budget) {
                assert!(
                    weigh(&parsed.value, &Budget::default()).expect("it must be within the bounds").depth
                        <= MAX_DEPTH + 4
                );
            }
            let _ = body::parse(encoding, &bytes, &Budget::small());
            let _ = body::parse(encoding, &[b"k8s\0", bytes.as_slice()].concat(), &Budget::small());
        }
    });
}

#[test]
fn patches() {
    let pointer = || soup(&["/a", "/b", "/0", "/-", "/-1", "/~1", "/c/c"], 4);
    let operation = (
        proptest::sample::select(&["add", "remove", "replace", "move", "copy", "test", "odd"][..]),
        pointer(),
        pointer(),
        any_json(),
    );
    let operation =
        operation.prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}));
    let directives = json!({"$patch": "replace", "$retainKeys": ["a"], "$setElementOrder/containers": [{"name": "a"}], "$deleteFromPrimitiveList/finalizers": ["a"]});
    let pod = &built_in::all().iter().find(|resource| resource.plural == "pods").expect("there must be pods").schema;
    run((proptest::collection::vec(operation, 0..12), any_json(), any_json()), |(operations, patch, live)| {
        let containers =
            json!({"spec": {"containers": patch}, "metadata": {"finalizers": patch}, "$retainKeys": patch});
        for (kind, patch) in [
            (PatchType::Json, &json!(operations)),
            (PatchType::Merge, &patch),
            (PatchType::Strategic, &patch),
            (PatchType::Strategic, &containers),
            (PatchType::Strategic, &directives),
        ] {
            for live in [&live, &json!({"spec": {"containers": live}, "metadata": {"finalizers": live}})] {
                if let Ok(object) = merged(pod, kind, patch, live, &Budget::small()) {
                    weigh(&object, &Budget::default()).expect("it must be within the bounds");
                }
            }
        }
    });
}

#[test]
fn rules() {
    let parts: &[&str] = &[
        "self",
        ".a",
        ".b",
        "[0]",
        "['a']",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "'a'",
        "r'\\'",
        "1",
        "-1",
        "1.5",
        "1u",
        "true",
        "null",
        "+",
        "-",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        "<=",
        " in ",
        "&&",
        "||",
        "!",
        "?",
        ":",
        ",",
        ".all(x, x)",
        ".map(x, ",
        ".filter(x, ",
        ".exists(x, ",
        ".size()",
        ".matches('a*')",
        ".join()",
        ".replace('', 'aa')",
        "string(",
        "int(",
        "quantity(",
        "has(self.a)",
        "lists.range(9)",
        ".format([1])",
        "timestamp(",
        "duration('1h')",
        ".split('')",
        "x",
        "//",
        "\n",
        "oldSelf",
    ];
    run((soup(parts, 25), any_json()), |(text, value)| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": text, "messageExpression": text}]});
        let schema = parse(&schema, &Definitions::new());
        let budget = Budget::small();
        let (rules, _) = Rules::compile(&schema, &budget);
        rules.validate(&schema, &json!({"a": value, "b": [value]}), Some(&json!({"a": 1})), &budget);
    });
}

#[test]
fn schemas() {
    let word = proptest::sample::select(
        &[
            "type",
            "properties",
            "items",
            "additionalProperties",
            "default",
            "enum",
            "pattern",
            "required",
            "anyOf",
            "oneOf",
            "allOf",
            "not",
            "format",
            "nullable",
            "maxLength",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "uniqueItems",
            "x-kubernetes-int-or-string",
            "a",
        ][..],
    );
    let leaf = prop_oneof![
        Just(json!("object")),
        Just(json!("array")),
        Just(json!("string")),
        Just(json!("map")),
        Just(json!("set")),
        Just(json!("date-time")),
        Just(json!(true)),
        Just(json!(3)),
        any_json()
    ];
    let schema = leaf.prop_recursive(6, 60, 5, move |inner| {
        let members = proptest::collection::btree_map(word.clone(), inner.clone(), 0..5);
        prop_oneof![
            members.prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
            proptest::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    });
    run((schema, any_json(), any_json()), |(json, mut value, old)| {
        let definition = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": json}}]}});
        crate::definition::validate(&definition, None, &Budget::small());
        let schema = parse(&json, &Definitions::new());
        prune(&schema, &mut value);
        let budget = Budget::small();
        set_defaults(&schema, &mut value, &budget);
        validate(&schema, &value, Some(&old), "", &budget);
        validate_lists(&schema, &value, &budget);
    });
}

#[test]
fn columns_and_selectors() {
    let parts: &[&str] = &[
        "..",
        "*",
        ".",
        "a",
        "b",
        "[",
        "]",
        "[*]",
        "[0]",
        "[-1:]",
        "[?(@.a==1)]",
        "?(",
        "@",
        "'",
        "\"",
        "{",
        "}",
        "$",
        "\\",
        "==",
        ",",
    ];
    let selector = soup(
        &["a", "=", "==", "!=", "in", "notin", "(", ")", ",", "!", " ", "x.io/a", "metadata.name", "\\", "<", "1"],
        12,
    );
    let pods = built_in::all().iter().find(|resource| resource.plural == "pods").expect("there must be pods");
    run((soup(parts, 30), any_json(), selector), |(path, object, selector)| {
        first_by_path(&path, &object, &Budget::small());
        for name in ["labelSelector", "fieldSelector"] {
            let _ = Selector::parse(&Query::parse(&format!("{name}={selector}")), pods);
        }
    });
}
