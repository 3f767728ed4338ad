//! Takes on control-plane Machines that nobody controls: such as stood alone before there was a control plane, or lost
//! their owner.
//!
//! Either all of them are taken on or none. Until they are, nothing else is decided: a control plane that does not know
//! all of its machines would count etcd's quorum wrong.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use refit_api::bootstrap::{self, KubeadmConfig};
use refit_api::cluster::{Cluster, Machine};
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::owners::{self, OwnerKind};
use refit_api::version::{KubernetesVersion, VersionError};
use refit_api::vocabulary::events;
use serde_json::json;

use super::has_place_for_machines;
use crate::effect::{Effect, Event, Patch, Target};
use crate::fleet;
use crate::machine::paused_by;
use crate::ownership::{self, NoIdentity, ensure_owner};

/// The kind of bootstrap configuration that this control plane can work with.
const KUBEADM_CONFIG: &str = "KubeadmConfig";

/// A control-plane Machine of the Cluster, whoever controls it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub machine: Machine,
    /// What it names as its bootstrap configuration; nothing if that is not there. Of no meaning for one that is controlled.
    pub kubeadm_config: Option<KubeadmConfig>,
}

/// What the control-plane Machines of a Cluster are to its control plane.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "machines that are not taken on yet must not be decided about"]
pub enum Claim {
    /// Those that [it controls](is_controlled) are all that it has to do with. Go on with the decision.
    Complete,
    /// These writes take the others on. Come back when their new owner is seen.
    Adopt(Vec<Effect>),
    /// Some are of a version too far away, so none is taken on. The effects tell the user, who has to change one of the
    /// versions. Nothing else is done meanwhile.
    Refused { machines: Vec<String>, effects: Vec<Effect> },
}

/// Why Machines cannot be taken on. The control plane does nothing until that has changed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("spec.version of KubeadmControlPlane {name} makes no sense")]
    Version { name: String, source: VersionError },
    #[error("spec.version of machine {machine}, which nobody controls, makes no sense")]
    MachineVersion { machine: String, source: VersionError },
    #[error(
        "machine {machine} has no controller and cannot be taken on: its bootstrap configuration is {found}, not a KubeadmConfig"
    )]
    NoKubeadmConfig { machine: String, found: String },
    #[error("machine {machine} has no controller and cannot be taken on yet: KubeadmConfig {config} is not there")]
    MissingKubeadmConfig { machine: String, config: String },
    #[error(
        "not all control plane machines are owned by this KubeadmControlPlane, refusing to operate in mixed management mode: {}",
        .machines.join(", ")
    )]
    Mixed { machines: Vec<String> },
    #[error(transparent)]
    Owner(#[from] NoIdentity),
}

/// Whether the control plane controls the Machine. By uid: one that was deleted and made anew is another one.
pub fn is_controlled(control_plane: &KubeadmControlPlane, machine: &Machine) -> bool {
    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
    control_plane.metadata.uid.as_deref().is_some_and(|uid| owners::is_controlled_by_uid(references, uid))
}

/// What to do about the control-plane Machines of the Cluster that the control plane does not control.
///
/// `control_plane` must have just been read from the API server, not from a cache: of one that was deleted with its
/// Machines left alone, those would be taken on again. `candidates` are all Machines with the labels of the Cluster and of
/// control planes, `secrets` all with the label of the Cluster.
///
/// # Guarantees
/// - A control plane that is paused, being deleted, without its finalizer, or whose Cluster is not ready takes on nothing.
/// - Secrets change their owner before the Machine whose configuration made them: after a crash between the two, the
///   Machine is still found.
/// - A list of owners is replaced only in the version that was read.
pub fn claim(
    control_plane: &KubeadmControlPlane,
    cluster: &Cluster,
    candidates: &[Candidate],
    secrets: &[Secret],
) -> Result<Claim, ClaimError> {
    if !may_adopt(control_plane, cluster) {
        return Ok(Claim::Complete);
    }
    let orphans = by_name(candidates.iter().filter(|candidate| controller(&candidate.machine).is_none()));
    if orphans.is_empty() {
        return refuse_strangers(control_plane, candidates);
    }
    let distant = too_distant(control_plane, &orphans)?;
    if !distant.is_empty() {
        return Ok(refused(control_plane, &distant));
    }
    let mut effects = Vec::new();
    for orphan in orphans {
        effects.extend(adopt(control_plane, orphan, secrets)?);
    }
    Ok(Claim::Adopt(effects))
}

fn may_adopt(control_plane: &KubeadmControlPlane, cluster: &Cluster) -> bool {
    let metadata = &control_plane.metadata;
    let has_finalizer = super::deletion::is_finalizer_set(metadata);
    let is_paused = paused_by(cluster, metadata).is_some();
    has_finalizer && !is_paused && metadata.deletion_timestamp.is_none() && has_place_for_machines(cluster).is_ok()
}

fn controller(machine: &Machine) -> Option<&OwnerReference> {
    owners::controller_of(machine.metadata.owner_references.as_deref().unwrap_or_default())
}

fn by_name<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Vec<&'a Candidate> {
    let mut all: Vec<&Candidate> = candidates.collect();
    all.sort_by_key(|candidate| fleet::name(&candidate.machine));
    all
}

/// Machines of somebody else among those of the cluster: two would move one etcd.
fn refuse_strangers(control_plane: &KubeadmControlPlane, candidates: &[Candidate]) -> Result<Claim, ClaimError> {
    let is_strange = |candidate: &&Candidate| !is_controlled(control_plane, &candidate.machine);
    let strangers = by_name(candidates.iter().filter(is_strange));
    if strangers.is_empty() {
        return Ok(Claim::Complete);
    }
    let machines = strangers.iter().map(|stranger| fleet::name(&stranger.machine).to_owned()).collect();
    Err(ClaimError::Mixed { machines })
}

/// Those whose version is more than a minor version away. One that has none is the user's responsibility.
fn too_distant<'a>(
    control_plane: &KubeadmControlPlane,
    orphans: &[&'a Candidate],
) -> Result<Vec<&'a Machine>, ClaimError> {
    let name = || control_plane.metadata.name.clone().unwrap_or_default();
    let wanted = KubernetesVersion::parse_tolerant(&control_plane.spec.version)
        .map_err(|source| ClaimError::Version { name: name(), source })?;
    let mut distant = Vec::new();
    for orphan in orphans {
        let machine = &orphan.machine;
        config_name(machine)?;
        let Some(version) = machine.spec.version.as_deref().filter(|version| !version.is_empty()) else { continue };
        let version = KubernetesVersion::parse_tolerant(version)
            .map_err(|source| ClaimError::MachineVersion { machine: fleet::name(machine).to_owned(), source })?;
        if !version.is_within_one_minor_of(&wanted) {
            distant.push(machine);
        }
    }
    Ok(distant)
}

fn config_name(machine: &Machine) -> Result<&str, ClaimError> {
    let reference = machine.spec.bootstrap.config_ref.as_ref();
    match reference {
        Some(reference) if reference.kind == KUBEADM_CONFIG => Ok(&reference.name),
        other => Err(ClaimError::NoKubeadmConfig {
            machine: fleet::name(machine).to_owned(),
            found: other
                .map_or_else(|| "none".to_owned(), |reference| format!("{} {}", reference.kind, reference.name)),
        }),
    }
}

fn refused(control_plane: &KubeadmControlPlane, distant: &[&Machine]) -> Claim {
    let namespace = control_plane.metadata.namespace.as_deref().unwrap_or_default();
    let event = |machine: &&Machine| {
        let message = format!(
            "Could not adopt Machine {namespace}/{}: its version ({:?}) is outside supported +/- one minor version skew from KCP's ({:?})",
            fleet::name(machine),
            machine.spec.version.as_deref().unwrap_or_default(),
            control_plane.spec.version
        );
        Effect::Emit(Event::warning(Target::of(control_plane), events::ADOPTION_FAILED, message))
    };
    let machines = distant.iter().map(|machine| fleet::name(machine).to_owned()).collect();
    Claim::Refused { machines, effects: distant.iter().map(event).collect() }
}

/// The certificates that the first machine brought with it become the control plane's, then the Machine does. The host and
/// the configuration stay the Machine's.
fn adopt(
    control_plane: &KubeadmControlPlane,
    orphan: &Candidate,
    secrets: &[Secret],
) -> Result<Vec<Effect>, ClaimError> {
    let machine = &orphan.machine;
    let config = orphan.kubeadm_config.as_ref().ok_or_else(|| ClaimError::MissingKubeadmConfig {
        machine: fleet::name(machine).to_owned(),
        config: config_name(machine).unwrap_or_default().to_owned(),
    })?;
    let reference = ownership::controller(control_plane)?;
    let secrets = secrets.iter().filter_map(|secret| take_secret(secret, config, &reference));
    let machine = ensure_owner(machine, reference.clone());
    Ok(secrets.chain(machine).collect())
}

/// Puts the control plane in the place of the configuration that owns the secret. The bootstrap data stay where they are.
fn take_secret(secret: &Secret, config: &KubeadmConfig, reference: &OwnerReference) -> Option<Effect> {
    let kind = OwnerKind { group: bootstrap::GROUP, kind: KUBEADM_CONFIG };
    let config_name = config.metadata.name.as_deref().unwrap_or_default();
    let mut all = secret.metadata.owner_references.clone().unwrap_or_default();
    let is_data = secret.metadata.name.is_some() && secret.metadata.name == config.status.data_secret_name;
    if is_data || !owners::is_owned_by_name(&all, kind, config_name) || owners::contains_exact(&all, reference) {
        return None;
    }
    let uid = config.metadata.uid.as_deref().unwrap_or_default();
    owners::replace(&mut all, uid, reference.clone());
    let target = Target {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: secret.metadata.namespace.clone(),
        name: secret.metadata.name.clone().unwrap_or_default(),
        uid: secret.metadata.uid.clone(),
    };
    let patch = Patch::object(target, json!({ "metadata": { "ownerReferences": all } }));
    Some(Effect::Patch(Patch { resource_version: secret.metadata.resource_version.clone(), ..patch }))
}

#[cfg(test)]
mod tests;
