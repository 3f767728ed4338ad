//! Defaults and rules of MachineDeployments.

#[cfg(test)]
mod tests;

use kube::ResourceExt;

use super::cluster_name::{label_with_cluster, validate_as_label};
use super::machine_template::default_version;
use super::replicated::{Replicated, default_replicas, is_empty, select_by};
use super::rollout::{validate_int_or_percent, validate_rolling_update};
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::cluster::{MachineDeployment, MachineDeploymentRolloutStrategy, MachineDeploymentRolloutStrategyType};
use crate::policy::validate_rollout_annotations;
use crate::resource::is_default;
use crate::vocabulary::labels;

impl Admission for MachineDeployment {
    fn set_defaults(&mut self, old: Option<&Self>) {
        let name = self.name_any();
        label_with_cluster(&mut self.metadata, &self.spec.cluster_name);
        if self.spec.replicas.is_none() {
            self.spec.replicas = default_replicas(self.annotations(), old.and_then(|old| old.spec.replicas));
        }
        default_strategy(self.spec.rollout.strategy.get_or_insert_default());
        let spec = &mut self.spec;
        if is_empty(&spec.selector) {
            select_by(labels::DEPLOYMENT_NAME, &name, &mut spec.selector, &mut spec.template);
        }
        select_by(labels::CLUSTER_NAME, &spec.cluster_name, &mut spec.selector, &mut spec.template);
        default_version(&mut spec.template.spec.version);
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let spec = &self.spec;
        let shared = Replicated {
            annotations: self.annotations(),
            cluster_name: &spec.cluster_name,
            replicas: spec.replicas,
            selector: &spec.selector,
            template: &spec.template,
            machine_naming: &spec.machine_naming,
        };
        let mut errors = validate_as_label(&self.metadata);
        errors.extend(shared.validate(old.map(|old| old.spec.cluster_name.as_str())));
        errors.extend(spec.rollout.strategy.iter().flat_map(validate_strategy));
        let max_in_flight = FieldPath::new("spec.remediation.maxInFlight");
        errors.extend(validate_int_or_percent(spec.remediation.max_in_flight.as_ref(), &max_in_flight));
        let in_place = spec.rollout.strategy.as_ref().and_then(MachineDeploymentRolloutStrategy::in_place_policy);
        errors.extend(validate_rollout_annotations(self.annotations(), in_place, old.map(ResourceExt::annotations)));
        errors.into()
    }
}

/// Fills in the bounds of a rollout that the user does not give.
fn default_strategy(strategy: &mut MachineDeploymentRolloutStrategy) {
    if strategy.type_ != MachineDeploymentRolloutStrategyType::OnDelete {
        strategy.rolling_update = strategy.bounds();
    }
}

fn validate_strategy(strategy: &MachineDeploymentRolloutStrategy) -> Vec<FieldError> {
    let path = FieldPath::new("spec.rollout.strategy");
    let mut errors = validate_rolling_update(&strategy.rolling_update, &path.child("rollingUpdate"));
    if strategy.fallback.is_some() && strategy.type_ != MachineDeploymentRolloutStrategyType::InPlace {
        errors.push(path.child("fallback").forbidden("only the strategy InPlace has a fallback"));
    }
    errors.extend(validate_fallback_bounds(strategy, &path.child("fallbackRollingUpdate")));
    errors
}

/// The bounds of a fallback need one. Together with those that they leave out, they leave it room to move.
fn validate_fallback_bounds(strategy: &MachineDeploymentRolloutStrategy, path: &FieldPath) -> Vec<FieldError> {
    if is_default(&strategy.fallback_rolling_update) {
        return Vec::new();
    }
    if strategy.fallback.is_none() {
        return vec![path.forbidden("there is no fallback; set fallback to RollingUpdate")];
    }
    let mut errors = validate_rolling_update(&strategy.fallback_rolling_update, path);
    if errors.is_empty() && !validate_rolling_update(&strategy.fallback_bounds(), path).is_empty() {
        let detail = "with what is unset taken from rollingUpdate, maxSurge and maxUnavailable would both be 0";
        errors.push(path.invalid(&strategy.fallback_rolling_update, detail));
    }
    errors
}
