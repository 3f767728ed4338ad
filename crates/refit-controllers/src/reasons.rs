//! What rollouts wait for, by the last decisions about MachineDeployments and MachineSets.
//!
//! Only this process knows, and whoever loses it decides again. It is for people: the MachineRollout tells it.

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
    /// By MachineDeployment, and by the name of its MachineSet; its own are under no name. Only those that wait are here.
    waiting: BTreeMap<ObjectKey, BTreeMap<String, Vec<WaitingOn>>>,
    /// Who is told which MachineDeployments wait for something else than before.
    told: Option<Queue<ObjectKey>>,
}

impl Reasons {
    /// Adds MachineDeployments to the queue that wait for something else than before.
    pub fn tell(&self, queue: &Queue<ObjectKey>) {
        self.known().told = Some(queue.clone());
    }

    /// Notes what a decision about the MachineDeployment waits for.
    pub fn note_deployment(&self, key: &ObjectKey, waiting_on: &[WaitingOn]) {
        self.note(key.clone(), String::new(), waiting_on);
    }

    /// Notes what a decision about a MachineSet waits for. One that belongs to no MachineDeployment rolls nothing out.
    pub fn note_set(&self, set: &MachineSet, waiting_on: &[WaitingOn]) {
        let (name, namespace) = (set.metadata.name.clone(), set.metadata.namespace.clone());
        let deployment = set.metadata.labels.as_ref().and_then(|own| own.get(labels::DEPLOYMENT_NAME)).cloned();
        if let (Some(name), Some(deployment)) = (name, deployment) {
            self.note(ObjectKey::new(namespace.unwrap_or_default(), deployment), name, waiting_on);
        }
    }

    /// The MachineDeployment is gone.
    pub fn forget_deployment(&self, key: &ObjectKey) {
        self.known().waiting.remove(key);
    }

    /// The MachineSet is gone, and nobody can say any more whose it was.
    pub fn forget_set(&self, key: &ObjectKey) {
        let mut known = self.known();
        let of_namespace = known.waiting.iter_mut().filter(|(deployment, _)| deployment.namespace == key.namespace);
        of_namespace.for_each(|(_, waiting)| drop(waiting.remove(&key.name)));
        known.waiting.retain(|_, waiting| !waiting.is_empty());
    }

    /// What the MachineDeployment waits for, and then its MachineSets.
    pub fn of(&self, deployment: &ObjectKey) -> Vec<WaitingOn> {
        let known = self.known();
        known.waiting.get(deployment).into_iter().flat_map(BTreeMap::values).flatten().cloned().collect()
    }

    fn note(&self, deployment: ObjectKey, name: String, waiting_on: &[WaitingOn]) {
        let mut known = self.known();
        let mut waiting = known.waiting.remove(&deployment).unwrap_or_default();
        let before = match waiting_on {
            [] => waiting.remove(&name),
            reasons => waiting.insert(name, reasons.to_vec()),
        };
        if !waiting.is_empty() {
            known.waiting.insert(deployment.clone(), waiting);
        }
        if before.unwrap_or_default() != waiting_on {
            known.told.iter().for_each(|queue| queue.add(deployment.clone()));
        }
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
        reasons.note_deployment(&md, &[]);
        assert_eq!(reasons.of(&md), [other("a")]);
        reasons.forget_set(&ObjectKey::new("ns", "ms"));
        assert!(reasons.known().waiting.is_empty(), "who waits for nothing is not remembered");
    }
}
