//! The annotations by which users set the policy of a rollout, with words for those that make no sense.

use std::collections::BTreeMap;
use std::time::Duration;

use refit_api::cluster::{Cluster, MachineDeployment, MachineDeploymentRolloutStrategy};
use refit_api::policy::{DEFAULT_REPLACE_AFTER, InPlacePolicy, RolloutPolicy};

/// The policy that these annotations set, or all that is wrong with them.
pub(crate) fn read(annotations: Option<&BTreeMap<String, String>>) -> Result<RolloutPolicy, String> {
    let Some(annotations) = annotations else { return Ok(RolloutPolicy::default()) };
    RolloutPolicy::read(annotations)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// What is asked of the rollouts of a MachineDeployment, by itself or else by its Cluster: the policy, and whether machines
/// that were there first stay.
pub(crate) fn of_deployment(
    deployment: &MachineDeployment,
    cluster: &Cluster,
) -> Result<(InPlacePolicy, bool), String> {
    let strategy = deployment.spec.rollout.strategy.as_ref();
    let strategy = strategy.and_then(MachineDeploymentRolloutStrategy::in_place_policy);
    let own = read(deployment.metadata.annotations.as_ref())?;
    let default = read(cluster.metadata.annotations.as_ref())?;
    Ok((InPlacePolicy::resolve(strategy, own.in_place, default.in_place), own.or(default).keeps_originals()))
}

/// How long extensions must leave a change uncovered before machines are replaced for it.
pub(crate) fn replace_after(deployment: &MachineDeployment, cluster: &Cluster) -> Result<Duration, String> {
    let own = read(deployment.metadata.annotations.as_ref())?;
    let default = read(cluster.metadata.annotations.as_ref())?;
    Ok(own.or(default).replace_after.unwrap_or(DEFAULT_REPLACE_AFTER))
}

/// Whether machines that were there first stay, as far as they can be updated in place.
pub(crate) fn keeps_originals(in_place: InPlacePolicy, keep_originals: bool) -> bool {
    match in_place {
        InPlacePolicy::Prefer => keep_originals,
        InPlacePolicy::Require => true,
        InPlacePolicy::Never => false,
    }
}
