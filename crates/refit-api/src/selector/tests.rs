use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    LabelSelectorRequirement { key: key.to_owned(), operator: operator.to_owned(), values: Some(values) }
}

fn field(match_labels: &[(&str, &str)], expressions: &[LabelSelectorRequirement]) -> LabelSelector {
    LabelSelector { match_labels: Some(labels(match_labels)), match_expressions: Some(expressions.to_vec()) }
}

fn parsed(text: &str) -> Selector {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn absent_selects_nothing_and_empty_everything() {
    let nothing = Selector::from_field(None).expect("absent must be accepted");
    assert!(!nothing.matches(&labels(&[("a", "b")])) && !nothing.is_everything());
    for empty in [LabelSelector::default(), field(&[], &[])] {
        let everything = Selector::from_field(Some(&empty)).expect("empty must be accepted");
        assert!(everything.matches(&BTreeMap::new()) && everything.is_everything());
    }
}

#[test]
fn requirements_match_as_in_kubernetes() {
    let cases = [
        ("a=1", true),
        ("a==1", true),
        ("a=2", false),
        ("z=", false),
        ("e=", true),
        ("a!=1", false),
        ("z!=1", true),
        ("a in (1,2)", true),
        ("a in (2)", false),
        ("z in ()", false),
        ("a notin (2)", true),
        ("a notin (1,2)", false),
        ("z notin (1)", true),
        ("a", true),
        ("z", false),
        ("!z", true),
        ("!a", false),
        ("a>0", true),
        ("a>1", false),
        ("a<2", true),
        ("w<2", false),
        ("z>0", false),
        ("a,e,!z,w in (in)", true),
        ("a,z", false),
        ("", true),
        (" \t", true),
    ];
    let labels = labels(&[("a", "1"), ("e", ""), ("w", "in")]);
    for (selector, expected) in cases {
        assert_eq!(parsed(selector).matches(&labels), expected, "{selector:?}");
    }
}

#[test]
fn fields_are_written_in_the_order_of_keys() {
    let field = field(
        &[("b", "1"), ("d", "")],
        &[
            expression("c", "NotIn", &["y", "x"]),
            expression("a", "In", &["1"]),
            expression("b", "Exists", &[]),
            expression("x.io/e", "DoesNotExist", &[]),
        ],
    );
    let selector = Selector::from_field(Some(&field)).expect("selector must be accepted");
    assert_eq!(selector.to_string(), "a in (1),b=1,b,c notin (x,y),d=,!x.io/e");
    assert_eq!(parsed(&selector.to_string()).to_string(), selector.to_string());
}

#[test]
fn parsing_normalises() {
    let cases = [
        (" b == 2 , a in ( y,x , x ) ", "a in (x,y),b=2"),
        ("a in ()", "a in ()"),
        ("a in (,x)", "a in (,x)"),
        ("a in (x,,y)", "a in (,x,y)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("! a", "!a"),
        ("a!=", "a!="),
        ("a=notin,b", "a=notin,b"),
        ("a>01", "a>1"),
    ];
    for (text, expected) in cases {
        assert_eq!(parsed(text).to_string(), expected, "{text:?}");
    }
}

#[test]
fn wrong_fields_are_refused() {
    let long = "v".repeat(64);
    let cases = [
        (expression("a", "in", &["x"]), r#"operator "in" for label "a" is none of In, NotIn, Exists and DoesNotExist"#),
        (expression("a", "In", &[]), r#"operator In for label "a" needs at least one value"#),
        (expression("a", "NotIn", &[]), r#"operator NotIn for label "a" needs at least one value"#),
        (expression("a", "Exists", &["x"]), r#"operator Exists for label "a" takes no values"#),
        (expression("a", "DoesNotExist", &["x"]), r#"operator DoesNotExist for label "a" takes no values"#),
        (expression("a b", "Exists", &[]), r#"label key "a b" must be"#),
        (expression("a", "In", &["x", &long]), r#"value "vvvv"#),
    ];
    for (expression, expected) in cases {
        let error = Selector::from_field(Some(&field(&[], std::slice::from_ref(&expression))))
            .expect_err("selector must be refused");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    assert!(Selector::from_field(Some(&field(&[("a", "-")], &[]))).is_err());
    assert!(Selector::from_labels(&labels(&[("", "x")])).is_err());
}

#[test]
fn wrong_text_is_refused_with_its_place() {
    let cases = [
        (",", 1, "\",\""),
        ("a,", 3, "the end"),
        ("a b", 3, "\"b\""),
        ("!a=b", 3, "\"=\""),
        ("a=b c", 5, "\"c\""),
        ("a in x", 6, "\"x\""),
        ("a in (x", 8, "the end"),
        ("a in (x y)", 9, "\"y\""),
        ("a=(x)", 3, "\"(\""),
        ("a>x", 3, "\"x\""),
        ("a!b", 2, "\"!\""),
        ("=", 1, "\"=\""),
    ];
    for (text, column, found) in cases {
        match text.parse::<Selector>() {
            Err(SelectorError::Syntax { found: f, column: c, .. }) => {
                assert_eq!((c, f.as_str()), (column, found), "{text:?}");
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }
    assert!(matches!("ä=b".parse::<Selector>(), Err(SelectorError::Key { .. })));
    assert!(matches!("a=ä".parse::<Selector>(), Err(SelectorError::Value { .. })));
}

#[test]
fn only_single_values_become_a_map() {
    let one = field(&[("a", "1"), ("b", "2")], &[expression("b", "In", &["3"])]);
    assert_eq!(as_map(&one), Ok(labels(&[("a", "1"), ("b", "3")])));
    assert_eq!(as_map(&LabelSelector::default()), Ok(BTreeMap::new()));
    for (operator, values) in [("In", vec!["x", "y"]), ("In", vec![]), ("NotIn", vec!["x"]), ("Exists", vec![])] {
        let result = as_map(&field(&[], &[expression("a", operator, &values)]));
        assert!(matches!(result, Err(SelectorError::NotASingleValue { .. })), "{operator} {values:?}");
    }
    let unknown = as_map(&field(&[], &[expression("a", "Is", &["x"])]));
    assert!(matches!(unknown, Err(SelectorError::UnknownOperator { .. })));
}

fn any_expression() -> impl Strategy<Value = LabelSelectorRequirement> {
    let values = prop::collection::btree_set("[a-c0-9]{0,2}|in|notin", 1..4).prop_map(|set| set.into_iter().collect());
    let with_values = (r"[a-c]|in|x\.io/y", prop::sample::select(vec!["In", "NotIn"]), values);
    let without = ("[a-c]|notin", prop::sample::select(vec!["Exists", "DoesNotExist"]), Just(Vec::new()));
    prop_oneof![with_values, without].prop_map(|(key, operator, values): (String, &str, Vec<String>)| {
        LabelSelectorRequirement { key, operator: operator.to_owned(), values: Some(values) }
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        match_labels in prop::collection::btree_map("[a-c]|in", "[a-c0-9]{0,2}", 0..4),
        expressions in prop::collection::vec(any_expression(), 0..5),
    ) {
        let field = LabelSelector { match_labels: Some(match_labels), match_expressions: Some(expressions) };
        let selector = Selector::from_field(Some(&field)).expect("generated selectors must be valid");
        prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
    }

    #[test]
    fn labels_are_found_by_the_selector_made_from_them(labels in prop::collection::btree_map("[a-z]{1,3}", "[a-z]{0,3}", 1..5)) {
        prop_assert!(Selector::from_labels(&labels).expect("labels must be valid").matches(&labels));
        let field = LabelSelector { match_labels: Some(labels.clone()), match_expressions: None };
        prop_assert_eq!(as_map(&field), Ok(labels));
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "[ a-cäin=!(),<>\\t]{0,20}") {
        if let Ok(selector) = text.parse::<Selector>() {
            prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
        }
    }
}
