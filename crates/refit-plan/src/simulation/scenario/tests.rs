use super::*;

const WORLD: &str = "replicas: 3\ntemplate: v2\nmachineSets:\n- {name: ms1, template: v1, machines: [m1, m2, m3]}\n";

#[test]
fn what_is_left_out_has_a_default() {
    let scenario = Scenario::from_yaml(WORLD).unwrap();
    assert_eq!(scenario, Scenario::simple(3));
}

#[test]
fn everything_can_be_said() {
    let text = r#"
strategy: OnDelete
maxSurge: "25%"
maxUnavailable: 2
replicas: 12
template: v2
inPlace: true
policy: Require
keepOriginals: false
machineSets:
- {name: ms3, template: v1, machines: [m4, m10]}
- {name: ms1, template: v2}
schedule: [md, ms1, m4, delete m4, replicas 5, template v3, unavailable m4, available m4]
seed: 7
"#;
    let scenario = Scenario::from_yaml(text).unwrap();
    assert_eq!(scenario.max_surge, IntOrString::String("25%".to_owned()));
    assert_eq!(scenario.policy, InPlacePolicy::Require);
    assert_eq!((scenario.schedule.len(), scenario.seed), (8, Some(7)));
    assert_eq!(scenario.machine_sets[1].machines, []);
}

#[track_caller]
fn check_error(change: &str, expected: &str) {
    let (from, to) = change.split_once(" -> ").unwrap();
    let text = WORLD.replace(from, to);
    assert_ne!(text, WORLD, "{from:?} must be in the world");
    let error = Scenario::from_yaml(&text).expect_err("must be refused");
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    let found = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    assert!(found.contains(expected), "{found}");
}

#[test]
fn nonsense_is_refused_with_the_field_and_the_line() {
    check_error("replicas: 3 -> replicas: -1", "replicas: -1 is not between 0 and 10000 (line 1, column 11)");
    check_error("replicas: 3 -> replicas: 99999", "replicas: 99999 is not between 0 and 10000");
    check_error("replicas: 3 -> replicas: many", "line 1");
    check_error("template: v2 -> templat: v2", "templat");
    check_error("m2 -> m02", "machineSets[0].machines[1]: \"m02\" is no name of a machine, such as m1 (line 4");
    check_error("ms1 -> m1", "machineSets[0].name: \"m1\" is no name of a MachineSet, such as ms1 (line 4");
    check_error("m2 -> m1", "machineSets[0].machines: there is a second m1");
    check_error("template: v2 -> template: v2\nschedule: [md, explode]", "schedule[1]: \"explode\" is none of");
    check_error("template: v2 -> template: v2\npolicy: Prefre", "policy: ");
    check_error("replicas: 3\n -> ", "missing field `replicas`");
}

#[test]
fn limits_that_mean_nothing_are_refused() {
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: -1", "maxSurge must not be negative, it resolves to -1");
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: \"5\"", "neither an integer nor a percentage");
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: 1000000", "more than the 10000 that a simulation runs");
    check_error(
        "template: v2 -> template: v2\nmaxSurge: \"99999%\"\nschedule: [replicas 100]",
        "99999 machines of surge",
    );
    let much = WORLD.replace("replicas: 3", "replicas: 3\nmaxSurge: 300%\nmaxUnavailable: 300%");
    assert!(Scenario::from_yaml(&much).is_ok(), "more than all is all");
}

#[test]
fn two_machine_sets_of_one_name_are_refused() {
    let text = format!("{WORLD}- {{name: ms1, template: v2}}\n");
    let error = Scenario::from_yaml(&text).unwrap_err();
    assert_eq!(error, ScenarioError::SecondMachineSet { index: 1, name: SetNumber(1) });
}
