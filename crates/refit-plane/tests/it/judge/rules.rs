//! What a rollout is held to, by what its user says at the moment.

use std::time::Duration;

use kube::ResourceExt;
use refit_api::cluster::{MachineDeployment, MachineDeploymentRolloutStrategyType};
use refit_api::vocabulary::refit::annotations::{IN_PLACE, KEEP_ORIGINALS, REPLACE, REPLACE_AFTER};
use refit_plan::check::Rules;

/// What `refit.dev/replace-after` is when nobody says.
const DEFAULT_REPLACE_AFTER: Duration = Duration::from_secs(30);

/// How long an answer has to last before machines are replaced for it, by what the MachineDeployment says.
pub fn replace_after(deployment: &MachineDeployment) -> Duration {
    let says = deployment.annotations().get(REPLACE_AFTER);
    let seconds = says.and_then(|text| text.parse::<jiff::SignedDuration>().ok());
    seconds.and_then(|it| it.try_into().ok()).unwrap_or(DEFAULT_REPLACE_AFTER)
}

/// The rules of a story, with what the MachineDeployment says otherwise.
pub fn in_force(rules: Rules, deployment: &MachineDeployment) -> Rules {
    let says = |key: &str| deployment.annotations().get(key).map(String::as_str);
    let strategy = deployment.spec.rollout.strategy.as_ref().map(|strategy| strategy.type_);
    Rules {
        on_delete: strategy == Some(MachineDeploymentRolloutStrategyType::OnDelete),
        is_paused: deployment.spec.paused == Some(true),
        // The user has given his word for this rollout.
        is_known: rules.is_known || says(REPLACE).is_some(),
        is_required: says(IN_PLACE).map_or(rules.is_required, |policy| policy == "Require"),
        may_update: says(IN_PLACE).map_or(rules.may_update, |policy| policy != "Never"),
        keep_originals: says(KEEP_ORIGINALS).map_or(rules.keep_originals, |keep| keep == "true"),
        ..rules
    }
}
