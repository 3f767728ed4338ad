//! Random worlds, random schedules, random orders: nothing breaks an invariant, and everything comes to an end.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use refit_api::policy::InPlacePolicy;
use refit_plan::simulation::{
    Entry, InitialMachineSet, MachineNumber, Scenario, SetNumber, Strategy as Rollout, run, story,
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

fn scenarios() -> impl Strategy<Value = Scenario> {
    let strategy = prop_oneof![5 => Just(Rollout::RollingUpdate), 1 => Just(Rollout::OnDelete)];
    let wishes = (-2..4_i32, templates(), amounts(), amounts(), strategy);
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

proptest! {
    #![proptest_config(config())]

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
