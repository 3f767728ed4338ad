//! Decides what becomes of a SimBootstrapConfig. Pure.

use jiff::Timestamp;
use kube::ResourceExt;
use refit_api::conditions::NewCondition;

use crate::facts::{ClusterFacts, MachineFacts, pause};
use crate::kinds::{DataSecretStatus, SimBootstrapConfig, SimBootstrapConfigStatus};
use crate::readiness::{Waiting, ready, silent_until, with_conditions};
use crate::words::reasons;

/// Everything that the decision may look at.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub config: &'a SimBootstrapConfig,
    /// The Machine that owns it.
    pub owner: Option<&'a MachineFacts>,
    /// The Cluster of that.
    pub cluster: Option<&'a ClusterFacts>,
}

/// The next step. Each may be done twice with the effect of once.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Write the data to its secret, then this status.
    Publish(Box<SimBootstrapConfigStatus>),
    /// Write the status, if nobody has changed the object since.
    SetStatus(Box<SimBootstrapConfigStatus>),
    /// Nothing, until something changes or this time has come.
    Wait { until: Option<Timestamp> },
}

/// The next step for a SimBootstrapConfig. Data that was made once is never made anew.
pub fn decide(observed: &Observed<'_>) -> Step {
    let Observed { config, cluster, .. } = *observed;
    let (is_paused, paused) = pause("SimBootstrapConfig", config, cluster);
    if is_paused {
        return set_status(observed, with(observed, [paused]));
    }
    if config.metadata.deletion_timestamp.is_some() {
        return Step::Wait { until: None };
    }
    if observed.owner.is_none() {
        return wait(observed, Waiting::new(reasons::WAITING_FOR_OWNER, "Waiting for a Machine to own it"), paused);
    }
    if config.status.initialization.data_secret_created == Some(true) {
        return set_status(observed, with(observed, [ready(), paused]));
    }
    if !cluster.is_some_and(|cluster| cluster.is_provisioned) {
        let message = "Waiting for the Cluster's infrastructure";
        return wait(observed, Waiting::new(reasons::WAITING_FOR_CLUSTER, message), paused);
    }
    let mut status = with(observed, [ready(), paused]);
    status.initialization = DataSecretStatus { data_secret_created: Some(true) };
    status.data_secret_name = Some(config.name_any());
    Step::Publish(Box::new(status))
}

fn wait(observed: &Observed<'_>, waiting: Waiting, paused: NewCondition) -> Step {
    if let Some(end) = silent_until(observed.config, observed.now) {
        return Step::Wait { until: Some(end) };
    }
    set_status(observed, with(observed, [waiting.condition(), paused]))
}

fn set_status(observed: &Observed<'_>, status: SimBootstrapConfigStatus) -> Step {
    if status == observed.config.status { Step::Wait { until: None } } else { Step::SetStatus(Box::new(status)) }
}

fn with<const N: usize>(observed: &Observed<'_>, conditions: [NewCondition; N]) -> SimBootstrapConfigStatus {
    let status = observed.config.status.clone();
    SimBootstrapConfigStatus { conditions: with_conditions(&status.conditions, conditions, observed.now), ..status }
}
