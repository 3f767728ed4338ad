//! Random worlds, random schedules, random orders: nothing breaks an invariant, and everything comes to an end.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use refit_api::policy::InPlacePolicy;
use refit_plan::simulation::{
    Answer, Entry, InitialMachineSet, MachineNumber, Scenario, SetNumber, Strategy as Rollout, run, story,
};

/// How many scenarios each property plays at least. `PROPTEST_CASES` plays more.
const CASES: u32 = 3000;

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(CASES), failure_persistence: None, ..config }
}

fn amounts() -> impl Strategy<Value = IntOrString> {
    let percent = prop_oneof![Just(0), Just(25), Just(50), Just(100), Just(300)];
    prop_oneof![
        3 => (0..4).prop_map(IntOrString::Int),
        1 => percent.prop_map(|percent| IntOrString::String(format!("{percent}%"))),
    ]
}

fn templates() -> impl Strategy<Value = String> {
    (1..4).prop_map(|number| format!("v{number}"))
}

/// What a user or the world may do to a running rollout, and reconciles in any order.
fn entries() -> impl Strategy<Value = Entry> {
    let machine = || (1..14_u32).prop_map(MachineNumber);
    prop_oneof![
        6 => Just(Entry::Deployment),
        8 => (1..5_u32).prop_map(|number| Entry::MachineSet(SetNumber(number))),
        1 => machine().prop_map(Entry::Machine),
        1 => machine().prop_map(Entry::Delete),
        2 => (0..8).prop_map(Entry::Replicas),
        2 => templates().prop_map(Entry::Template),
        1 => machine().prop_map(Entry::Unavailable),
        1 => machine().prop_map(Entry::Available),
        1 => machine().prop_map(Entry::Fail),
        1 => machine().prop_map(Entry::Trouble),
        1 => machine().prop_map(Entry::Try),
        1 => machine().prop_map(Entry::Retry),
        1 => (machine(), any::<bool>()).prop_map(|(machine, for_good)| Entry::Refuse { machine, for_good }),
        1 => machine().prop_map(Entry::Accept),
    ]
}

/// MachineSets with machines m1, m2, … in turn.
fn machine_sets() -> impl Strategy<Value = Vec<InitialMachineSet>> {
    vec((templates(), 0..5_u32), 0..4).prop_map(|sets| {
        let mut last = 0;
        let mut initial = Vec::new();
        for (number, (template, count)) in (1..).zip(sets) {
            let machines = (last + 1..=last + count).map(MachineNumber).collect();
            last += count;
            initial.push(InitialMachineSet { name: SetNumber(number), template, machines });
        }
        initial
    })
}

fn policies() -> impl Strategy<Value = InPlacePolicy> {
    prop_oneof![Just(InPlacePolicy::Prefer), Just(InPlacePolicy::Require), Just(InPlacePolicy::Never)]
}

/// The same with users who pause, change the policy or the strategy, and extensions that come and go.
fn more_entries() -> impl Strategy<Value = Entry> {
    prop_oneof![
        16 => entries(),
        2 => any::<bool>().prop_map(Entry::Paused),
        1 => strategies().prop_map(Entry::Strategy),
        2 => policies().prop_map(Entry::Policy),
        2 => answers().prop_map(Entry::Extensions),
    ]
}

/// I1, I5, I6 and I8: no machine is lost, and none goes that was to stay or of which nobody knew that it had to go.
fn check_machines(scenario: &Scenario) -> Result<(), TestCaseError> {
    let trace = run(scenario).expect("the scenario must be valid");
    let is_loss = |violation: &&String| ["I1", "I5", "I6", "I8"].iter().any(|name| violation.starts_with(name));
    prop_assert!(!trace.last.violations.iter().any(|violation| is_loss(&violation)), "{}", story(scenario, &trace));
    Ok(())
}

fn strategies() -> impl Strategy<Value = Rollout> {
    prop_oneof![5 => Just(Rollout::RollingUpdate), 1 => Just(Rollout::OnDelete)]
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![3 => Just(Answer::Covered), 1 => Just(Answer::Uncovered), 2 => Just(Answer::Undecided)]
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let wishes = (-2..4_i32, templates(), amounts(), amounts(), strategies());
    let means = (prop::bool::weighted(0.75), policies(), prop::bool::weighted(0.7));
    let events = (vec(entries(), 0..40), option::of(any::<u64>()));
    (machine_sets(), wishes, means, events).prop_map(|(machine_sets, wishes, means, (schedule, seed))| {
        let (more, template, max_surge, max_unavailable, strategy) = wishes;
        let (in_place, policy, keep_originals) = means;
        let machines: usize = machine_sets.iter().map(|set| set.machines.len()).sum();
        let replicas = (i32::try_from(machines).expect("few machines") + more).max(0);
        Scenario {
            strategy,
            max_surge,
            max_unavailable,
            replicas,
            template,
            in_place,
            policy,
            keep_originals,
            machine_sets,
            schedule,
            seed,
        }
    })
}

fn check(scenario: &Scenario) -> Result<(), TestCaseError> {
    let trace = run(scenario).expect("the scenario must be valid");
    prop_assert!(trace.is_settled && trace.last.violations.is_empty(), "{}", story(scenario, &trace));
    Ok(())
}

/// The same machines as are wanted, all of an old template, and a change that no machine survives.
fn bad_changes() -> impl Strategy<Value = Scenario> {
    let keeping = prop_oneof![Just(InPlacePolicy::Prefer), Just(InPlacePolicy::Require)];
    let wishes = (1..9_i32, amounts(), amounts(), keeping);
    (wishes, vec(entries(), 0..20), option::of(any::<u64>())).prop_map(|(wishes, entries, seed)| {
        let (replicas, max_surge, max_unavailable, policy) = wishes;
        let mut scenario =
            Scenario { max_surge, max_unavailable, policy, in_place: true, seed, ..Scenario::simple(replicas) };
        let machines = scenario.machine_sets.iter().flat_map(|set| &set.machines);
        let doomed = machines.copied().map(Entry::Fail);
        // The user looks on.
        let reconciles = entries.into_iter().filter(|entry| matches!(entry, Entry::Deployment | Entry::MachineSet(_)));
        scenario.schedule = doomed.chain(reconciles).collect();
        scenario
    })
}

/// Under keep-originals or `Require`, a bad change uses up the budget, and then nothing more happens.
fn check_stops(scenario: &Scenario) -> Result<(), TestCaseError> {
    let trace = run(scenario).expect("the scenario must be valid");
    let told = || story(scenario, &trace);
    prop_assert!(trace.is_settled && trace.last.violations.is_empty(), "{}", told());
    prop_assert!(trace.lines.iter().all(|line| line.deleted.is_empty()), "{}", told());
    let limits = scenario.limits(scenario.replicas).expect("the limits must be valid");
    let failed: usize = trace.last.world.machine_sets.iter().map(|set| set.failed.len()).sum();
    // Where none may be unavailable, one surge machine makes room for one.
    let budget = usize::try_from(limits.max_unavailable.max(1)).expect("a budget must be positive");
    prop_assert!((1..=budget).contains(&failed), "{failed} of {budget} have failed\n{}", told());
    prop_assert!(trace.waiting_on.iter().any(|why| why.contains("failed for good")), "{}", told());
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_bad_change_stops_within_the_budget_and_costs_no_machine(scenario in bad_changes()) {
        check_stops(&scenario)?;
    }

    #[test]
    fn no_machine_is_lost_to_a_user_who_changes_his_mind(scenario in scenarios(), more in vec(more_entries(), 0..40)) {
        let mut scenario = scenario;
        // Upstream's sequence takes orders back at once, and what is under way is carried out.
        (scenario.schedule, scenario.keep_originals) = (more, true);
        check_machines(&scenario)?;
    }

    #[test]
    fn no_rollout_breaks_an_invariant_and_all_settle(scenario in scenarios()) {
        check(&scenario)?;
    }

    #[test]
    fn rollouts_that_nobody_disturbs_keep_all_invariants(mut scenario in scenarios()) {
        scenario.schedule.clear();
        check(&scenario)?;
    }
}
