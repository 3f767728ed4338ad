//! Properties that hold for all input, each with a judge that shares no code with what it judges.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use refit_api::hooks::CanonicalName;
use serde_json::{Map, Value, json};

use super::difference::{Segment, differences};
use super::testing::{claims, compose, machine_objects, name, object, raw_patch};
use super::*;

/// Few names and small numbers, so that two values have something in common.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        Just(json!(1.0)),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![vec(inner.clone(), 0..3).prop_map(Value::from), fields(inner).prop_map(Value::from)]
    })
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-d]", value, 0..3).prop_map(|fields| fields.into_iter().collect())
}

/// Puts what a difference says into a value, from the last item of a list to the first.
fn put(target: &mut Value, path: &[Segment<'_>], after: Option<&Value>) {
    let Some((segment, rest)) = path.split_first() else {
        *target = after.cloned().expect("the whole value must stay something");
        return;
    };
    match (segment, target) {
        (Segment::Key(key), Value::Object(fields)) => match (rest.is_empty(), after) {
            (true, None) => drop(fields.remove(*key)),
            _ => put(fields.entry(*key).or_insert(Value::Null), rest, after),
        },
        (Segment::Index(index), Value::Array(items)) => match (rest.is_empty(), after) {
            (true, None) => items.truncate(*index),
            _ => {
                items.resize((*index + 1).max(items.len()), Value::Null);
                put(&mut items[*index], rest, after);
            }
        },
        (segment, target) => panic!("{segment:?} does not lead into {target}"),
    }
}

/// A permutation of some numbers, by sorting keys that were drawn.
fn shuffled<T: Clone>(items: &[T], keys: &[u64]) -> Vec<T> {
    let mut keyed: Vec<(u64, usize)> = items.iter().enumerate().map(|(at, _)| (keys[at % keys.len()], at)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, at)| items[at].clone()).collect()
}

/// The text of a value with the fields of every object in reverse order.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().rev().map(|(name, field)| format!("{} : {}", json!(name), backwards(field))).collect();
            format!("{{ {} }}", fields.join(" , "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(" , ")),
        scalar => scalar.to_string(),
    }
}

/// A document that is sometimes a patch: operations with paths that often lead somewhere, and rubbish.
fn document() -> impl Strategy<Value = Vec<u8>> {
    let path =
        prop_oneof![Just(String::new()), "(/spec|/metadata|/kind)?(/[a-d]|/-1|/-|/0|/1|/-2|/){0,4}", "[/~a0-]{0,6}",];
    let op = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "other"]);
    let operation = (op, path.clone(), path, value())
        .prop_map(|(op, path, from, value)| json!({ "op": op, "path": path, "from": from, "value": value }));
    prop_oneof![
        4 => vec(operation, 0..6).prop_map(|operations| json!(operations).to_string().into_bytes()),
        2 => fields(value()).prop_map(|patch| json!({ "spec": patch }).to_string().into_bytes()),
        1 => value().prop_map(|value| value.to_string().into_bytes()),
        1 => vec(any::<u8>(), 0..20),
    ]
}

/// What the extensions of a test do: each sets some fields of the infrastructure object.
type Claims = BTreeMap<CanonicalName, Map<String, Value>>;

fn fleet() -> impl Strategy<Value = (Vec<Extension>, Claims)> {
    let field = prop_oneof![Just(json!(1)), Just(json!(2)), Just(Value::Null)];
    let one = ("[a-c]\\.[x-z]", -1..2_i32, btree_map("[a-c]", field, 0..3));
    vec(one, 0..5).prop_map(|drawn| {
        let distinct: BTreeMap<_, _> =
            drawn.into_iter().map(|(text, order, set)| (name(&text), (order, set))).collect();
        let extensions = distinct.iter().map(|(name, (order, _))| Extension { name: name.clone(), order: *order });
        let claims = distinct.iter().map(|(name, (_, set))| (name.clone(), set.clone().into_iter().collect()));
        (extensions.collect(), claims.collect())
    })
}

/// A spec of scalar fields, of the names and values that the extensions of a [`fleet`] set.
fn small_spec() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-c]", prop_oneof![Just(json!(1)), Just(json!(2))], 0..3)
        .prop_map(|fields| fields.into_iter().collect())
}

fn question(current: &Map<String, Value>, desired: &Map<String, Value>) -> Question {
    let objects = |spec: &Map<String, Value>| machine_objects("v1", json!(spec), None);
    Question::about_machine(objects(current), objects(desired)).expect("the question must be fine")
}

fn play(question: Question, extensions: Vec<Extension>, fleet: &Claims) -> Coverage {
    compose(question, extensions, |name, _| claims(json!(null), json!({ "spec": fleet[name] }), json!(null)))
}

proptest! {
    #[test]
    fn applying_the_differences_gives_equality(before in value(), after in value()) {
        let mut found = differences(Some(&before), Some(&after));
        prop_assert_eq!(found.is_empty(), before == after);
        // Items are cut off a list from its end, and put to it from its start.
        found.sort_by_key(|difference| difference.after.is_none());
        let (put_there, mut cut_off): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.after.is_some());
        cut_off.reverse();
        let mut changed = before.clone();
        for difference in put_there.iter().chain(&cut_off) {
            put(&mut changed, &difference.path, difference.after);
        }
        prop_assert_eq!(changed, after);
    }

    #[test]
    fn the_hash_is_of_the_content_and_not_of_the_order_of_fields(a in value(), b in value()) {
        prop_assert_eq!(ContentHash::of(&a) == ContentHash::of(&b), a == b);
        let reread: Value = serde_json::from_str(&backwards(&a)).expect("it must be JSON");
        prop_assert_eq!(ContentHash::of(&reread), ContentHash::of(&a));
    }

    #[test]
    fn no_patch_panics_or_touches_anything_but_the_spec(
        document in document(),
        patch_type in prop::sample::select(vec!["JSONPatch", "JSONMergePatch", "Other"]),
        spec in fields(value()),
    ) {
        let mut start = json!({ "apiVersion": "x.io/v1", "kind": "K", "metadata": { "a": 1 }, "spec": spec });
        let patched = patch::apply(&raw_patch(patch_type, &document), &object(start.clone()), &["spec"]);
        if let Ok(patched) = patched {
            let mut patched = patched.into_value();
            prop_assert!(patched.get("spec").is_some());
            start["spec"].take();
            patched["spec"].take();
            prop_assert_eq!(patched, start);
        }
    }

    #[test]
    fn the_order_of_registration_does_not_matter(
        (extensions, fleet) in fleet(),
        keys in vec(any::<u64>(), 1..6),
        current in small_spec(),
        desired in small_spec(),
    ) {
        let question = question(&current, &desired);
        let other = play(question.clone(), shuffled(&extensions, &keys), &fleet);
        prop_assert_eq!(play(question, extensions, &fleet), other);
    }

    #[test]
    fn a_plan_is_made_if_and_only_if_the_patches_lead_to_desired(
        (extensions, fleet) in fleet(),
        current in small_spec(),
        desired in small_spec(),
    ) {
        let coverage = play(question(&current, &desired), extensions.clone(), &fleet);
        // The judge: maps of scalars, and extensions in the order that the annotation and the name give.
        let mut ordered: Vec<_> = extensions.iter().map(|extension| (extension.order, &extension.name)).collect();
        ordered.sort_unstable();
        let (mut state, mut steps) = (current.clone(), Vec::new());
        for (_, name) in ordered {
            if state == desired { break }
            let before = state.clone();
            for (field, value) in &fleet[name] {
                if value.is_null() { state.remove(field); } else { state.insert(field.clone(), value.clone()); }
            }
            if state != before { steps.push(name.clone()); }
        }
        // A field that nobody asked about is another one in the end.
        let fields: std::collections::BTreeSet<_> = state.keys().chain(desired.keys()).collect();
        let strays = fields.iter().any(|field| {
            current.get(*field) == desired.get(*field) && state.get(*field) != desired.get(*field)
        });
        match &coverage {
            Coverage::Covered { plan, .. } => {
                prop_assert_eq!(&state, &desired);
                let frozen = plan.freeze();
                prop_assert_eq!(frozen.remaining(), steps);
            }
            Coverage::Uncovered { left, .. } => {
                prop_assert_ne!(&state, &desired);
                prop_assert!(!left.is_empty() && !strays);
            }
            Coverage::Undecided { .. } => prop_assert!(strays, "no call failed, and no field too many was changed"),
        }
    }

    #[test]
    fn a_frozen_plan_survives_its_annotation(names in btree_map("[a-z]{1,5}\\.[a-z]{1,5}", any::<u8>(), 0..8)) {
        let steps = names.keys().map(|text| PlannedExtension { name: name(text), claims: Changes::default() });
        let plan = UpdatePlan {
            question: ContentHash::of(&json!(1)), target: ContentHash::of(&json!(2)), steps: steps.collect(),
        };
        let frozen = plan.freeze();
        prop_assert_eq!(FrozenPlan::decode(&frozen.encode()).expect("a plan must decode"), frozen);
    }

    #[test]
    fn no_annotation_panics(text in ".{0,60}") {
        let _ = FrozenPlan::decode(&text);
    }
}
