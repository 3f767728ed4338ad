//! Writes down which machines a MachineSet deletes while a rollout goes on, and why, before it deletes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::{Api, ListParams};
use refit_api::cluster::Machine;
use refit_api::owners;
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::labels;
use refit_plan::effect::Effect;
use refit_plan::machine_rollout::{self, Deletions, is_open};
use refit_plan::machine_set::reconcile::{Decision, Observed};
use refit_plan::reading::Listed;
use tokio::time::timeout;

use crate::act::{EventRecorder, REQUEST_LIMIT, carry_out};
use crate::cache::{BY_OWNER, ObjectKey};
use crate::context::Context;
use crate::controller::Pass;

/// The MachineRollouts could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("no Machine is deleted, as that cannot be written down: MachineRollouts were not listed: {words}")]
struct NotListed {
    words: String,
}

/// Writes down what the decision deletes. Tells whether the decision may be carried out.
///
/// On a server without the kind, and of a MachineSet that rolls nothing out, nothing is written down.
pub(super) async fn deletions(
    context: &Context,
    events: &EventRecorder,
    observed: &Observed,
    decision: &Decision,
    key: &ObjectKey,
    pass: &mut Pass,
) -> bool {
    let machines = deleted(observed, decision);
    let set = &observed.machine_set;
    let owner = owners::controller_of(set.metadata.owner_references.as_deref().unwrap_or_default());
    let is_going = set.metadata.deletion_timestamp.is_some();
    let Some(owner) = owner.filter(|_| !machines.is_empty() && !is_going) else { return true };
    if !context.cache.machine_rollouts.is_ready() {
        return true;
    }
    let rollout = match open_rollout(context, &owner.uid, &set.spec.cluster_name, &key.namespace).await {
        Ok(Some(rollout)) => rollout,
        Ok(None) => return true,
        Err(problem) => {
            pass.problem(key, &problem);
            return false;
        }
    };
    let machines: Vec<&Machine> = machines.iter().map(|machine| &**machine).collect();
    let written = Deletions { now: context.clock.now(), machine_set: set, machines: &machines, rollout: &rollout };
    let carried = carry_out(&machine_rollout::deletions(&written), &context.client, events).await;
    let is_written = carried.failure.is_none();
    pass.carried(key, carried);
    is_written
}

/// The machines that the decision deletes.
fn deleted(observed: &Observed, decision: &Decision) -> Vec<Arc<Machine>> {
    let names: BTreeSet<&str> = decision
        .effects()
        .filter_map(|effect| match effect {
            Effect::Delete(delete) if delete.target.kind == "Machine" => Some(delete.target.name.as_str()),
            _ => None,
        })
        .collect();
    let Listed::All(all) = &observed.machines else { return Vec::new() };
    let is_deleted = |machine: &&Arc<Machine>| machine.metadata.name.as_deref().is_some_and(|it| names.contains(it));
    all.iter().map(|found| &found.machine).filter(is_deleted).cloned().collect()
}

/// The rollout that goes on. The cache may not have one that was written down a moment ago.
async fn open_rollout(
    context: &Context,
    owner: &str,
    cluster: &str,
    namespace: &str,
) -> Result<Option<Arc<MachineRollout>>, NotListed> {
    let newest = |rollouts: Vec<Arc<MachineRollout>>| {
        rollouts.into_iter().filter(|it| is_open(it)).max_by_key(|it| it.spec.number)
    };
    if let Some(rollout) = newest(context.cache.machine_rollouts.by(BY_OWNER, owner)) {
        return Ok(Some(rollout));
    }
    let api: Api<MachineRollout> = Api::namespaced(context.client.clone(), namespace);
    let of_cluster = ListParams::default().labels(&format!("{}={cluster}", labels::CLUSTER_NAME));
    let listed = timeout(REQUEST_LIMIT, api.list(&of_cluster)).await;
    let not_listed = |words: String| NotListed { words };
    let listed = listed.map_err(|error| not_listed(error.to_string()))?;
    let listed = listed.map_err(|error| not_listed(error.to_string()))?;
    let is_own = |it: &MachineRollout| {
        owners::is_controlled_by_uid(it.metadata.owner_references.as_deref().unwrap_or_default(), owner)
    };
    Ok(newest(listed.items.into_iter().filter(is_own).map(Arc::new).collect()))
}
