//! What a KubeadmConfig says of itself.

use std::time::Duration;

use refit_api::bootstrap::KubeadmConfig;
use refit_api::conditions::kubeadm_config as words;
use refit_api::conditions::{self, NewCondition};

use super::decision::{Decision, Observed};
use crate::effect::Effect;
use crate::status_patch::status_patch;

/// When to look again for what a user or another controller has to bring, as upstream waits for its lock.
const RETRY: Duration = Duration::from_secs(30);

/// What has come of looking at a KubeadmConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    WaitingForInfrastructure,
    WaitingForControlPlane,
    /// Something else has to happen first.
    Waiting(String),
    /// The Secrets with certificates are missing or cannot be used; the log says why.
    NoCertificates(String),
    /// Nothing moves until somebody changes something.
    Failed(String),
    Available {
        data_secret: String,
    },
}

impl Outcome {
    /// When to look again, where nobody watches what is waited for.
    pub fn look_again_after(&self) -> Option<Duration> {
        match self {
            Self::Waiting(_) | Self::NoCertificates(_) | Self::Failed(_) => Some(RETRY),
            // The Cluster is watched.
            Self::WaitingForInfrastructure | Self::WaitingForControlPlane | Self::Available { .. } => None,
        }
    }
}

/// The write that makes the status say what has come of it. Nothing if it says so already.
pub fn report(observed: &Observed, outcome: &Outcome) -> Option<Effect> {
    let mut after = observed.config.clone();
    set(observed, &mut after, words::not_paused());
    let parts = match outcome {
        Outcome::WaitingForInfrastructure => vec![words::waiting_for_infrastructure()],
        Outcome::WaitingForControlPlane => vec![words::waiting_for_control_plane()],
        Outcome::Waiting(what) | Outcome::Failed(what) => vec![words::data_secret_not_available(what.clone())],
        Outcome::NoCertificates(what) => {
            vec![words::certificates_unknown(), words::data_secret_not_available(what.clone())]
        }
        Outcome::Available { data_secret } => {
            after.status.data_secret_name = Some(data_secret.clone());
            after.status.initialization.data_secret_created = Some(true);
            vec![words::data_secret_available(), words::certificates_available()]
        }
    };
    parts.into_iter().for_each(|part| set(observed, &mut after, part));
    // The parts are never the whole, so there is always a summary.
    if let Ok(ready) = words::ready(&after.status.conditions) {
        set(observed, &mut after, ready);
    }
    after.status.observed_generation = observed.config.metadata.generation.filter(|number| *number > 0);
    status_patch(&observed.config, &observed.config.status, &after.status)
}

impl Decision {
    /// The write that says that the KubeadmConfig is left alone.
    pub fn report_paused(&self, observed: &Observed) -> Option<Effect> {
        let Self::Paused(by) = self else { return None };
        let mut after = observed.config.clone();
        set(observed, &mut after, words::paused("KubeadmConfig", *by));
        status_patch(&observed.config, &observed.config.status, &after.status)
    }
}

fn set(observed: &Observed, after: &mut KubeadmConfig, condition: NewCondition) {
    conditions::set(&mut after.status.conditions, condition, observed.config.metadata.generation, observed.now);
}
