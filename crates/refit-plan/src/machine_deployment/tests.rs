//! Each rule of a pass, by tables. Where a test is named after something that upstream does wrong, it says so.

mod acknowledge;
mod in_place;
mod keep_originals;
mod never_again;
mod nonsense;
mod on_delete;
mod paused;
mod refused;
mod scale_down;
mod scale_up;
mod standstill;
mod waiting;

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::int_or_percent::Fenceposts;
use refit_api::name_set::NameSet;

use super::*;
use crate::fleet::GoneExtension;
use crate::handover::Handover;
use crate::machine_set::refusal::MoveRefusal;

/// A pass to be: a MachineDeployment, its MachineSets and machines.
#[derive(Clone)]
struct Setup(Observed<'static>);

/// A rolling update in upstream's sequence.
fn rolling(replicas: i32, max_surge: i32, max_unavailable: i32) -> Setup {
    let strategy = Strategy::RollingUpdate(Fenceposts { max_surge, max_unavailable });
    let (in_place, keep_originals, paused) = (InPlacePolicy::Prefer, false, false);
    let deployment = DeploymentView { replicas, strategy, in_place, keep_originals, paused };
    Setup(Observed { deployment, new: None, old: Vec::new(), machines: Vec::new() })
}

fn on_delete(replicas: i32) -> Setup {
    let setup = rolling(replicas, 0, 0);
    setup
        .with(|deployment| deployment.strategy = Strategy::OnDelete)
        .with(|deployment| deployment.keep_originals = true)
}

/// A MachineSet written as `ms1 4/3 available 2`: `spec.replicas`, `status.replicas` and, unless it is the same,
/// `status.availableReplicas`. A number in the name is its age.
fn machine_set(text: &str) -> MachineSetView {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |text: &str| text.parse::<i32>().unwrap();
    let (spec, replicas) = words[1].split_once('/').unwrap();
    let available = words.get(3).copied().unwrap_or(replicas);
    let age: i64 = words[0].trim_start_matches("ms").parse().unwrap();
    MachineSetView {
        failed_updates: Default::default(),
        name: words[0].to_owned(),
        created: Timestamp::from_second(age).unwrap(),
        spec_replicas: number(spec),
        counters: Counters { replicas: number(replicas), available: number(available), up_to_date: number(available) },
        handover: Handover::default(),
        max_replicas: None,
        desired_replicas: None,
        disable_machine_create: false,
        version: "1".to_owned(),
        held: true,
    }
}

impl Setup {
    fn with(mut self, change: impl FnOnce(&mut DeploymentView)) -> Self {
        change(&mut self.0.deployment);
        self
    }

    fn new_set(mut self, text: &str) -> Self {
        self.0.new = Some(machine_set(text));
        self
    }

    fn old(mut self, text: &str, coverage: Coverage) -> Self {
        self.0.old.push(OldMachineSet { view: machine_set(text), coverage });
        self
    }

    fn covered(self, text: &str) -> Self {
        self.old(text, Coverage::Covered)
    }

    fn uncovered(self, text: &str) -> Self {
        self.old(text, Coverage::Uncovered { why: "a file changes".to_owned() })
    }

    fn undecided(self, text: &str) -> Self {
        self.old(text, Coverage::Undecided { why: "the extension is down".to_owned() })
    }

    /// What the last pass has written on a MachineSet.
    fn handover(mut self, name: &str, change: impl FnOnce(&mut Handover)) -> Self {
        let old = self.0.old.iter_mut().map(|old| &mut old.view);
        let view = old.chain(&mut self.0.new).find(|view| view.name == name).unwrap();
        change(&mut view.handover);
        self
    }

    /// How many machines the user wanted when the last pass wrote to the MachineSets.
    fn wanted_before(mut self, replicas: i32) -> Self {
        let old = self.0.old.iter_mut().map(|old| &mut old.view);
        old.chain(&mut self.0.new).for_each(|view| view.desired_replicas = Some(replicas));
        self
    }

    /// Machines of a MachineSet, as `m1 m2* m3! m4# m5+ m6%`: `*` is being updated, `!` was moved and is pending, `#` has failed,
    /// `+` was made by a rollout and says so, `%` would be refused in `ms2`, the extension of `?` is gone.
    fn machines(mut self, set: &str, names: &str) -> Self {
        for name in names.split_whitespace() {
            let (pending, failed) = (name.ends_with('!'), name.ends_with('#'));
            let gone = name
                .ends_with('?')
                .then(|| GoneExtension { extension: "memory".to_owned(), fields: vec!["spec.memory".to_owned()] });
            let updating = pending || failed || gone.is_some() || name.ends_with('*');
            let scaffolding = name.ends_with('+');
            let refusal = || MoveRefusal {
                to: "ms2".to_owned(),
                since: Timestamp::UNIX_EPOCH.to_string(),
                for_good: true,
                words: "Host would be refused: no".to_owned(),
            };
            let refused = name.ends_with('%').then(refusal).map(Box::new);
            let name = name.trim_end_matches(['!', '*', '#', '+', '%', '?']);
            self.0.machines.push(MachineView {
                name: name.to_owned().into(),
                machine_set: set.to_owned().into(),
                created: Timestamp::from_second(name[1..].parse().unwrap()).unwrap(),
                scaffolding,
                pending_acknowledge: pending,
                updating,
                update_failed: failed,
                update_over: failed || gone.is_some(),
                gone: gone.map(Box::new),
                available: !updating,
                deleting: false,
                refused,
            });
        }
        self
    }

    fn plan(&self) -> BTreeMap<String, MachineSetPlan> {
        plan(&self.0).machine_sets.into_iter().map(|planned| (planned.name.clone(), planned)).collect()
    }

    /// Checks the replicas of every MachineSet, as `ms1 2, ms2 1`.
    #[track_caller]
    fn check(&self, expected: &str) {
        let plan = self.plan();
        let found: Vec<String> = plan.values().map(|set| format!("{} {}", set.name, set.replicas)).collect();
        assert_eq!(found.join(", "), expected, "{:?}", plan.values().map(|set| &set.notes).collect::<Vec<_>>());
    }

    /// Checks which MachineSets give machines to the new one, and that both sides agree.
    #[track_caller]
    fn check_moves(&self, expected: &str) {
        let plan = self.plan();
        let new = &self.0.new.as_ref().unwrap().name;
        let giving = plan.values().filter(|set| set.handover.move_to.as_ref() == Some(new));
        let giving: NameSet = giving.map(|set| set.name.as_str()).collect();
        assert_eq!(giving.to_string(), expected);
        assert_eq!(plan[new].handover.receive_from.to_string(), expected);
    }
}

#[test]
fn the_new_machine_set_is_written_first() {
    let setup = rolling(3, 1, 0).new_set("ms2 0/0").covered("ms1 3/3").covered("ms3 0/0");
    let plan = plan(&setup.0);
    let names: Vec<&str> = plan.machine_sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["ms2", "ms1", "ms3"]);
}

#[test]
fn numbers_at_the_edge_of_the_api_do_not_overflow() {
    let most = i32::MAX;
    let text = |name: &str| format!("{name} {most}/{most}");
    let setup = rolling(most, most, most).new_set(&text("ms2")).covered(&text("ms1")).covered(&text("ms3"));
    for policy in [InPlacePolicy::Prefer, InPlacePolicy::Require, InPlacePolicy::Never] {
        for (keep, paused) in [(true, false), (false, false), (false, true)] {
            let changed = setup.clone().with(|deployment| {
                (deployment.in_place, deployment.keep_originals, deployment.paused) = (policy, keep, paused);
            });
            assert_eq!(changed.plan().len(), 3);
        }
    }
}
