//! The annotations by which users set the policy of a rollout, with words for those that make no sense.

use std::collections::BTreeMap;

use refit_api::policy::RolloutPolicy;

/// The policy that these annotations set, or all that is wrong with them.
pub(crate) fn read(annotations: Option<&BTreeMap<String, String>>) -> Result<RolloutPolicy, String> {
    let Some(annotations) = annotations else { return Ok(RolloutPolicy::default()) };
    RolloutPolicy::read(annotations)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
