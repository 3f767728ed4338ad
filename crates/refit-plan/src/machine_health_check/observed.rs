//! Everything that the decision about a MachineHealthCheck may look at.

use jiff::Timestamp;
use refit_api::cluster::{Cluster, Machine, MachineHealthCheck};
use refit_api::selector::Selector;
use refit_api::vocabulary::{annotations, labels};
use serde_json::Value;

use super::problem::Problem;
use crate::machine::{NodeSeen, UpdateLimits};

/// Everything that the decision about a MachineHealthCheck may look at; what is not here cannot influence it.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    pub check: MachineHealthCheck,
    pub cluster: Cluster,
    /// The Machines of the Cluster, or those of them that the check selects.
    pub machines: Vec<MachineSeen>,
    /// What the check names as its template.
    pub template: TemplateSeen,
}

/// A Machine, and what its health depends on.
#[derive(Debug, Clone)]
pub struct MachineSeen {
    pub machine: Machine,
    /// The Node that `status.nodeRef` names. Not looked for while there is none, or no control plane to ask.
    pub node: NodeSeen,
    /// The limits of its update, from its owner. Nothing where they cannot be read: then there are none.
    pub update_limits: UpdateLimits,
    /// The request for its repair by somebody else.
    pub request: RequestSeen,
}

/// The request for the repair of a Machine by somebody else.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RequestSeen {
    #[default]
    Missing,
    Found(Value),
    /// It is missing, and the last try to create it failed.
    Refused {
        why: String,
    },
}

/// The template of requests for repair.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum TemplateSeen {
    /// The check names none.
    #[default]
    NotReferenced,
    Found(Value),
    /// It is missing or cannot be read.
    Unusable {
        why: String,
    },
}

impl MachineSeen {
    pub fn name(&self) -> &str {
        self.machine.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn has_annotation(&self, key: &str) -> bool {
        self.machine.metadata.annotations.as_ref().is_some_and(|own| own.contains_key(key))
    }
}

impl Observed {
    /// The Machines that the check is about: selected, of its Cluster, and not excepted by the user.
    ///
    /// A Node that could not be read is a problem of the whole check: the number of unhealthy Machines is not known.
    pub(super) fn targets(&self) -> Result<Vec<&MachineSeen>, Problem> {
        let selector = Selector::from_field(Some(&self.check.spec.selector)).map_err(Problem::Selector)?;
        // An empty selector should never get past admission. It must not mean all Machines.
        let selector = if selector.is_everything() { Selector::Nothing } else { selector };
        let targets: Vec<&MachineSeen> = self.machines.iter().filter(|seen| self.is_target(&selector, seen)).collect();
        targets.iter().try_for_each(|target| readable(target))?;
        Ok(targets)
    }

    fn is_target(&self, selector: &Selector, seen: &MachineSeen) -> bool {
        let labels = seen.machine.metadata.labels.clone().unwrap_or_default();
        let is_of_cluster = labels.get(labels::CLUSTER_NAME) == Some(&self.check.spec.cluster_name);
        let is_excepted =
            seen.has_annotation(annotations::PAUSED) || seen.has_annotation(annotations::SKIP_REMEDIATION);
        is_of_cluster && !is_excepted && selector.matches(&labels)
    }
}

fn readable(target: &MachineSeen) -> Result<(), Problem> {
    let why = match &target.node {
        NodeSeen::Unreadable { why } => why.clone(),
        NodeSeen::NotConnected => "there is no connection to the workload cluster".to_owned(),
        NodeSeen::Found(_) | NodeSeen::Missing | NodeSeen::NotLookedFor => return Ok(()),
    };
    Err(Problem::Node { machine: target.name().to_owned(), why })
}
