//! Objects in a store, the shell around the decision, and the extensions.

mod machine_set;

use std::collections::BTreeMap;

use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::conditions::get;
use refit_api::hooks::{MachineSetPatches, RawObject};
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::annotations::MOVE_MACHINES_TO_MACHINESET;
use refit_api::vocabulary::refit::annotations::REPLACE_AFTER;
use serde_json::{Value, json};

use crate::coverage::testing::{compose, extension, merge_patch, set_claims};
use crate::coverage::{Answer, ContentHash, Coverage, Request};
use crate::effect::{Effect, Patch, Target};
use crate::machine_deployment::decide::{Ask, Decision, MachinesMadeFrom, Observed, Template, decide};
use crate::merge::difference;
use crate::reading::{Listed, Read, Unreadable};
use crate::testing::{self, CREATED, Store, at, labels_of, reference, template};

/// More rounds than any story here takes.
const MAX_ROUNDS: usize = 80;

/// What the only extension says to every question.
#[derive(Clone, Copy, PartialEq)]
pub enum Says {
    /// It covers every change.
    Yes,
    /// It covers none.
    No,
    /// It does not answer.
    Nothing,
}

/// A MachineDeployment `md` and everything around it.
pub struct World {
    pub store: Store,
    pub cluster: Cluster,
    pub says: Says,
    /// Templates that are not there, or cannot be read, by name. All others are.
    pub templates: BTreeMap<String, Read<RawObject>>,
    /// Why the objects of machines do not tell what they were made from. Nothing: they do.
    pub untold: Option<&'static str>,
    /// What cannot be listed at the moment: `MachineSets` or `machines`.
    pub unlistable: Option<&'static str>,
    /// How many writes the process makes in one pass before it dies. Nothing: it lives.
    pub dies_after: Option<usize>,
    /// Whether the API server has the kind MachineRollout.
    pub writes_down: bool,
    /// Machines that the provider does not change: for good or not, and since when.
    pub refuses: BTreeMap<String, (bool, i64)>,
    /// Which extensions are registered, as the shell would tell it.
    pub registered: &'static str,
    /// The time, in seconds.
    pub now: i64,
    pub deleted: Vec<String>,
    pub asked: usize,
    /// The most machines that there were, and the fewest that were available, since they were last looked at.
    pub most: usize,
    pub fewest: usize,
    /// Of the last decision.
    pub waiting_on: Vec<String>,
    pub problems: Vec<String>,
    pub requeues: bool,
    answers: BTreeMap<ContentHash, Coverage>,
    random: u64,
    made: usize,
}

/// A MachineDeployment that nobody has looked at yet.
pub fn world(replicas: i32) -> World {
    let mut store = Store::default();
    store.insert_typed(&testing::machine_deployment(replicas));
    World {
        store,
        cluster: impatient(),
        says: Says::No,
        templates: BTreeMap::new(),
        untold: None,
        unlistable: None,
        dies_after: None,
        writes_down: false,
        refuses: BTreeMap::new(),
        registered: "the extension",
        now: CREATED + 600,
        deleted: Vec::new(),
        asked: 0,
        most: 0,
        fewest: usize::MAX,
        waiting_on: Vec::new(),
        problems: Vec::new(),
        requeues: false,
        answers: BTreeMap::new(),
        random: 0,
        made: 0,
    }
}

/// A Cluster where machines are replaced as soon as extensions do not cover a change.
pub fn impatient() -> Cluster {
    let mut cluster = testing::cluster();
    cluster.metadata.annotations = Some(labels_of(&[(REPLACE_AFTER, "0s")]));
    cluster
}

/// One that has its machines: m1, m2 and so on.
pub fn settled(replicas: i32) -> World {
    let mut world = world(replicas);
    world.settle();
    world.forget();
    world
}

impl World {
    pub fn deployment(&self) -> MachineDeployment {
        self.store.typed("md").expect("it must be there")
    }

    pub fn machine_sets(&self) -> Vec<MachineSet> {
        self.store.list_typed()
    }

    /// The names of all machines, in their order.
    pub fn machines(&self) -> Vec<String> {
        let machines: Vec<Machine> = self.store.list_typed();
        machines.iter().map(|machine| crate::fleet::name(machine).to_owned()).collect()
    }

    /// The user changes the MachineDeployment. A change of the spec makes another generation.
    pub fn change(&mut self, merge: Value) {
        let mut merge = merge;
        if merge.get("spec").is_some() {
            let generation = self.deployment().metadata.generation.unwrap_or_default();
            merge["metadata"]["generation"] = json!(generation + 1);
        }
        let patch = Patch::object(Target::of(&self.deployment()), merge);
        self.store.carry_out(&[Effect::Patch(patch)]);
    }

    /// Another version, and other hosts for it.
    pub fn new_template(&mut self, name: &str) {
        let infrastructure = reference("HostTemplate", &format!("{name}-host"));
        let spec = json!({ "version": format!("v1.{}.0", 31 + name.len()), "infrastructureRef": infrastructure });
        self.change(json!({ "spec": { "template": { "spec": spec } } }));
    }

    pub fn policy(&mut self, annotations: &[(&str, &str)]) {
        self.change(json!({ "metadata": { "annotations": labels_of(annotations) } }));
    }

    pub fn limits(&mut self, max_surge: i32, max_unavailable: i32) {
        let rolling_update = json!({ "maxSurge": max_surge, "maxUnavailable": max_unavailable });
        let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": rolling_update });
        self.change(json!({ "spec": { "rollout": { "strategy": strategy } } }));
    }

    /// The process was started anew: what it held in memory is gone.
    pub fn restart(&mut self) {
        self.answers.clear();
    }

    /// Begins to look at numbers anew.
    pub fn forget(&mut self) {
        (self.most, self.fewest, self.asked) = (0, usize::MAX, 0);
        self.deleted.clear();
        self.store.events.clear();
    }

    /// What is decided now, with the questions that it asks answered.
    pub fn decide(&mut self) -> Decision {
        let decision = self.observe_and(decide);
        if decision.ask.is_empty() {
            return decision;
        }
        assert!(decision.plan.effects.is_empty() && decision.reports.is_empty(), "a question comes alone");
        for ask in decision.ask {
            self.asked += 1;
            self.answers.insert(ask.key.clone(), self.answer(ask));
        }
        let decision = self.observe_and(decide);
        self.answers.retain(|_, answer| !matches!(answer, Coverage::Undecided { .. }));
        assert!(decision.ask.is_empty(), "a question is asked once: {:?}", decision.ask);
        decision
    }

    /// What the function says to the world as it is read now.
    pub fn observe_and<T>(&self, look: impl FnOnce(&Observed<'_>) -> T) -> T {
        let (deployment, sets) = (self.deployment(), self.machine_sets());
        let machines: Vec<Machine> = self.store.list_typed();
        let rollouts: Vec<MachineRollout> = self.store.list_typed();
        let rollouts: Vec<&MachineRollout> = rollouts.iter().collect();
        look(&Observed {
            now: at(self.now),
            random: self.random,
            cluster: &self.cluster,
            deployment: &deployment,
            machine_sets: self.listed("MachineSets", sets.iter().collect()),
            machines: self.listed("machines", machines.iter().collect()),
            templates: &self.templates_of(&deployment, &sets),
            made_from: &self.made_from(&sets),
            answers: &self.answers,
            told: &[],
            rollouts: self.writes_down.then_some(&rollouts),
            registered: Some(ContentHash::of(&json!(self.registered))),
        })
    }

    /// A pass of the MachineDeployment. Tells whether it wrote anything.
    pub fn pass(&mut self) -> bool {
        self.random += 1;
        let decision = self.decide();
        self.waiting_on = decision.plan.waiting_on.iter().map(ToString::to_string).collect();
        self.problems = decision.problems.iter().map(super::super::Problem::words).collect();
        self.requeues = decision.plan.requeue_after.is_some();
        let writes: Vec<Effect> = decision.reports.into_iter().chain(decision.plan.effects).collect();
        self.store.carry_out(&writes[..writes.len().min(self.dies_after.unwrap_or(usize::MAX))]);
        !writes.is_empty()
    }

    /// A pass of everybody. Tells whether anything changed.
    pub fn round(&mut self) -> bool {
        let before = self.store.contents();
        self.pass();
        for set in self.machine_sets() {
            machine_set::pass(self, &set);
            self.count();
        }
        self.store.contents() != before
    }

    /// Rounds until nothing changes, and then nobody writes anything.
    #[track_caller]
    pub fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.round() {
                self.dies_after = None;
                let writes = self.decide();
                assert!(writes.plan.effects.is_empty() && writes.reports.is_empty(), "{writes:?}");
                return;
            }
        }
        panic!("it must settle: {:?} {:?}", self.waiting_on, self.problems);
    }

    /// Rounds until a machine has moved and is not counted by its new MachineSet.
    pub fn run_into_a_move(&mut self) {
        for _ in 0..MAX_ROUNDS {
            self.pass();
            for set in self.machine_sets() {
                let moves =
                    set.metadata.annotations.as_ref().is_some_and(|it| it.contains_key(MOVE_MACHINES_TO_MACHINESET));
                machine_set::pass(self, &set);
                if moves && machine_set::is_any_pending(self) {
                    return;
                }
            }
        }
        panic!("a machine must move");
    }

    /// A condition of the MachineDeployment, in words.
    pub fn condition(&self, type_: &str) -> String {
        let deployment = self.deployment();
        let condition = get(&deployment.status.conditions, type_).expect("the condition must be there");
        format!("{} {}: {}", condition.status, condition.reason, condition.message)
    }

    /// The messages of the events with this reason.
    pub fn events(&self, reason: &str) -> Vec<&str> {
        let told = self.store.events.iter().filter(|event| event.reason == reason);
        told.map(|event| event.message.as_str()).collect()
    }

    fn listed<T>(&self, what: &str, items: Vec<T>) -> Listed<T> {
        match self.unlistable {
            Some(failed) if failed == what => {
                Listed::Unreadable(Unreadable { what: what.to_owned(), why: "timeout".to_owned() })
            }
            Some(_) | None => Listed::All(items),
        }
    }

    /// Every template says its own name in its spec, so that two differ.
    fn templates_of(&self, deployment: &MachineDeployment, sets: &[MachineSet]) -> Vec<Template> {
        let specs = sets.iter().map(|set| &set.spec.template.spec).chain([&deployment.spec.template.spec]);
        let references = specs.flat_map(|spec| spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref]));
        let template = |reference: &refit_api::cluster::ContractVersionedObjectReference| Template {
            reference: reference.clone(),
            read: self
                .templates
                .get(&reference.name)
                .cloned()
                .unwrap_or_else(|| found(&reference.kind, &reference.name, &reference.name)),
        };
        references.map(template).collect()
    }

    /// What machines tell of templates that are missing.
    fn made_from(&self, sets: &[MachineSet]) -> Vec<MachinesMadeFrom> {
        let of = |set: &MachineSet| {
            let spec = set.spec.template.spec.clone();
            let references = spec.bootstrap.config_ref.into_iter().chain([spec.infrastructure_ref]);
            let machine_set = set.metadata.name.clone().unwrap_or_default();
            let made = move |reference: refit_api::cluster::ContractVersionedObjectReference| MachinesMadeFrom {
                machine_set: machine_set.clone(),
                template: match (self.untold, found(&reference.kind, &reference.name, &reference.name)) {
                    (None, Read::Found(template)) => Ok(template),
                    (why, _) => Err(why.unwrap_or_default().to_owned()),
                },
                reference,
            };
            references.map(made).collect::<Vec<_>>()
        };
        sets.iter().flat_map(of).collect()
    }

    fn answer(&self, ask: Ask) -> Coverage {
        compose(ask.question, [extension("can.update", 0)], |_, request| match self.says {
            Says::Yes => cover_all(request),
            Says::No => set_claims(MachineSetPatches::default()),
            Says::Nothing => Answer::Failed { words: "connection refused".to_owned() },
        })
    }

    fn count(&mut self) {
        let machines: Vec<Machine> = self.store.list_typed();
        let available = machines.iter().filter(|machine| machine_set::is_available(machine)).count();
        self.most = self.most.max(machines.len());
        self.fewest = self.fewest.min(available);
    }
}

/// A template of the Cluster.
pub fn found(kind: &str, name: &str, made: &str) -> Read<RawObject> {
    let mut object = template(kind, name, json!({ "made": made }));
    let owner = crate::ownership::owner(&testing::cluster()).expect("the Cluster has a uid");
    object["metadata"]["ownerReferences"] = json!([owner]);
    Read::Found(RawObject::try_from(object).expect("it must be an object"))
}

/// Claims whatever differs.
fn cover_all(request: &Request) -> Answer {
    let Request::MachineSet(request) = request else { panic!("only MachineSets are asked about") };
    let (current, desired) = (&request.current, &request.desired);
    let claim = |before: &RawObject, after: &RawObject| {
        difference(&before.as_value()["spec"], &after.as_value()["spec"])
            .map(|spec| merge_patch(json!({ "spec": spec })))
    };
    let bootstrap = current.bootstrap_config_template.as_ref().zip(desired.bootstrap_config_template.as_ref());
    set_claims(MachineSetPatches {
        machine_set: claim(&current.machine_set, &desired.machine_set),
        infrastructure_machine_template: claim(
            &current.infrastructure_machine_template,
            &desired.infrastructure_machine_template,
        ),
        bootstrap_config_template: bootstrap.and_then(|(before, after)| claim(before, after)),
    })
}
