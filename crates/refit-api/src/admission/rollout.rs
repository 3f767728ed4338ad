//! Rules for the bounds of a rollout, and for other numbers that may be percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{FieldError, FieldPath};
use crate::cluster::MachineDeploymentRolloutStrategyRollingUpdate;
use crate::int_or_percent::Amount;

/// The bounds of a rollout are numbers, and leave it room to move.
///
/// Percentages that come to zero do leave it room: one machine may then be unavailable.
pub fn validate_rolling_update(
    bounds: &MachineDeploymentRolloutStrategyRollingUpdate,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = validate_int_or_percent(bounds.max_unavailable.as_ref(), &path.child("maxUnavailable"));
    errors.extend(validate_int_or_percent(bounds.max_surge.as_ref(), &path.child("maxSurge")));
    let is_zero = |bound: &Option<IntOrString>| *bound == Some(IntOrString::Int(0));
    if is_zero(&bounds.max_surge) && is_zero(&bounds.max_unavailable) {
        errors.push(path.invalid(bounds, "maxSurge and maxUnavailable must not both be 0"));
    }
    errors
}

/// The value, if there is one, is a number or a percentage.
pub fn validate_int_or_percent(value: Option<&IntOrString>, path: &FieldPath) -> Vec<FieldError> {
    let error = |value| Amount::parse(value).err().map(|error| path.invalid(value, error.to_string()));
    value.and_then(error).into_iter().collect()
}
