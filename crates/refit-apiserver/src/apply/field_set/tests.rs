//! The laws of sets, on random ones, and what is special to sets of paths.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::apply::fields_v1;
use crate::apply::path::Scalar;

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        prop::sample::select(vec!["a", "b", "c"]).prop_map(PathElement::field),
        (0..2_i64).prop_map(|port| PathElement::Key([("port".to_owned(), Scalar(json!(port)))].into())),
        prop::sample::select(vec![json!("a"), json!(1), json!(1.5), json!(true)])
            .prop_map(|value| PathElement::Item(Scalar(value))),
        (0..2_i64).prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = FieldSet> {
    vec(vec(element(), 1..4), 0..12).prop_map(|paths| {
        let mut set = FieldSet::default();
        paths.iter().for_each(|path| set.insert(path));
        set
    })
}

/// The paths of a set, as text, by nothing but `for_each`.
fn paths(set: &FieldSet) -> Vec<String> {
    let mut paths = Vec::new();
    set.for_each(&mut |path| paths.push(format!("{path:?}")));
    paths.sort();
    paths
}

proptest! {
    #[test]
    fn operations_do_to_paths_what_they_do_to_sets_of_text(left in set(), right in set()) {
        let (l, r) = (paths(&left), paths(&right));
        let mut both: Vec<String> = l.iter().chain(&r).cloned().collect();
        both.sort();
        both.dedup();
        prop_assert_eq!(paths(&left.union(&right)), both);
        let common: Vec<String> = l.iter().filter(|path| r.contains(path)).cloned().collect();
        prop_assert_eq!(paths(&left.intersection(&right)), common);
        let rest: Vec<String> = l.iter().filter(|path| !r.contains(path)).cloned().collect();
        prop_assert_eq!(paths(&left.difference(&right)), rest.clone());
        prop_assert_eq!(left.is_subset(&right), rest.is_empty());
    }

    #[test]
    fn equal_sets_are_built_equal_in_any_order(left in set(), right in set()) {
        prop_assert_eq!(left.union(&right), right.union(&left));
        prop_assert_eq!(left.intersection(&right), right.intersection(&left));
        prop_assert_eq!(left.difference(&right).union(&left.intersection(&right)), left);
    }

    #[test]
    fn no_path_is_left_below_a_subtree_that_went(left in set(), right in set()) {
        let mut gone = Vec::new();
        right.for_each(&mut |path| gone.push(path.to_vec()));
        let mut expected = Vec::new();
        left.for_each(&mut |path| {
            if !gone.iter().any(|gone| path.starts_with(gone)) {
                expected.push(format!("{path:?}"));
            }
        });
        expected.sort();
        prop_assert_eq!(paths(&left.without_subtrees(&right)), expected);
    }

    #[test]
    fn leaves_have_nothing_below_them(set in set()) {
        let mut all = Vec::new();
        set.for_each(&mut |path| all.push(path.to_vec()));
        let is_leaf = |path: &Vec<&PathElement>| {
            all.iter().filter(|other| other.starts_with(path)).count() == 1
        };
        let mut expected: Vec<String> = all.iter().filter(|path| is_leaf(path)).map(|path| format!("{path:?}")).collect();
        expected.sort();
        prop_assert_eq!(paths(&set.leaves()), expected);
    }

    #[test]
    fn the_json_form_is_read_back(set in set()) {
        prop_assert_eq!(fields_v1::decode(&fields_v1::encode(&set)), Ok(set));
    }
}

#[test]
fn the_whole_object_is_nobodys() {
    let mut set = FieldSet::default();
    set.insert(&[]);
    assert!(set.is_empty());
    assert!(!set.contains(&[]));
}
