use std::cmp::Ordering::{self, Equal, Greater, Less};

use proptest::prelude::*;

use super::*;

fn version(text: &str) -> KubernetesVersion {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn strict_parsing_takes_semantic_versions_only() {
    for good in ["1.2.3", "v1.2.3", "v0.0.0", "v1.2.3-rc.0+b.007", "v1.2.3--", "v1.2.3+-", "v18446744073709551615.0.0"]
    {
        let bare = good.trim_start_matches('v');
        assert_eq!(version(good).to_string(), bare);
    }
    let bad = [
        "",
        "v",
        "1",
        "1.2",
        "v1.2",
        "1.2.3.4",
        "vv1.2.3",
        "V1.2.3",
        " 1.2.3",
        "1.2.3 ",
        "01.2.3",
        "1.02.3",
        "1.2.03",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+a..b",
        "1.2.3-a_b",
        "1.2.3+a+b",
        "-1.2.3",
        "+1.2.3",
        "1.2.ü",
        "1.2.x",
        "1..3",
        "18446744073709551616.0.0",
        "1.2.3-18446744073709551616",
    ];
    for bad in bad {
        assert!(bad.parse::<KubernetesVersion>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_required_prefix_is_reported_before_the_rest() {
    assert!(matches!(KubernetesVersion::parse_prefixed("1.2"), Err(VersionError::MissingPrefix { .. })));
    assert!(matches!(KubernetesVersion::parse_prefixed("v1.2"), Err(VersionError::Malformed { .. })));
    assert_eq!(KubernetesVersion::parse_prefixed("v1.2.3").ok(), Some(KubernetesVersion::new(1, 2, 3)));
}

#[test]
fn tolerant_parsing_forgives_blanks_zeros_and_missing_parts() {
    let cases = [
        (" v1.31.2\n", Some("1.31.2")),
        ("1", Some("1.0.0")),
        ("v1.31", Some("1.31.0")),
        ("v01.031.002", Some("1.31.2")),
        ("v1.31.00-rc.1", Some("1.31.0-rc.1")),
        ("v0.0.0", Some("0.0.0")),
        ("000", Some("0.0.0")),
        ("v1.31.2+build.01", Some("1.31.2+build.01")),
        ("v1.31-rc.1", None), // reads as 1, 31-rc, 1
        ("v1.31+build", None),
        ("1-rc", None),
        ("", None),
        ("v", None),
        ("vv1.0.0", None),
        ("1.2.3.4", None),
        ("latest", None),
    ];
    for (given, expected) in cases {
        let parsed = KubernetesVersion::parse_tolerant(given).ok().map(|v| v.to_string());
        assert_eq!(parsed.as_deref(), expected, "{given:?}");
    }
}

#[test]
fn image_tags_write_build_metadata_with_an_underscore() {
    let parsed = KubernetesVersion::parse_image_tag("v1.31.2_vendor.1").expect("tag must parse");
    assert_eq!(parsed, version("1.31.2+vendor.1"));
}

#[test]
fn the_v_is_put_in_front_once() {
    assert_eq!(with_v_prefix("1.2.3"), "v1.2.3");
    assert_eq!(with_v_prefix("v1.2.3"), "v1.2.3");
}

#[test]
fn precedence_follows_semantic_versioning() {
    let ascending = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.1",
        "1.9.0",
        "1.10.0",
        "2.0.0",
    ];
    for pair in ascending.windows(2) {
        assert_eq!(version(pair[0]).cmp_precedence(&version(pair[1])), Less, "{pair:?}");
        assert_eq!(version(pair[1]).cmp_precedence(&version(pair[0])), Greater, "{pair:?}");
    }
    assert_eq!(version("1.0.0+a").cmp_precedence(&version("1.0.0+b")), Equal);
    assert_eq!(version("1.0.0-rc.1+a").cmp_release(&version("1.0.0")), Equal);
}

#[test]
fn builds_are_ordered_by_numbers_and_words_only_differ() {
    let cases = [
        ("1.0.0", "1.0.0", Some(Equal)),
        ("1.0.0", "1.0.0+1", Some(Less)),
        ("1.0.0+9", "1.0.0+10", Some(Less)),
        ("1.0.0+007", "1.0.0+7", Some(Equal)),
        ("1.0.0+99999999999999999999", "1.0.0+99999999999999999998", Some(Equal)),
        ("1.0.0+9", "1.0.0+a", Some(Less)),
        ("1.0.0+a", "1.0.0+9", Some(Greater)),
        ("1.0.0+a", "1.0.0+b", None),
        ("1.0.0+a.1", "1.0.0+a", Some(Greater)),
        ("1.0.0+a.1", "1.0.0+b.2", None),
        ("1.0.1+a", "1.0.0+b", Some(Greater)),
        ("1.0.0-rc.1+b", "1.0.0+a", Some(Less)),
    ];
    for (a, b, expected) in cases {
        assert_eq!(version(a).cmp_with_build(&version(b)), expected, "{a} {b}");
    }
}

#[test]
fn another_build_is_behind_and_an_older_target_is_not() {
    let cases = [
        ("1.30.0", "1.31.0", true),
        ("1.31.0+a", "1.31.0+b", true),
        ("1.31.0", "1.31.0", false),
        ("1.31.0+2", "1.31.0+1", false),
        ("1.32.0", "1.31.0", false),
    ];
    for (current, desired, expected) in cases {
        assert_eq!(version(current).is_behind(&version(desired)), expected, "{current} to {desired}");
    }
}

#[test]
fn control_planes_go_up_one_minor_at_a_time() {
    let cases = [
        ("1.30.0", "1.31.9", false),
        ("1.30.0", "1.32.0-alpha.1", true),
        ("1.30.0", "1.32.0", true),
        ("1.30.0", "2.0.0", true),
        ("1.30.0", "1.10.0", false),
        ("1.18446744073709551615.0", "1.18446744073709551615.0", false),
    ];
    for (from, to, expected) in cases {
        assert_eq!(version(from).skips_minor_to(&version(to)), expected, "{from} to {to}");
    }
}

#[test]
fn adopted_machines_are_one_minor_away_at_most() {
    let cases = [
        ("1.30.0", "1.31.0", true),
        ("1.31.0", "1.30.0", true),
        ("1.30.0", "1.32.0", false),
        ("1.0.0", "2.0.0", false),
    ];
    for (a, b, expected) in cases {
        assert_eq!(version(a).is_within_one_minor_of(&version(b)), expected, "{a} {b}");
    }
}

#[test]
fn kubelets_may_be_three_minors_old_and_never_newer() {
    use KubeletSkew::{Supported, TooNew, TooOld};
    let cases = [
        ("1.31.0", "1.31.5", Supported),
        ("1.28.0", "1.31.0", Supported),
        ("1.27.9", "1.31.0", TooOld),
        ("1.32.0", "1.31.9", TooNew),
        ("1.0.0", "1.2.0", Supported),
    ];
    for (kubelet, control_plane, expected) in cases {
        assert_eq!(version(kubelet).kubelet_skew(&version(control_plane)), expected, "{kubelet} {control_plane}");
    }
}

fn any_version() -> impl Strategy<Value = KubernetesVersion> {
    r"[0-2]\.[0-2]\.[0-2](-(0|[1-9]|[a-c]|[a-c]{1,2}\.[0-9]))?(\+[0-9a-c]{1,2}(\.[0-9]{1,2})?)?"
        .prop_map(|text| version(&text))
}

proptest! {
    #[test]
    fn precedence_is_a_total_order(a in any_version(), b in any_version(), c in any_version()) {
        prop_assert_eq!(a.cmp_precedence(&b), b.cmp_precedence(&a).reverse());
        if a.cmp_precedence(&b) != Greater && b.cmp_precedence(&c) != Greater {
            prop_assert_ne!(a.cmp_precedence(&c), Greater);
        }
    }

    #[test]
    fn builds_refine_precedence(a in any_version(), b in any_version()) {
        prop_assert_eq!(a.cmp_with_build(&b), b.cmp_with_build(&a).map(Ordering::reverse));
        if a.cmp_precedence(&b) != Equal {
            prop_assert_eq!(a.cmp_with_build(&b), Some(a.cmp_precedence(&b)));
        }
    }

    #[test]
    fn what_is_written_reads_the_same(a in any_version()) {
        prop_assert_eq!(version(&with_v_prefix(&a.to_string())), a.clone());
        prop_assert_eq!(KubernetesVersion::parse_tolerant(&a.to_string()).ok(), Some(a));
    }

    #[test]
    fn no_text_makes_parsing_panic(text in ".*") {
        if let Ok(strict) = text.parse::<KubernetesVersion>() {
            prop_assert_eq!(KubernetesVersion::parse_tolerant(&text).ok(), Some(strict));
        }
    }

    #[test]
    fn sorting_loses_nothing_and_respects_precedence(texts in prop::collection::vec(r"v?[01]\.[01]\.0(\+[a-c](\.[0-9])?)?|x|", 0..30)) {
        let mut sorted = texts.clone();
        sort_oldest_first(&mut sorted, |text| text);
        let parsed: Vec<_> = sorted.iter().filter_map(|text| KubernetesVersion::parse_tolerant(text).ok()).collect();
        prop_assert!(parsed.is_sorted_by(|a, b| a.cmp_precedence(b).is_le()));
        sorted.sort();
        let mut expected = texts;
        expected.sort();
        prop_assert_eq!(sorted, expected);
    }
}
