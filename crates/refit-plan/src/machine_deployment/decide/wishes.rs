//! What users ask for.

use std::time::Duration;

use refit_api::cluster::MachineDeploymentRolloutStrategy;
use refit_api::int_or_percent::AmountError;
use refit_api::policy::{DEFAULT_REPLACE_AFTER, InPlacePolicy};
use refit_api::vocabulary::refit::annotations::REPLACE;

use super::{Observed, Problem};
use crate::machine_deployment::{DeploymentView, Strategy};
use crate::policy;

/// What users ask for.
pub(super) struct Wishes {
    pub view: DeploymentView,
    /// Whether the annotations that set the policy can be read. If not, nothing rolls out.
    pub policy: Result<(), String>,
    /// How long extensions must leave a change uncovered before machines are replaced for it.
    pub replace_after: Duration,
    /// The MachineSet for which the user has given his word that machines may be replaced.
    pub replace: Option<String>,
}

impl Wishes {
    /// Fails on what makes no sense in a way that nothing can be decided. A policy that cannot be read is no such thing:
    /// it forbids to replace anything, and the number of machines is clear.
    pub fn of(observed: &Observed<'_>) -> Result<Self, Problem> {
        let spec = &observed.deployment.spec;
        let replicas = match spec.replicas {
            None => return Err(Problem::NoReplicas),
            Some(negative @ ..0) => return Err(Problem::NegativeReplicas(negative)),
            Some(replicas) => replicas,
        };
        let strategy = strategy(observed, replicas).map_err(Problem::Strategy)?;
        let policy = policy::of_deployment(observed.deployment, observed.cluster);
        let (in_place, keep_originals) = policy.as_ref().copied().unwrap_or((InPlacePolicy::Require, true));
        let paused = spec.paused == Some(true);
        let view = DeploymentView { replicas, strategy, in_place, keep_originals, paused };
        let replace_after = policy::replace_after(observed.deployment, observed.cluster);
        let replace = observed.deployment.metadata.annotations.as_ref().and_then(|all| all.get(REPLACE)).cloned();
        Ok(Self {
            view,
            policy: policy.map(|_| ()),
            replace_after: replace_after.unwrap_or(DEFAULT_REPLACE_AFTER),
            replace,
        })
    }

    /// Whether a change of the template reaches machines without the user's doing.
    pub fn rolls(&self) -> bool {
        !self.view.paused && self.view.strategy.rolls()
    }
}

/// The strategy, which without any is to roll out with the defaults.
pub(super) fn strategy(observed: &Observed<'_>, replicas: i32) -> Result<Strategy, AmountError> {
    let strategy = observed.deployment.spec.rollout.strategy.as_ref();
    Strategy::resolve(strategy.unwrap_or(&MachineDeploymentRolloutStrategy::default()), replicas)
}
