use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bootstrap::KubeadmConfig;
use crate::cluster::MachineDeployment;

const DEPLOYMENT: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: md
  labels:
    x.io/y: a
spec:
  clusterName: c
  selector: {}
  template:
    spec:
      clusterName: c
      bootstrap: {dataSecretName: s}
      infrastructureRef: {apiGroup: x.io, kind: SimMachineTemplate, name: t}
      taints:
      - key: a
        effect: NoSchedule
        propagation: Always
";

fn check_yaml(from: &str, to: &str, expected: &str) {
    assert!(DEPLOYMENT.contains(from), "{from:?} must be in the example");
    let error = from_yaml::<MachineDeployment>(&DEPLOYMENT.replacen(from, to, 1)).expect_err("must be refused");
    assert_eq!(error.to_string(), format!("cannot decode MachineDeployment: {expected}"));
}

#[test]
fn all_formats_give_the_same() {
    let from_yaml: MachineDeployment = from_yaml(DEPLOYMENT).expect("example must decode");
    assert_eq!(from_yaml.metadata.name.as_deref(), Some("md"));
    let value = serde_json::to_value(&from_yaml).expect("must encode");
    assert_eq!(from_json(value.to_string().as_bytes()), Ok(from_yaml.clone()));
    assert_eq!(super::from_yaml(&value.to_string()), Ok(from_yaml.clone()));
    assert_eq!(from_value(value), Ok(from_yaml));
}

#[test]
fn yaml_errors_name_field_and_place() {
    check_yaml(
        "effect: NoSchedule",
        "effect: Nope",
        "spec.template.spec.taints[0].effect: unknown variant `Nope`, expected one of NoSchedule, PreferNoSchedule, \
         NoExecute (line 17, column 9)",
    );
    check_yaml(
        "y: a",
        "y: 1.30",
        "metadata.labels[x.io/y]: \"1.30\" must be quoted to be a string (line 6, column 13)",
    );
    check_yaml("name: md", "name: on", "metadata.name: \"on\" must be quoted to be a string (line 4, column 9)");
    check_yaml("  selector", "  clusterName: d\n  selector", "spec: duplicate key \"clusterName\" (line 9, column 3)");
    check_yaml(
        "kind: MachineDeployment",
        "kind: Machine",
        "expected kind MachineDeployment of cluster.x-k8s.io/v1beta2, found kind Machine of cluster.x-k8s.io/v1beta2",
    );
}

#[test]
fn json_errors_name_field_and_place() {
    let cases = [
        (
            r#"{"spec": {"clusterName": 5}}"#,
            "spec.clusterName: invalid type: integer `5`, expected a string (line 1, column 26)",
        ),
        (
            r#"{"metadata": {"labels": {"a.b/c": 5}}}"#,
            "metadata.labels[a.b/c]: invalid type: integer `5`, expected a string (line 1, column 35)",
        ),
        ("{\n\"spec\"", "EOF while parsing an object (line 2, column 6)"),
        ("", "EOF while parsing a value (line 1, column 0)"),
    ];
    for (given, expected) in cases {
        let error = from_json::<MachineDeployment>(given.as_bytes()).expect_err("must be refused");
        assert_eq!(error.to_string(), format!("cannot decode MachineDeployment: {expected}"), "{given}");
    }
    let error = from_value::<MachineDeployment>(json!({ "spec": { "clusterName": 5 } })).expect_err("must be refused");
    let expected = "cannot decode MachineDeployment: spec.clusterName: invalid type: integer `5`, expected a string";
    assert_eq!(error.to_string(), expected);
    assert!(from_json::<Value>(b"{} x").is_err(), "nothing may follow the document");
    assert!(from_json::<Value>(b"\"\xff\"").is_err(), "text must be UTF-8");
}

/// Demands that the same is refused as a value, as JSON and as YAML, at this field.
fn check_refused<T: DeserializeOwned>(given: &Value, field: &str, expected: &str) {
    let [value, json, yaml] =
        [from_value::<T>(given.clone()), from_json(given.to_string().as_bytes()), from_yaml(&given.to_string())]
            .map(|result| problem(result).expect("must be refused"));
    for found in [&value, &json, &yaml] {
        assert!(matches!(found, DecodeProblem::Invalid { path, .. } if path == field), "{given}: {found:?}");
    }
    assert_eq!(value.to_string(), expected);
}

#[test]
fn a_struct_is_read_from_an_object_only() {
    let refused = |given: Value, field: &str, expected: &str| {
        check_refused::<MachineDeployment>(&given, field, expected);
    };
    refused(json!([]), "", "invalid type: sequence, expected struct Object");
    refused(json!({ "spec": [] }), "spec", "spec: invalid type: sequence, expected struct MachineDeploymentSpec");
    refused(
        json!({ "spec": { "rollout": { "strategy": [] } } }),
        "spec.rollout.strategy",
        "spec.rollout.strategy: invalid type: sequence, expected struct MachineDeploymentRolloutStrategy",
    );
    refused(
        json!({ "spec": { "template": { "spec": { "taints": [["a", "b", "NoSchedule", "Always"]] } } } }),
        "spec.template.spec.taints[0]",
        "spec.template.spec.taints[0]: invalid type: sequence, expected struct MachineTaint",
    );
}

#[test]
fn a_word_is_read_from_a_string_only() {
    for word in [json!({ "Always": null }), json!({ "Always": {} })] {
        check_refused::<MachineDeployment>(
            &json!({ "spec": { "template": { "spec": { "taints": [{ "propagation": word }] } } } }),
            "spec.template.spec.taints[0].propagation",
            "spec.template.spec.taints[0].propagation: invalid type: map, expected enum TaintPropagation",
        );
    }
}

#[test]
fn what_is_not_a_struct_is_read_as_ever() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct All {
        free: Value,
        newtype: Wrapped,
        pair: (u64, f64),
        list: Vec<Option<Wrapped>>,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Wrapped(i64);

    let free = json!([[], {}, [{ "a": [u64::MAX, i64::MIN, 1.5, null] }], "text", true]);
    let given =
        json!({ "free": free, "newtype": -3, "pair": [u64::MAX, 0.5], "list": [1, null], "x": [free], "y": {} });
    let expected = All {
        free: free.clone(),
        newtype: Wrapped(-3),
        pair: (u64::MAX, 0.5),
        list: vec![Some(Wrapped(1)), None],
        rest: [("x".to_owned(), json!([free])), ("y".to_owned(), json!({}))].into(),
    };
    assert_eq!(from_json::<All>(given.to_string().as_bytes()).as_ref(), Ok(&expected));
    assert_eq!(from_yaml::<All>(&given.to_string()).as_ref(), Ok(&expected));
    assert_eq!(from_value_ref::<All>(&given).as_ref(), Ok(&expected));
    assert_eq!(from_value::<All>(given), Ok(expected));
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    let text = "octal: 0644\nbool: yes\nnone: ~\ndate: 2026-01-01\nhex: 0x1f\nquoted: '1'\nbase: &b {x: 1}\nmerged: {<<: *b, z: *b}\n";
    let expected = json!({
        "octal": 420, "bool": true, "none": null, "date": "2026-01-01", "hex": 31, "quoted": "1",
        "base": { "x": 1 }, "merged": { "x": 1, "z": { "x": 1 } },
    });
    assert_eq!(from_yaml::<Value>(text), Ok(expected));
    for refused in ["a: .nan", "a: 1\na: 2", "a: *b", "a: [", "a: 1\n---\nb: 2", "\u{7}"] {
        assert!(from_yaml::<Value>(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn nothing_is_not_an_object() {
    for nothing in ["", "null", "~", "# a comment", "---", "--- # a comment\n"] {
        let error = from_yaml::<KubeadmConfig>(nothing).expect_err("must be refused");
        assert_eq!(error.to_string(), "cannot decode KubeadmConfig: the document is empty", "{nothing:?}");
    }
    assert!(from_json::<KubeadmConfig>(b"null").is_err());
    assert!(from_value::<KubeadmConfig>(Value::Null).is_err());
    assert_eq!(from_yaml("{}"), Ok(KubeadmConfig::default()));
}

fn problem<T>(result: Result<T, DecodeError>) -> Option<DecodeProblem> {
    result.err().map(|error| error.problem)
}

#[test]
fn large_input_is_refused_before_it_is_read() {
    let too_large = Some(DecodeProblem::TooLarge { bytes: MAX_BYTES + 1 });
    let blanks = " ".repeat(MAX_BYTES + 1);
    assert_eq!(problem(from_json::<Value>(blanks.as_bytes())), too_large);
    assert_eq!(problem(from_yaml::<Value>(&blanks)), too_large);
    let largest = format!("\"{}\"", "a".repeat(MAX_BYTES - 2));
    assert!(from_json::<Value>(largest.as_bytes()).is_ok());
    assert!(from_yaml::<Value>(&largest).is_ok());
}

/// Lists and objects in turn, `depth` deep.
fn nested(depth: usize) -> String {
    format!("{}1{}", r#"[{"a":"#.repeat(depth / 2), "}]".repeat(depth / 2))
}

#[test]
fn deep_input_is_refused_and_the_deepest_accepted_fits_the_stack() {
    let deepest = nested(MAX_DEPTH);
    let value: Value = from_json(deepest.as_bytes()).expect("must be accepted");
    assert_eq!(from_yaml(&deepest), Ok(value.clone()));
    assert_eq!(from_value(value.clone()), Ok(value.clone()));

    let too_deep = nested(MAX_DEPTH + 2);
    assert_eq!(problem(from_json::<Value>(too_deep.as_bytes())), Some(DecodeProblem::TooDeep));
    assert_eq!(problem(from_yaml::<Value>(&too_deep)), Some(DecodeProblem::TooDeep));
    assert_eq!(problem(from_value::<Value>(json!([value]))), Some(DecodeProblem::TooDeep));
}

#[test]
fn endless_nesting_is_refused_in_every_style() {
    for opening in ["[", "{a: ", "- ", "? ", "[[{\"a\":"] {
        let text = opening.repeat(100_000);
        assert_eq!(problem(from_yaml::<Value>(&text)), Some(DecodeProblem::TooDeep), "{opening:?}");
    }
    assert_eq!(problem(from_json::<Value>(&b"[".repeat(MAX_BYTES))), Some(DecodeProblem::TooDeep));
    let endless = (0..1_000_000).fold(Value::Null, |value, _| Value::Array(vec![value]));
    assert_eq!(problem(from_value::<Value>(endless)), Some(DecodeProblem::TooDeep));
}

#[test]
fn brackets_in_strings_do_not_nest() {
    let text = format!(r#"["{}\"{}"]"#, "[".repeat(500), "{".repeat(500));
    assert!(from_json::<Value>(text.as_bytes()).is_ok());
}

#[test]
fn aliases_cannot_multiply_a_document() {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        laughs.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let Some(DecodeProblem::Invalid { message, .. }) = problem(from_yaml::<Value>(&laughs)) else {
        panic!("must be refused");
    };
    assert!(message.starts_with("alias replay limit exceeded"), "{message}");

    let many = format!("a: &a 1\nb: [{}]\n", vec!["*a"; 2000].join(","));
    assert!(from_yaml::<Value>(&many).is_err());
}

#[test]
fn documents_are_split_and_counted() {
    let cases = [
        ("", vec![]),
        ("# nothing\n---\n\n--- # still nothing\n", vec![]),
        ("a: 1", vec![json!({ "a": 1 })]),
        ("---\na: 1\n---\n---\r\nb: 2\r\n--- 3\n", vec![json!({ "a": 1 }), json!({ "b": 2 }), json!(3)]),
        ("a: |\n  ---\n  x\n", vec![json!({ "a": "---\nx\n" })]),
        ("a: ---x\n", vec![json!({ "a": "---x" })]),
    ];
    for (given, expected) in cases {
        assert_eq!(from_yaml_documents(given), Ok(expected), "{given:?}");
    }
}

#[test]
fn errors_name_the_document_and_the_line_in_the_whole() {
    let stream = format!("# first\n{DEPLOYMENT}---\n{}", DEPLOYMENT.replace("effect: NoSchedule", "effect: []"));
    let error = from_yaml_documents::<MachineDeployment>(&stream).expect_err("must be refused");
    assert_eq!(error.document, Some(1));
    let text = error.to_string();
    assert!(
        text.starts_with("cannot decode MachineDeployment in document 2: spec.template.spec.taints[0].effect: "),
        "{text}"
    );
    assert!(text.contains("(line 37, "), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_input_makes_decoding_panic(text in "([a-z0-9\"'&*!|>%@`{}\\[\\],:#?~. \n-]|---\n|<<|\u{e4}){0,60}") {
        let _ = from_yaml::<Value>(&text);
        let _ = from_yaml_documents::<MachineDeployment>(&text);
        let _ = from_json::<MachineDeployment>(text.as_bytes());
    }

    #[test]
    fn documents_survive_being_joined(values in prop::collection::vec(0..1000_i64, 0..10)) {
        let stream: String = values.iter().map(|value| format!("---\nvalue: {value}\n")).collect();
        let expected: Vec<Value> = values.iter().map(|value| json!({ "value": value })).collect();
        prop_assert_eq!(from_yaml_documents::<Value>(&stream), Ok(expected));
    }
}
