use proptest::prelude::*;

use super::*;

fn check(template: &str, expected: &str) {
    let template = NameTemplate::parse(template, NameOwner::MachineSet).expect("template must parse");
    assert_eq!(template.render("c1", "ms1", RandomSuffix::from_random(0)), expected);
}

fn check_error(template: &str, owner: NameOwner, expected: &str) {
    let error = NameTemplate::parse(template, owner).expect_err("template must be refused");
    assert_eq!(error.to_string(), expected, "{template:?}");
}

#[test]
fn variables_are_filled_in() {
    check(NameOwner::MachineSet.default_template(), "ms1-bbbbb");
    check("{{ .cluster.name }}-x-{{ .machineSet.name }}-{{ .random }}", "c1-x-ms1-bbbbb");
    check("{{.cluster.name}}{{\t.random\n}}", "c1bbbbb");
    check("plain", "plain");
    check("", "");
    check("a}}b", "a}}b");
}

#[test]
fn trim_markers_take_the_blanks_outside() {
    check("a \n{{- .random -}}\t b", "abbbbbb");
    check("a {{- .random }} b", "abbbbb b");
    check("a {{ .random -}} b", "a bbbbbb");
    check("{{ .random -}} - {{- .random }}", "bbbbb-bbbbb");
}

#[test]
fn each_owner_knows_its_own_variable_only() {
    let template = NameOwner::KubeadmControlPlane.default_template();
    let parsed = NameTemplate::parse(template, NameOwner::KubeadmControlPlane).expect("template must parse");
    assert_eq!(parsed.render("c1", "kcp1", RandomSuffix::from_random(0)), "kcp1-bbbbb");
    check_error(
        template,
        NameOwner::MachineSet,
        ".kubeadmControlPlane.name at column 1 is not known here; known are .cluster.name, .machineSet.name and .random",
    );
    check_error(
        "ä-{{ .machineSet.name }}",
        NameOwner::KubeadmControlPlane,
        ".machineSet.name at column 3 is not known here; known are .cluster.name, .kubeadmControlPlane.name and .random",
    );
}

#[test]
fn other_syntax_is_refused() {
    let unsupported = |action: &str, column| {
        format!("{action:?} at column {column} is not a variable; functions and control structures are not supported")
    };
    let cases = [
        ("a{{ if .random }}b{{ end }}", unsupported("if .random", 2)),
        ("{{ .random | upper }}", unsupported(".random | upper", 1)),
        ("{{/* note */}}", unsupported("/* note */", 1)),
        ("{{-.random}}", unsupported("-.random", 1)),
        ("{{ .random-}}", unsupported(".random-", 1)),
        ("{{}}", unsupported("", 1)),
        ("{{- -}}", unsupported("", 1)),
        ("{{ .random }}-{{ .random", "the {{ at column 15 is not closed by }}".to_owned()),
    ];
    for (template, expected) in cases {
        check_error(template, NameOwner::MachineSet, &expected);
    }
    for group in ["{{ . }}", "{{ .cluster }}", "{{ .cluster.name.x }}", "{{ .Random }}"] {
        let error = NameTemplate::parse(group, NameOwner::MachineSet);
        assert!(matches!(error, Err(TemplateError::UnknownVariable { column: 1, .. })), "{group:?}");
    }
}

#[test]
fn names_above_the_limit_are_cut_and_end_in_the_suffix() {
    check(&"0".repeat(63), &"0".repeat(63));
    check(&"0".repeat(64), &format!("{}bbbbb", "0".repeat(58)));
}

proptest! {
    #[test]
    fn rendering_fits_and_parsing_never_panics(template in r"([a-z \-ä]|\{\{|\}\}|\.random|\.cluster\.name){0,40}", number: u64) {
        if let Ok(template) = NameTemplate::parse(&template, NameOwner::MachineSet) {
            prop_assert!(template.render("cluster", "ms", RandomSuffix::from_random(number)).len() <= MAX_LENGTH);
        }
    }
}
