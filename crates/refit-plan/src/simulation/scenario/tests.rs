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
    check_error(
        "replicas: 3 -> replicas: -1",
        "replicas: -1 is not a whole number between 0 and 10000 (line 1, column 11)",
    );
    check_error("replicas: 3 -> replicas: 99999", "replicas: 99999 is not a whole number between 0 and 10000");
    check_error("replicas: 3 -> replicas: many", "replicas: invalid value: string \"many\", expected a whole number");
    check_error("replicas: 3 -> replicas: 3.5", "replicas: 3.5 is not a whole number between 0 and 10000 (line 1");
    check_error("replicas: 3 -> replicas: 3000000000", "replicas: 3000000000 is not a whole number between");
    check_error("replicas: 3 -> replicas: null", "replicas: must be given (line 1");
    check_error(
        "replicas: 3 -> replicas: 3\nseed: -1",
        "seed: -1 is not a whole number between 0 and 18446744073709551615",
    );
    check_error("replicas: 3 -> replicas: 3\nreplicas: 4", "duplicate key \"replicas\" (line 2");
    check_error("ms1, -> ms1, owner: md2,", "machineSets[0].owner: unknown field `owner`, expected one of name");
    check_error("m2 -> m4294967296", "machineSets[0].machines[1]: \"m4294967296\" is no name of a machine");
    check_error("m2 -> worker", "machineSets[0].machines[1]: \"worker\" is no name of a machine");
    check_error("template: v2 -> template: ''", "template: \"\" is no template; use a word such as v2");
    check_error("template: v2 -> template: v 2", "template: \"v 2\" is no template");
    check_error("template: v1 -> template: ''", "machineSets[0].template: \"\" is no template");
    check_error("template: v2 -> template: v2\nschedule: [replicas -5]", "schedule[0]: \"-5\" must be a number from 0");
    check_error("template: v2 -> template: v2\nschedule: [template]", "schedule[0]: \"template\" is none of");
    check_error("template: v2 -> template: v2\nschedule: [5]", "schedule[0]: ");
    check_error("template: v2 -> template: v2\nschedule: md", "schedule: ");
    check_error("template: v2 -> templat: v2", "templat");
    check_error(
        "m2 -> m02",
        "machineSets[0].machines[1]: \"m02\" is no name of a machine, such as m1; the number is at most 1000000000 (line 4",
    );
    check_error(
        "ms1 -> m1",
        "machineSets[0].name: \"m1\" is no name of a MachineSet, such as ms1; the number is at most 1000000000 (line 4",
    );
    check_error(
        "m2 -> m1",
        "machineSets[0].machines: there is a second m1, ms1 has one; a machine is in one MachineSet, once",
    );
    check_error("template: v2 -> template: v2\nschedule: [md, explode]", "schedule[1]: \"explode\" is none of");
    check_error("template: v2 -> template: v2\npolicy: Prefre", "policy: ");
    check_error("replicas: 3\n -> ", "missing field `replicas`");
}

#[test]
fn limits_that_mean_nothing_are_refused() {
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: -1", "maxSurge must not be negative, it resolves to -1");
    check_error(
        "replicas: 3 -> replicas: 3\nmaxSurge: \"5\"",
        "maxSurge cannot be used: \"5\" is neither an integer nor",
    );
    check_error(
        "replicas: 3 -> replicas: 3\nmaxUnavailable: many",
        "maxUnavailable cannot be used: \"many\" is neither",
    );
    check_error(
        "replicas: 3 -> replicas: 3\nmaxUnavailable: -1",
        "maxUnavailable must not be negative, it resolves to -1",
    );
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: -5%", "maxSurge: -5% is negative; use 0% or more");
    check_error("replicas: 3 -> replicas: 3\nmaxSurge: 99999999999", "maxSurge: ");
    check_error(
        "replicas: 3 -> replicas: 3\nmaxUnavailable: 99999999999%",
        "99999999999% of 3 does not fit into 32 bits",
    );
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

#[test]
fn a_machine_in_two_machine_sets_is_refused_with_the_first() {
    let text = format!("{WORLD}- {{name: ms2, template: v2, machines: [m4, m2]}}\n");
    let error = Scenario::from_yaml(&text).unwrap_err();
    assert_eq!(error, ScenarioError::SecondMachine { index: 1, name: MachineNumber(2), first: SetNumber(1) });
}

#[test]
fn what_would_fill_the_memory_is_refused() {
    let check = |change: fn(&mut Scenario), expected: ScenarioError| {
        let mut scenario = Scenario::simple(3);
        change(&mut scenario);
        assert_eq!(scenario.validate(), Err(expected));
    };
    check(
        |scenario| {
            let set =
                |number| InitialMachineSet { name: SetNumber(number), template: "v1".to_owned(), machines: Vec::new() };
            scenario.machine_sets = (1..=1001).map(set).collect();
        },
        ScenarioError::TooManyMachineSets(1001),
    );
    check(
        |scenario| scenario.machine_sets[0].machines = (1..=10_001).map(MachineNumber).collect(),
        ScenarioError::TooManyMachines(10_001),
    );
    check(|scenario| scenario.schedule = vec![Entry::Deployment; 10_001], ScenarioError::TooManyEntries(10_001));
}

#[test]
fn more_than_all_is_all() {
    let played = |amount: &str| {
        let text = WORLD.replace("replicas: 3", &format!("replicas: 3\nmaxSurge: {amount}\nmaxUnavailable: {amount}"));
        let trace = crate::simulation::run(&Scenario::from_yaml(&text).unwrap()).unwrap();
        assert!(trace.is_settled && trace.last.violations.is_empty());
        trace.last.world
    };
    assert_eq!(played("300%"), played("100%"));
}

#[test]
fn a_seed_may_be_left_empty_and_a_number_be_quoted() {
    let text = WORLD.replace("replicas: 3", "replicas: '3'\nseed:");
    assert_eq!(Scenario::from_yaml(&text).unwrap(), Scenario::simple(3));
}
