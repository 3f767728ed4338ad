//! What rollouts wait for, by the last decisions about MachineDeployments and MachineSets and by the writes that followed.
//!
//! Only this process knows, and whoever loses it decides again. It is for people: the MachineDeployment and its MachineRollout
//! tell it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use refit_api::cluster::MachineSet;
use refit_api::vocabulary::labels;
use refit_plan::waiting::WaitingOn;

use crate::cache::ObjectKey;
use crate::queue::Queue;

/// What MachineDeployments wait for. Clones are the same.
#[derive(Clone, Default)]
pub struct Reasons(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// By MachineDeployment, and by who says so. Only those that wait are here.
    waiting: BTreeMap<ObjectKey, BTreeMap<Source, Vec<WaitingOn>>>,
    /// Who writes down rollouts. It is told which MachineDeployments wait for something else than before.
    rollouts: Option<Queue<ObjectKey>>,
    /// Who decides about MachineDeployments. It is told what their MachineSets wait for.
    deployments: Option<Queue<ObjectKey>>,
}

/// Who says what a MachineDeployment waits for, in the order in which it is told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The decision about it.
    Decision,
    /// What became of that.
    Outcome,
    /// The decision about a MachineSet of this name, and what became of it.
    MachineSet(String),
}

impl Reasons {
    /// Adds MachineDeployments to the queue that wait for something else than before.
    pub fn tell_rollouts(&self, queue: &Queue<ObjectKey>) {
        self.known().rollouts = Some(queue.clone());
    }

    /// Adds MachineDeployments to the queue whose MachineSets wait for something else than before.
    pub fn tell_deployments(&self, queue: &Queue<ObjectKey>) {
        self.known().deployments = Some(queue.clone());
    }

    /// Notes what a decision about the MachineDeployment waits for.
    pub fn note_deployment(&self, key: &ObjectKey, waiting_on: &[WaitingOn]) {
        self.note(key.clone(), Source::Decision, waiting_on);
    }

    /// Notes what went wrong with it. Tells whether something had before, and has not now: that is still to be taken back.
    pub fn note_outcome(&self, key: &ObjectKey, problems: &[WaitingOn]) -> bool {
        self.note(key.clone(), Source::Outcome, problems) && problems.is_empty()
    }

    /// Notes what a decision about a MachineSet waits for, and what went wrong with it. One that belongs to no MachineDeployment
    /// rolls nothing out.
    pub fn note_set(&self, set: &MachineSet, waiting_on: &[WaitingOn]) {
        let (name, namespace) = (set.metadata.name.clone(), set.metadata.namespace.clone());
        let deployment = set.metadata.labels.as_ref().and_then(|own| own.get(labels::DEPLOYMENT_NAME)).cloned();
        if let (Some(name), Some(deployment)) = (name, deployment) {
            let key = ObjectKey::new(namespace.unwrap_or_default(), deployment);
            if self.note(key.clone(), Source::MachineSet(name), waiting_on) {
                self.known().deployments.iter().for_each(|queue| queue.add(key.clone()));
            }
        }
    }

    /// The MachineDeployment is gone.
    pub fn forget_deployment(&self, key: &ObjectKey) {
        self.known().waiting.remove(key);
    }

    /// The MachineSet is gone, and nobody can say any more whose it was.
    pub fn forget_set(&self, key: &ObjectKey) {
        let source = Source::MachineSet(key.name.clone());
        let mut known = self.known();
        let mut told: Vec<ObjectKey> = Vec::new();
        for (deployment, waiting) in known.waiting.iter_mut().filter(|(it, _)| it.namespace == key.namespace) {
            if waiting.remove(&source).is_some() {
                told.push(deployment.clone());
            }
        }
        known.waiting.retain(|_, waiting| !waiting.is_empty());
        for key in told {
            known.rollouts.iter().chain(&known.deployments).for_each(|queue| queue.add(key.clone()));
        }
    }

    /// What the MachineDeployment waits for, and then its MachineSets.
    pub fn of(&self, deployment: &ObjectKey) -> Vec<WaitingOn> {
        self.by(deployment, |_| true)
    }

    /// The same without what the decision about the MachineDeployment itself says.
    pub fn of_others(&self, deployment: &ObjectKey) -> Vec<WaitingOn> {
        self.by(deployment, |source| *source != Source::Decision)
    }

    fn by(&self, deployment: &ObjectKey, is_asked: impl Fn(&Source) -> bool) -> Vec<WaitingOn> {
        let known = self.known();
        let all = known.waiting.get(deployment).into_iter().flatten();
        all.filter(|(source, _)| is_asked(source)).flat_map(|(_, reasons)| reasons).cloned().collect()
    }

    /// Tells whether it is something else than before.
    fn note(&self, deployment: ObjectKey, source: Source, waiting_on: &[WaitingOn]) -> bool {
        let mut known = self.known();
        let mut waiting = known.waiting.remove(&deployment).unwrap_or_default();
        let before = match waiting_on {
            [] => waiting.remove(&source),
            reasons => waiting.insert(source, reasons.to_vec()),
        };
        if !waiting.is_empty() {
            known.waiting.insert(deployment.clone(), waiting);
        }
        let is_other = before.unwrap_or_default() != waiting_on;
        if is_other {
            known.rollouts.iter().for_each(|queue| queue.add(deployment.clone()));
        }
        is_other
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, deployment: &str) -> MachineSet {
        let mut set = MachineSet::default();
        set.metadata.name = Some(name.to_owned());
        set.metadata.namespace = Some("ns".to_owned());
        set.metadata.labels = Some([(labels::DEPLOYMENT_NAME.to_owned(), deployment.to_owned())].into());
        set
    }

    #[test]
    fn a_deployment_waits_for_what_it_and_its_sets_wait_for() {
        let (reasons, md) = (Reasons::default(), ObjectKey::new("ns", "md"));
        let other = |what: &str| WaitingOn::Other { what: what.to_owned() };
        reasons.note_set(&set("ms", "md"), &[other("a")]);
        reasons.note_set(&set("ms", "other"), &[other("b")]);
        reasons.note_deployment(&md, &[WaitingOn::Paused]);
        assert_eq!(reasons.of(&md), [WaitingOn::Paused, other("a")]);
        assert!(!reasons.note_outcome(&md, &[other("refused")]));
        assert_eq!(reasons.of_others(&md), [other("refused"), other("a")]);
        assert!(reasons.note_outcome(&md, &[]), "what was wrong is not any more");
        reasons.note_deployment(&md, &[]);
        assert_eq!(reasons.of(&md), [other("a")]);
        reasons.forget_set(&ObjectKey::new("ns", "ms"));
        assert!(reasons.known().waiting.is_empty(), "who waits for nothing is not remembered");
    }
}
