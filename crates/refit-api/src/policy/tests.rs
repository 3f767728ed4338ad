use super::*;

fn annotations<const N: usize>(entries: [(&str, &str); N]) -> Annotations {
    entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn check_read(key: &str, value: &str, expected: RolloutPolicy) {
    assert_eq!(RolloutPolicy::read(&annotations([(key, value)])), Ok(expected), "{key}: {value}");
}

fn check_refused(key: &str, value: &str) {
    let errors = RolloutPolicy::read(&annotations([(key, value)])).expect_err(value);
    let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, [format!("metadata.annotations[{key}]")], "{value:?}");
}

#[test]
fn no_annotations_ask_for_nothing() {
    assert_eq!(RolloutPolicy::read(&Annotations::new()), Ok(RolloutPolicy::default()));
}

#[test]
fn in_place_is_one_of_three_words() {
    for (text, policy) in
        [("Prefer", InPlacePolicy::Prefer), ("Require", InPlacePolicy::Require), ("Never", InPlacePolicy::Never)]
    {
        check_read(IN_PLACE, text, RolloutPolicy { in_place: Some(policy), ..Default::default() });
    }
    for text in ["", "require", "Required", "Require ", "true"] {
        check_refused(IN_PLACE, text);
    }
}

#[test]
fn the_refusal_names_the_words_that_there_are() {
    let errors = RolloutPolicy::read(&annotations([(IN_PLACE, "Requier")])).expect_err("a typo must be refused");
    assert_eq!(
        errors[0].to_string(),
        r#"metadata.annotations[refit.dev/in-place]: Unsupported value: "Requier": supported values: "Prefer", "Require", "Never""#
    );
}

#[test]
fn keep_originals_is_true_or_false() {
    check_read(KEEP_ORIGINALS, "true", RolloutPolicy { keep_originals: Some(true), ..Default::default() });
    check_read(KEEP_ORIGINALS, "false", RolloutPolicy { keep_originals: Some(false), ..Default::default() });
    for text in ["", "True", "yes", "1"] {
        check_refused(KEEP_ORIGINALS, text);
    }
}

#[test]
fn update_timeout_is_a_duration_above_zero() {
    for (text, seconds) in [("30m", 1800.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("0h1s", 1.0), ("500ms", 0.5)] {
        let update_timeout = Some(Duration::from_secs_f64(seconds));
        check_read(UPDATE_TIMEOUT, text, RolloutPolicy { update_timeout, ..Default::default() });
    }
    for text in ["", "0", "0s", "30", "-5m", "+5m", "5 m", "5m0", "5d", "m", ".s", "1h-5m", "NaNs", "infs"] {
        check_refused(UPDATE_TIMEOUT, text);
    }
}

#[test]
fn a_duration_beyond_all_measure_is_refused() {
    for digits in [15, 16, 400] {
        let text = format!("{}h", "9".repeat(digits));
        assert_eq!(parse_duration(&text).is_some(), digits == 15, "{digits} digits");
    }
}

#[test]
fn update_retries_is_an_integer_not_below_zero_or_unlimited() {
    use UpdateRetries::{Limited, Unlimited};
    for (text, retries) in [("0", Limited(0)), ("3", Limited(3)), ("unlimited", Unlimited)] {
        check_read(UPDATE_RETRIES, text, RolloutPolicy { update_retries: Some(retries), ..Default::default() });
    }
    for text in ["", "-1", "1.5", "many", "Unlimited", "4294967296"] {
        check_refused(UPDATE_RETRIES, text);
    }
}

#[test]
fn every_wrong_annotation_is_named() {
    let wrong = annotations([(IN_PLACE, "x"), (KEEP_ORIGINALS, "x"), (UPDATE_TIMEOUT, "x"), (UPDATE_RETRIES, "x")]);
    assert_eq!(RolloutPolicy::read(&wrong).map_err(|errors| errors.len()), Err(4));
}

#[test]
fn order_is_an_integer() {
    let read = |text| read_extension_order(&annotations([(ORDER, text)])).map_err(|errors| errors.len());
    for (text, order) in [("0", 0), ("-10", -10), ("25", 25)] {
        assert_eq!(read(text), Ok(Some(order)));
    }
    for text in ["", "1.0", "first", "2147483648"] {
        assert_eq!(read(text), Err(1), "{text:?}");
    }
    assert_eq!(read_extension_order(&Annotations::new()), Ok(None));
}

#[test]
fn a_misspelt_annotation_is_refused() {
    for key in ["refit.dev/inplace", "refit.dev/", ORDER] {
        assert_eq!(validate_rollout_annotations(&annotations([(key, "1")]), None, None).len(), 1, "{key}");
    }
    for key in ["refit.dev/ordre", IN_PLACE] {
        assert_eq!(validate_extension_annotations(&annotations([(key, "1")]), None).len(), 1, "{key}");
    }
    let others = annotations([("example.com/in-place", "x"), (IN_PLACE, "Require")]);
    assert_eq!(validate_rollout_annotations(&others, None, None), []);
}

#[test]
fn an_unknown_annotation_that_is_there_already_stays() {
    let stored = annotations([("refit.dev/from-the-future", "x")]);
    assert_eq!(validate_rollout_annotations(&stored, None, Some(&stored)), []);
    assert_eq!(validate_rollout_annotations(&stored, None, Some(&Annotations::new())).len(), 1);
}

#[test]
fn strategy_wins_over_object_over_cluster() {
    use InPlacePolicy::{Never, Prefer, Require};
    let cases = [
        (None, None, None, Prefer),
        (None, None, Some(Never), Never),
        (None, Some(Require), Some(Never), Require),
        (Some(Require), Some(Never), Some(Never), Require),
        (Some(Prefer), Some(Never), None, Prefer),
        (Some(Prefer), Some(Require), None, Require),
    ];
    for (strategy, object, cluster, expected) in cases {
        let resolved = InPlacePolicy::resolve(strategy, object, cluster);
        assert_eq!(resolved, expected, "{strategy:?}, {object:?}, {cluster:?}");
    }
}

#[test]
fn in_place_strategy_requires_unless_it_has_a_fallback() {
    use MachineDeploymentRolloutStrategyType::{InPlace, OnDelete, RollingUpdate};
    let fallback = Some(InPlaceFallback::RollingUpdate);
    let cases = [
        (InPlace, None, Some(InPlacePolicy::Require)),
        (InPlace, fallback, Some(InPlacePolicy::Prefer)),
        (RollingUpdate, None, None),
        (OnDelete, None, None),
    ];
    for (type_, fallback, expected) in cases {
        let strategy = MachineDeploymentRolloutStrategy { type_, fallback, ..Default::default() };
        assert_eq!(strategy.in_place_policy(), expected, "{type_:?} {fallback:?}");
    }
}

#[test]
fn the_cluster_fills_in_what_the_object_leaves_out() {
    let object = RolloutPolicy { keep_originals: Some(false), ..Default::default() };
    let cluster = RolloutPolicy {
        keep_originals: Some(true),
        update_retries: Some(UpdateRetries::Limited(2)),
        ..Default::default()
    };
    let expected = RolloutPolicy {
        keep_originals: Some(false),
        update_retries: Some(UpdateRetries::Limited(2)),
        ..Default::default()
    };
    assert_eq!(object.or(cluster), expected);
    assert!(!object.or(cluster).keeps_originals());
    assert!(RolloutPolicy::default().keeps_originals());
}
