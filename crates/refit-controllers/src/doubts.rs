//! Who has to wait because an object cannot be decoded: whoever it may belong to. Everybody else goes on.

use kube::core::ObjectMeta;
use refit_api::cluster::{MachineDeployment, MachineHealthCheck, MachineSet};
use refit_api::owners;
use refit_api::selector::Selector;
use refit_api::vocabulary::labels;
use refit_plan::reading::Unreadable;

use crate::cache::{Cache, ObjectKey, Undecodable};

impl Cache {
    /// Why the Machines of a MachineSet are not known, if they are not.
    pub fn doubt_of_machines(&self, set: &MachineSet, selector: &Selector) -> Option<Unreadable> {
        let (namespace, uid) = (namespace_of(&set.metadata), uid_of(&set.metadata));
        let is_its = |own: &ObjectMeta| is_owned(own, uid) || (is_orphaned(own) && is_selected(own, selector));
        let doubt = self.machines.doubt(|one, before| {
            one.may_be(namespace, is_its) || before.is_some_and(|machine| is_owned(&machine.metadata, uid))
        });
        doubt.map(|one| one.unreadable("machines"))
    }

    /// Why the MachineSets of a MachineDeployment or the Machines of these are not known, if they are not.
    pub fn doubt_of_deployment(
        &self,
        deployment: &MachineDeployment,
        sets: &[&MachineSet],
        selector: &Selector,
    ) -> Option<Unreadable> {
        let (namespace, uid) = (namespace_of(&deployment.metadata), uid_of(&deployment.metadata));
        let is_set = |own: &ObjectMeta| is_owned(own, uid) || is_selected(own, selector);
        let of_sets = self
            .machine_sets
            .doubt(|one, before| one.may_be(namespace, is_set) || before.is_some_and(|set| is_set(&set.metadata)));
        let is_machine = |own: &ObjectMeta| {
            sets.iter().any(|set| is_owned(own, uid_of(&set.metadata))) || is_selected(own, selector)
        };
        let of_machines = || {
            self.machines.doubt(|one, before| {
                one.may_be(namespace, is_machine) || before.is_some_and(|machine| is_machine(&machine.metadata))
            })
        };
        let of_sets = of_sets.map(|one| one.unreadable("machine sets"));
        of_sets.or_else(|| of_machines().map(|one| one.unreadable("machines")))
    }

    /// Why the Machines that a MachineHealthCheck looks at are not known, if they are not.
    pub fn doubt_of_check(&self, check: &MachineHealthCheck) -> Option<Unreadable> {
        let selector = Selector::from_field(Some(&check.spec.selector)).ok()?;
        let namespace = namespace_of(&check.metadata);
        let is_its = |own: &ObjectMeta| is_in(own, &check.spec.cluster_name) && is_selected(own, &selector);
        let doubt = self.machines.doubt(|one, before| {
            one.may_be(namespace, is_its) || before.is_some_and(|machine| is_its(&machine.metadata))
        });
        doubt.map(|one| one.unreadable("machines"))
    }

    /// Why what belongs to a Cluster is not known, if it is not.
    pub fn doubt_of_cluster(&self, cluster: &ObjectKey) -> Option<Unreadable> {
        let is_its = |one: &Undecodable| one.may_be(&cluster.namespace, |own| is_in(own, &cluster.name));
        let deployments = self.machine_deployments.doubt(|one, _| is_its(one));
        let sets = || self.machine_sets.doubt(|one, _| is_its(one));
        let machines = || self.machines.doubt(|one, _| is_its(one));
        let of = |what: &'static str| move |one: Undecodable| one.unreadable(what);
        let deployments = deployments.map(of("machine deployments"));
        deployments.or_else(|| sets().map(of("machine sets"))).or_else(|| machines().map(of("machines")))
    }
}

fn namespace_of(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

fn uid_of(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}

fn is_owned(metadata: &ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

fn is_orphaned(metadata: &ObjectMeta) -> bool {
    owners::controller_of(metadata.owner_references.as_deref().unwrap_or_default()).is_none()
}

fn is_selected(metadata: &ObjectMeta, selector: &Selector) -> bool {
    metadata.labels.as_ref().is_some_and(|own| selector.matches(own))
}

/// One without the label may be of any Cluster: the field that says which cannot be read.
fn is_in(metadata: &ObjectMeta, cluster: &str) -> bool {
    let label = metadata.labels.as_ref().and_then(|own| own.get(labels::CLUSTER_NAME));
    label.is_none_or(|label| label == cluster)
}
