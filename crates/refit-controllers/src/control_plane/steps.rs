//! Carries out what was decided about a control plane.

use std::collections::BTreeSet;
use std::time::Duration;

use refit_api::vocabulary::annotations::{SKIP_COREDNS, SKIP_KUBE_PROXY};
use refit_plan::control_plane::{Decision, Observed, Step};
use refit_plan::coverage::ContentHash;
use refit_plan::effect::{Effect, Target};
use refit_workload::{Skips, WorkloadCluster, WorkloadError};
use serde_json::json;

use super::ControlPlanes;
use crate::act::carry_out;
use crate::cache::ObjectKey;
use crate::controller::Pass;

/// How often a control plane is looked at that nothing is heard of: nobody watches the Pods of workload clusters.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The workload cluster is needed and cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("there is no connection to the workload cluster")]
struct NotConnected;

impl ControlPlanes {
    /// The steps up to the first that fails, then what is told.
    pub(super) async fn carry_out(
        &self,
        key: &ObjectKey,
        observed: &Observed,
        decision: &Decision,
        workload: Option<&dyn WorkloadCluster>,
        pass: &mut Pass,
    ) {
        let mut written = BTreeSet::new();
        let mut is_done = true;
        for step in &decision.steps {
            is_done = match step {
                Step::Write(effect) => self.write(key, effect, &mut written, pass).await,
                request => self.request(key, observed, request, workload, pass).await,
            };
            if !is_done {
                break;
            }
        }
        // What is told of an object that was just written would be refused for its version, and is told anew by the next pass,
        // which the write leads to.
        for report in decision.reports.iter().filter(|report| target(report).is_none_or(|it| !written.contains(it))) {
            self.write(key, report, &mut BTreeSet::new(), pass).await;
        }
        if is_done && decision.is_settled {
            self.update_addons(key, observed, workload, pass).await;
        }
        pass.again(workload.map(|_| LOOK_AGAIN));
    }

    async fn write(&self, key: &ObjectKey, effect: &Effect, written: &mut BTreeSet<Target>, pass: &mut Pass) -> bool {
        let carried = carry_out([effect], &self.context.client, &self.events).await;
        let is_done = carried.failure.is_none();
        written.extend(carried.written.iter().map(|it| it.target().clone()));
        pass.carried(key, carried);
        is_done
    }

    async fn request(
        &self,
        key: &ObjectKey,
        observed: &Observed,
        step: &Step,
        workload: Option<&dyn WorkloadCluster>,
        pass: &mut Pass,
    ) -> bool {
        let Some(workload) = workload else {
            pass.problem(key, &NotConnected);
            return false;
        };
        let done = self.ask_workload(observed, step, workload).await;
        done.inspect_err(|error| pass.problem(key, error)).is_ok()
    }

    async fn ask_workload(
        &self,
        observed: &Observed,
        step: &Step,
        workload: &dyn WorkloadCluster,
    ) -> Result<(), WorkloadError> {
        let configuration = &observed.control_plane.spec.kubeadm_config_spec.cluster_configuration;
        match step {
            Step::ForwardEtcdLeadership { from, candidates } => {
                workload.forward_etcd_leadership(from, candidates).await
            }
            Step::RemoveEtcdMember { name } => workload.remove_etcd_member(name).await,
            Step::PrepareWorkloadCluster { version } => workload.prepare(version, configuration).await,
            Step::Write(_) => Ok(()),
        }
    }

    /// kube-proxy and CoreDNS follow once all Machines are as they should be.
    async fn update_addons(
        &self,
        key: &ObjectKey,
        observed: &Observed,
        workload: Option<&dyn WorkloadCluster>,
        pass: &mut Pass,
    ) {
        let Some(workload) = workload.filter(|_| is_initialized(observed)) else { return };
        let (spec, skips) = (&observed.control_plane.spec, skips(observed));
        let configuration = &spec.kubeadm_config_spec.cluster_configuration;
        let wanted = ContentHash::of(&json!([spec.version, configuration, skips.kube_proxy, skips.coredns]));
        if self.memories.has_addons(key, &wanted) {
            return;
        }
        match workload.update_addons(&spec.version, configuration, skips).await {
            Ok(()) => self.memories.note_addons(key, wanted),
            Err(error) => pass.problem(key, &error),
        }
    }
}

fn is_initialized(observed: &Observed) -> bool {
    observed.control_plane.status.initialization.control_plane_initialized == Some(true)
}

/// What the user sees to.
fn skips(observed: &Observed) -> Skips {
    let annotations = observed.control_plane.metadata.annotations.as_ref();
    let has = |key: &str| annotations.is_some_and(|all| all.contains_key(key));
    Skips { kube_proxy: has(SKIP_KUBE_PROXY), coredns: has(SKIP_COREDNS) }
}

/// What a report is written to. An event is written to nothing.
fn target(report: &Effect) -> Option<&Target> {
    match report {
        Effect::Apply(apply) => Some(&apply.target),
        Effect::Patch(patch) => Some(&patch.target),
        Effect::Delete(delete) => Some(&delete.target),
        Effect::Emit(_) => None,
    }
}
