//! Whether anything is due about a KubeadmConfig.

use jiff::Timestamp;
use refit_api::bootstrap::{Format, KubeadmConfig};
use refit_api::cluster::{Cluster, Machine};
use refit_api::conditions::{PausedBy, is_true};
use refit_api::vocabulary::{condition_types, labels};

use super::Role;
use super::owner::DataSecret;
use super::status::Outcome;
use super::token::{NoToken, Token};
use crate::machine::paused_by;

/// Everything that the decision looks at first.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    pub config: KubeadmConfig,
    /// The Machine that the KubeadmConfig is for.
    pub machine: Machine,
    pub cluster: Cluster,
    pub data_secret: DataSecret,
    /// The token to use if one is needed and the KubeadmConfig has none.
    pub fresh_token: Token,
}

/// What is due about a KubeadmConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, not even a report.
    Rest,
    /// Somebody has paused it.
    Paused(PausedBy),
    /// Nothing can be done, or is to be done. What to say of it.
    Report(Outcome),
    /// The Machine has its data and no Node yet: its token must stay good.
    KeepToken { token: Token, data_secret: String },
    /// The Secret with the data is there and has lost its owner.
    Adopt,
    /// The bootstrap data is due.
    Bootstrap(Role),
}

/// Decides what is due.
///
/// # Guarantees
/// Bootstrap data that was made once is never due again.
pub fn decide(observed: &Observed) -> Decision {
    if let Some(by) = paused_by(&observed.cluster, &observed.config.metadata) {
        return Decision::Paused(by);
    }
    if observed.config.metadata.deletion_timestamp.is_some() || observed.is_machine_going() {
        return Decision::Rest;
    }
    if observed.data_secret == DataSecret::Restored {
        return Decision::Adopt;
    }
    if let Some(name) = observed.available() {
        return after_bootstrap(observed, name);
    }
    before_bootstrap(observed).map_or_else(Decision::Report, Decision::Bootstrap)
}

/// A token is kept good until the Machine has a Node.
fn after_bootstrap(observed: &Observed, name: String) -> Decision {
    let is_reported = observed.config.status.initialization.data_secret_created == Some(true)
        && observed.config.status.data_secret_name.is_some();
    let has_node = observed.machine.status.node_ref.is_some();
    match observed.own_token().filter(|_| is_reported && !has_node) {
        Some(Ok(token)) => Decision::KeepToken { token, data_secret: name },
        Some(Err(_)) | None => Decision::Report(Outcome::Available { data_secret: name }),
    }
}

/// What the data is for, or why it cannot be made yet.
fn before_bootstrap(observed: &Observed) -> Result<Role, Outcome> {
    let name = observed.config.metadata.name.as_deref().unwrap_or_default();
    match observed.data_secret {
        DataSecret::Former => {
            return Err(Outcome::Waiting(format!(
                "Waiting for Secret {name} of an earlier KubeadmConfig to be deleted"
            )));
        }
        DataSecret::Foreign => {
            let words = format!("Secret {name} belongs to somebody else; delete or rename it");
            return Err(Outcome::Failed(words));
        }
        DataSecret::Missing | DataSecret::Own | DataSecret::Restored => {}
    }
    if observed.cluster.status.initialization.infrastructure_provisioned != Some(true) {
        return Err(Outcome::WaitingForInfrastructure);
    }
    if observed.config.spec.format == Some(Format::Ignition) {
        let words = "spec.format ignition is not supported yet; use cloud-config";
        return Err(Outcome::Failed(words.to_owned()));
    }
    match (observed.is_initialized(), observed.is_control_plane()) {
        (true, true) => Ok(Role::JoinControlPlane),
        (true, false) => Ok(Role::JoinWorker),
        (false, true) => Ok(Role::Init),
        (false, false) => Err(Outcome::WaitingForControlPlane),
    }
}

impl Observed {
    /// The Secret with the data, once it is made: as the Machine, the status, or the Secret itself has it.
    fn available(&self) -> Option<String> {
        let status = &self.config.status;
        let by_status = status.data_secret_name.clone().filter(|_| self.is_created());
        let by_secret = || self.config.metadata.name.clone().filter(|_| self.data_secret == DataSecret::Own);
        let by_machine = || self.machine.spec.bootstrap.data_secret_name.clone();
        by_status.or_else(by_machine).or_else(by_secret).or_else(|| {
            // The status says that the data was made, and not where: it is never made again.
            self.config.metadata.name.clone().filter(|_| self.is_created())
        })
    }

    fn is_created(&self) -> bool {
        self.config.status.initialization.data_secret_created == Some(true)
    }

    fn is_machine_going(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn is_control_plane(&self) -> bool {
        self.machine.metadata.labels.as_ref().is_some_and(|own| own.contains_key(labels::CONTROL_PLANE))
    }

    /// The flag is never taken back: a second `kubeadm init` would start a second cluster.
    pub(super) fn is_initialized(&self) -> bool {
        let status = &self.cluster.status;
        status.initialization.control_plane_initialized == Some(true)
            || is_true(&status.conditions, condition_types::CONTROL_PLANE_INITIALIZED)
    }

    /// The token in the KubeadmConfig.
    pub(super) fn own_token(&self) -> Option<Result<Token, NoToken>> {
        let discovery = &self.config.spec.join_configuration.discovery;
        discovery.bootstrap_token.token.as_deref().map(Token::parse)
    }
}
