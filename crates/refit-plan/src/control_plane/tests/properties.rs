//! What holds in every world. The judge looks at what was done only, not at how it was decided.

use std::collections::BTreeSet;

use proptest::prelude::*;
use refit_api::vocabulary::refit::annotations::{IN_PLACE, KEEP_ORIGINALS};

use super::fixtures::{NEW, observed};
use super::world::{Answer, World};

const NEWER: &str = "v1.33.1";

/// What a run begins with.
#[derive(Debug, Clone)]
struct Setting {
    replicas: usize,
    max_surge: i32,
    policy: &'static str,
    keeps_originals: bool,
    uncovered: BTreeSet<usize>,
    sick: Option<usize>,
    crash: usize,
    domains: usize,
    /// After how many rounds the user wants something else.
    second_thought: Option<usize>,
}

fn settings() -> impl Strategy<Value = Setting> {
    let replicas = prop::sample::select(vec![1_usize, 3, 5]);
    let policy = prop::sample::select(vec!["Prefer", "Require", "Never"]);
    let uncovered = prop::collection::btree_set(0..5_usize, 0..3);
    let sick = prop::option::weighted(0.3, 0..5_usize);
    let second_thought = prop::option::of(0..12_usize);
    (replicas, 0..2, policy, any::<bool>(), uncovered, sick, 0..60_usize, 0..4_usize, second_thought).prop_map(
        |(replicas, max_surge, policy, keeps_originals, uncovered, sick, crash, domains, second_thought)| Setting {
            replicas,
            max_surge,
            policy,
            keeps_originals,
            uncovered,
            sick,
            crash,
            domains,
            second_thought,
        },
    )
}

fn run(setting: &Setting) -> World {
    let mut base = observed(setting.replicas);
    base.set_max_surge(setting.max_surge);
    base.annotate(IN_PLACE, setting.policy);
    base.annotate(KEEP_ORIGINALS, &setting.keeps_originals.to_string());
    let domains: Vec<String> = (0..setting.domains).map(|index| format!("fd{index}")).collect();
    base.set_failure_domains(&domains.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, machine) in base.machines.values_mut().enumerate() {
        machine.machine.spec.failure_domain = domains.get(index % domains.len().max(1)).cloned();
    }
    let names: Vec<String> = base.machines.keys().cloned().collect();
    let mut world = World::new(base);
    world.settle();
    for index in &setting.uncovered {
        world.answers.extend(names.get(*index).map(|name| (name.clone(), Answer::Uncovered)));
    }
    world.sick.extend(setting.sick.and_then(|index| names.get(index).cloned()));
    let mut world = world.clone().crash_after(world.steps_done + setting.crash);
    world.upgrade();
    if let Some(rounds) = setting.second_thought {
        for _ in 0..rounds {
            world.round();
        }
        world.upgrade_to(NEWER, "t3");
    }
    world.settle();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The world itself checks that at most one machine is on the move, that what runs is what was accepted, and that a
    /// member leaves etcd before its host goes; settling checks that there is an end.
    #[test]
    fn every_rollout_comes_to_an_end_and_keeps_what_it_must(setting in settings()) {
        let world = run(&setting);
        if setting.policy == "Require" {
            prop_assert_eq!(&world.deletions, &Vec::<String>::new(), "{:?}", world.log);
        }
        let wanted = if setting.second_thought.is_some() { NEWER } else { NEW };
        let is_stuck = world.versions() != BTreeSet::from([wanted.to_owned()]);
        if is_stuck {
            prop_assert!(!world.waiting_on.is_empty(), "nobody says why: {:?}", world.log);
        } else {
            prop_assert_eq!(world.names().len(), setting.replicas, "{:?}", world.log);
            prop_assert_eq!(world.count("DevMachine"), setting.replicas);
        }
        let is_free = setting.uncovered.is_empty() && setting.sick.is_none() && setting.policy != "Never";
        if is_free && (setting.keeps_originals || setting.policy == "Require") {
            prop_assert_eq!(world.originals().len(), setting.replicas, "{:?}", world.log);
        }
    }

    #[test]
    fn the_same_world_gives_the_same_decision(setting in settings(), rounds in 0..20_usize) {
        let mut world = World::new(observed(setting.replicas));
        world.upgrade();
        for _ in 0..rounds {
            world.round();
        }
        let observed = world.observe();
        prop_assert_eq!(crate::control_plane::decide(&observed), crate::control_plane::decide(&observed.clone()));
    }
}
