//! Questions to ask of one Machine.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::conditions;
use refit_api::hooks::Hook;
use refit_api::pending_hooks;
use refit_api::vocabulary::refit::annotations::{SCAFFOLDING, UPDATE_PLAN};
use refit_api::vocabulary::{annotations, condition_types as types, refit};
use serde_json::Value;

use super::observed::ObservedMachine;
use crate::coverage::{FrozenPlan, FrozenPlanError};
use crate::machine::{is_updating, lagging_kubelet};

/// The hook whose answer ends an update in place.
pub(super) const UPDATE_MACHINE: &str = Hook::UpdateMachine.name();

static NO_ANNOTATIONS: BTreeMap<String, String> = BTreeMap::new();

/// The conditions of the components that every control plane machine runs.
pub(super) const COMPONENTS: [&str; 3] =
    [types::API_SERVER_POD_HEALTHY, types::CONTROLLER_MANAGER_POD_HEALTHY, types::SCHEDULER_POD_HEALTHY];

impl ObservedMachine {
    pub(super) fn name(&self) -> &str {
        self.machine.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn annotations(&self) -> &BTreeMap<String, String> {
        self.machine.metadata.annotations.as_ref().unwrap_or(&NO_ANNOTATIONS)
    }

    pub(super) fn has(&self, annotation: &str) -> bool {
        self.annotations().contains_key(annotation)
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    /// Whether its update in place has begun, be it only to be written.
    pub(super) fn is_marked(&self) -> bool {
        self.has(annotations::UPDATE_IN_PROGRESS)
    }

    /// Whether the Machine controller has been told to update it.
    pub(super) fn is_pending(&self) -> bool {
        pending_hooks::is_pending(self.annotations(), UPDATE_MACHINE)
    }

    /// Whether it is being updated in place. One of the marks is enough: they come and go one after the other.
    pub(super) fn is_updating(&self) -> bool {
        is_updating(self.annotations())
    }

    /// Whether its update failed for good.
    pub(super) fn has_failed_update(&self) -> bool {
        self.is_true(refit::condition_types::UPDATE_FAILED)
    }

    /// Whether it is there only until the others are updated.
    pub(super) fn is_scaffolding(&self) -> bool {
        self.has(SCAFFOLDING)
    }

    /// The plan of its update; an error if it has one that cannot be read.
    pub(super) fn frozen_plan(&self) -> Option<Result<FrozenPlan, FrozenPlanError>> {
        self.annotations().get(UPDATE_PLAN).map(|text| FrozenPlan::decode(text))
    }

    pub(super) fn node_name(&self) -> Option<&str> {
        self.machine.status.node_ref.as_ref().map(|node| node.name.as_str()).filter(|name| !name.is_empty())
    }

    pub(super) fn is_true(&self, condition: &str) -> bool {
        conditions::is_true(&self.machine.status.conditions, condition)
    }

    pub(super) fn is_false(&self, condition: &str) -> bool {
        conditions::is_false(&self.machine.status.conditions, condition)
    }

    /// Older ones sort before younger ones; the name decides between twins.
    pub(super) fn age(&self) -> (Option<Timestamp>, &str) {
        (self.machine.metadata.creation_timestamp.as_ref().map(|time| time.0), self.name())
    }

    pub(super) fn failure_domain(&self) -> Option<&str> {
        self.machine.spec.failure_domain.as_deref().filter(|domain| !domain.is_empty())
    }

    /// The version that its kubelet reports and the one that it should be, where they differ.
    pub(super) fn lagging_kubelet(&self) -> Option<(&str, &str)> {
        lagging_kubelet(&self.machine)
    }

    /// Whether one of its components says that it is not healthy. One that says nothing does not count.
    pub(super) fn has_unhealthy_component(&self, is_etcd_managed: bool) -> bool {
        health_conditions(is_etcd_managed).any(|condition| self.is_false(condition))
    }

    /// Whether its components run, the etcd Pod included.
    pub(super) fn has_healthy_components(&self, is_etcd_managed: bool) -> bool {
        let etcd = is_etcd_managed.then_some(types::ETCD_POD_HEALTHY);
        COMPONENTS.into_iter().chain(etcd).all(|condition| self.is_true(condition))
    }

    /// Whether a MachineHealthCheck found it unhealthy and leaves it to the control plane.
    pub(super) fn is_to_be_remediated(&self) -> bool {
        self.is_false(types::HEALTH_CHECK_SUCCEEDED) && self.is_false(types::OWNER_REMEDIATED)
    }
}

/// The conditions that say whether a control plane machine is healthy.
pub(super) fn health_conditions(is_etcd_managed: bool) -> impl Iterator<Item = &'static str> {
    let etcd = [types::ETCD_POD_HEALTHY, types::ETCD_MEMBER_HEALTHY];
    COMPONENTS.into_iter().chain(etcd.into_iter().filter(move |_| is_etcd_managed))
}

/// An annotation of a provider's object.
pub(super) fn annotation_of<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}
