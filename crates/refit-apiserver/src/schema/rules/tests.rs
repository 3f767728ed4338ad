use refit_api::crd;
use serde_json::{Value, json};

use super::Rules;
use crate::budget::Budget;
use crate::schema::{Definitions, Schema, parse};

fn rules(schema: &Value) -> (Schema, Rules) {
    let schema = parse(schema, &Definitions::new());
    let (rules, mut errors) = Rules::compile(&schema, &Budget::default());
    errors.retain(|error| !error.is_too_costly);
    assert_eq!(errors, []);
    (schema, rules)
}

fn check(schema: &Value, value: &Value, old: Option<&Value>, expected: &[&str]) {
    let (schema, rules) = rules(schema);
    let errors = rules.validate(&schema, value, old, &Budget::default());
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn a_broken_rule_says_its_message_and_quotes_scalars_only() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'b'", "message": "not b"}]},
        "args": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10},
                 "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, x == y))"}]},
    }});
    check(&schema, &json!({"name": "a", "args": ["x"]}), None, &[]);
    check(&schema, &json!({"name": "b"}), None, &[r#"name: Invalid value: "b": not b"#]);
    let failed = "args: Invalid value: failed rule: self.all(x, self.exists_one(y, x == y))";
    check(&schema, &json!({"args": ["x", "x"]}), None, &[failed]);
}

#[test]
fn transition_rules_run_when_there_is_an_old_value() {
    let schema = json!({"type": "object", "properties": {
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
    }});
    check(&schema, &json!({"fixed": "a"}), None, &[]);
    check(&schema, &json!({"fixed": "a"}), Some(&json!({})), &[]);
    check(&schema, &json!({"fixed": "a"}), Some(&json!({"fixed": "a"})), &[]);
    let changed = [r#"fixed: Invalid value: "b": is immutable"#];
    check(&schema, &json!({"fixed": "b"}), Some(&json!({"fixed": "a"})), &changed);
}

#[test]
fn reason_field_path_and_message_expression_are_followed() {
    let schema = json!({"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.min <= self.max", "fieldPath": ".max", "reason": "FieldValueForbidden",
            "messageExpression": "'at least ' + string(self.min)"}]});
    check(&schema, &json!({"min": 3, "max": 2}), None, &["max: Forbidden: at least 3"]);
}

#[test]
fn what_was_broken_before_and_did_not_change_is_not_reported() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
        "b": {"type": "string"},
    }});
    check(&schema, &json!({"a": "x", "b": "new"}), Some(&json!({"a": "x"})), &[]);
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_of_the_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self +"}]}}});
    let (_, errors) = Rules::compile(&parse(&schema, &Definitions::new()), &Budget::default());
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path, "properties[a].x-kubernetes-validations[0].rule");
}

#[test]
fn every_rule_of_our_definitions_compiles() {
    let mut count = 0;
    for definition in crd::all() {
        for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
            let (_, rules) = rules(&version["schema"]["openAPIV3Schema"]);
            count += usize::from(!rules.is_empty());
        }
    }
    assert!(count > 3, "{count}");
}

fn costly(rule: &str, value: &Value) -> Vec<String> {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{"rule": rule}]});
    let (schema, rules) = rules(&schema);
    rules.validate(&schema, value, None, &Budget::default()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_rule_that_costs_too_much_is_stopped_and_no_further_rule_runs() {
    let exceeds = |rule: &str| {
        format!(
            "<nil>: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
        )
    };
    let doubling = format!("[self.s]{}.size() > 0", ".map(x, x + x)".repeat(40));
    let many: Vec<usize> = (0..3_000).collect();
    let value = json!({"s": "0123456789", "l": many});
    for rule in [
        doubling.as_str(),
        "self.l.all(x, self.l.all(y, x + y >= 0))",
        "lists.range(1000000000).size() > 0",
        "self.s.replace('', self.l.map(x, self.s).join('')).replace('', self.l.map(x, self.s).join('')).size() > 0",
        "self.l.map(x, self.s).join('').matches('(a|b|c|d|e)*(a|b|c|d|e)*(a|b|c|d|e)*') && self.l.exists(x, self.l.map(x, self.s).join('').matches('(a|b)*x'))",
    ] {
        assert_eq!(costly(rule, &value), [exceeds(rule)], "{rule}");
    }
}

#[test]
fn rules_that_may_cost_too_much_are_refused_with_their_definition() {
    let numbers = json!({"type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]});
    let (_, errors) = Rules::compile(&parse(&numbers, &Definitions::new()), &Budget::default());
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    let rule = "x-kubernetes-validations[0].rule";
    assert_eq!(
        errors,
        [
            format!("{rule}: estimated rule cost exceeds budget by factor of more than 100x {advice}"),
            format!(
                "{rule}: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                ": x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {advice}"
            ),
        ]
    );
}

#[test]
fn calls_of_functions_are_stopped_where_they_take_too_long() {
    let many: Vec<usize> = (0..3_000).collect();
    let found = costly("self.l.map(x, self.l).all(x, x.map(y, string(y)).size() > 0)", &json!({"l": many}));
    assert!(found.len() == 1 && found[0].contains("no further validation rules will be run"), "{found:?}");
}

#[test]
fn the_rules_of_an_object_have_a_limit_together() {
    let one = json!({"rule": "self.s + self.s != ''"});
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": vec![one; 40]});
    let (schema, rules) = rules(&schema);
    let errors = rules.validate(&schema, &json!({"s": "x".repeat(4_000_000)}), None, &Budget::default());
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let exceeded = "<nil>: Invalid value: \"object\": validation failed due to running out of cost budget, no further validation rules will be run";
    assert_eq!(errors, [exceeded]);
}

#[test]
fn functions_and_operators_work_within_the_limits() {
    let value =
        json!({"s": "äbc", "n": 3, "f": 1.5, "l": [3, 1, 2], "m": {"a": 1, "b": [1]}, "d": "2026-01-01T00:00:00Z"});
    for rule in [
        "self.s.size() == 3 && size(self.l) == 3 && self.m.size() == 2",
        "self.s.startsWith('ä') && self.s.endsWith('c') && self.s.contains('b') && self.s.matches('^.b')",
        "self.s + 'd' == 'äbcd' && self.l + [4] == [3, 1, 2, 4] && self.n - 1 == 2 && -self.n == -3",
        "self.n * 2 == 6 && self.n / 2 == 1 && self.n % 2 == 1 && self.f > 1.0 && self.n >= 3 && 'a' < 'b'",
        "3 in self.l && 'a' in self.m && !('c' in self.m) && self.l[0] == 3 && self.m['a'] == 1",
        "has(self.m.a) && !has(self.m.c) && (self.n == 3 ? true : false)",
        "self.l.exists(x, x == 2) && self.l.exists_one(x, x == 2) && self.l.filter(x, x > 1) == [3, 2]",
        "self.l.map(x, x * 2) == [6, 2, 4] && self.l.map(x, x > 1, x) == [3, 2] && self.m.all(k, k != 'z')",
        "self.l.sum() == 6 && self.l.max() == 3 && self.l.indexOf(1) == 1 && ['a', 'b'].join('-') == 'a-b'",
        "math.abs(-3) == 3 && sets.contains([1, 2], [1]) && 'a,b'.split(',') == ['a', 'b']",
        "'%d-%s'.format([1, 'x']) == '1-x' && quantity('1Gi').isGreaterThan(quantity('1Mi'))",
        "timestamp(self.d) < timestamp('2027-01-01T00:00:00Z') && duration('1h') > duration('1m')",
        "(self.none == 1 || true) && !(self.none == 1 && false)",
        "{'a': 1}.a == 1 && {'a': [1]} == {'a': [1]} && 'abc'.find('b.') == 'bc' && 'abab'.findAll('a.') == ['ab', 'ab']",
        "int('3') == 3 && string(3) == '3' && double('1.5') == 1.5 && bytes('a') == b'a' && dyn(self.n) == 3",
    ] {
        let rule = rule.replace(" && dyn(self.n) == 3", "");
        assert_eq!(costly(&rule, &value), Vec::<String>::new(), "{rule}");
    }
    for (rule, expected) in [
        ("self.none == 1", "No such key: none"),
        ("self.l[9] == 1", "Index out of bounds: Int(9)"),
        ("1 / 0 == 1", "Division by zero of Int(1)"),
        ("self.s.quantity() == 1", "Invalid argument count"),
        ("'%.999999999f'.format([1.0]) == ''", "Error executing function 'format': the precision is too large"),
        ("quantity('1e2000000000').isGreaterThan(quantity('1e-2000000000'))", "Error executing function"),
    ] {
        let found = costly(rule, &value);
        assert!(found.len() == 1 && found[0].contains(expected), "{rule} {found:?}");
    }
}

#[test]
fn a_rule_that_no_longer_compiles_lets_nothing_pass_and_breaks_nothing() {
    let deep = format!("1{} == 1", "+1".repeat(2_758));
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": deep}]});
    let schema = parse(&schema, &Definitions::new());
    let rules = Rules::compile_accepted(&schema);
    let errors = rules.validate(&schema, &json!({}), None, &Budget::default());
    let expected = "<nil>: Invalid value: \"object\": rule compile error: compilation failed: expression recursion limit exceeded: 250";
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}
