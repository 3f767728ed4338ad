//! From one step to the next, until the bootstrap data is in its Secret.

use refit_api::bootstrap::{File, KubeadmConfig, User};

use super::Role;
use super::complete::complete;
use super::decision::Observed;
use super::lock::InitLock;
use super::render::{BootstrapData, CertificateFile, Facts, render};
use super::status::Outcome;
use super::token::Token;
use crate::certificates::{Generation, NeededPair, needed_by_control_plane, needed_by_worker};
use crate::effect::Patch;
use crate::merge::OwnWrites;

/// What has come of the steps so far; nothing of those that were not taken.
#[derive(Default)]
pub struct Progress {
    pub lock: Option<InitLock>,
    /// The lock of a cluster that runs is taken away.
    pub is_unlocked: bool,
    pub pairs: Option<PairsSeen>,
    /// Or why there is no content.
    pub sources: Option<Result<Sources, String>>,
    pub token: Option<TokenStep>,
}

/// The certificates of the cluster, as far as this Machine needs them.
pub enum PairsSeen {
    Found {
        authority: Authority,
        /// What goes to the host.
        files: Vec<CertificateFile>,
    },
    /// The names of Secrets.
    Missing(Vec<String>),
    /// Why they cannot be used.
    Unusable(String),
}

/// By what a Machine knows its cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authority {
    /// In PEM.
    pub certificate: String,
    /// Of the public keys in it, as kubeadm has them.
    pub hashes: Vec<String>,
}

/// What the KubeadmConfig takes from other objects.
#[derive(Default)]
pub struct Sources {
    /// `spec.files` with the content of Secrets in them.
    pub files: Vec<File>,
    /// `spec.users` with the passwords of Secrets in them.
    pub users: Vec<User>,
    /// For templates.
    pub control_plane_version: Option<String>,
}

/// What came of making the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenStep {
    Good,
    /// The workload cluster cannot be reached, or refuses.
    Failed(String),
}

/// What to do next.
pub enum Step {
    /// Look who holds the init lock.
    LookAtLock,
    /// Create the lock for this Machine. Whoever was first holds it.
    TakeLock,
    /// Delete the lock of a Machine that is gone, as it was seen. Then look again.
    DeleteStaleLock,
    /// Delete the lock, if there is one: the cluster runs.
    Unlock,
    FindPairs {
        needed: Vec<NeededPair>,
        generation: Generation,
    },
    /// Read what the KubeadmConfig takes from other objects.
    ReadSources,
    /// Write the completed spec back. The pass ends with it: the next one begins from what was written.
    WriteBack(Box<Patch>),
    /// Make the token good in the workload cluster.
    MakeToken(Token),
    /// Create the Secret with the data.
    Store(BootstrapData),
    /// No more for now.
    Stop(Outcome),
    /// The same, and nothing was handed out yet: the lock goes, so that another Machine may try.
    StopAndUnlock(Outcome),
}

/// Names the next step.
///
/// # Guarantees
/// No data is stored before its token is written down and good, and none for `kubeadm init` without the lock.
pub fn next_step(observed: &Observed, role: Role, progress: &Progress) -> Step {
    if let Some(step) = about_lock(observed, role, progress) {
        return step;
    }
    let Some(pairs) = &progress.pairs else { return find_pairs(observed, role) };
    let (authority, files) = match pairs {
        PairsSeen::Found { authority, files } => (authority, files),
        PairsSeen::Missing(secrets) => {
            return stop(role, Outcome::NoCertificates(format!("Waiting for Secrets {}", secrets.join(", "))));
        }
        PairsSeen::Unusable(why) => return stop(role, Outcome::NoCertificates(why.clone())),
    };
    let sources = match &progress.sources {
        None => return Step::ReadSources,
        Some(Err(why)) => return stop(role, Outcome::Failed(why.clone())),
        Some(Ok(sources)) => sources,
    };
    let spec = match complete(observed, role, authority) {
        Ok(spec) => spec,
        Err(outcome) => return stop(role, outcome),
    };
    let completed = KubeadmConfig { spec, ..observed.config.clone() };
    // The data is made before anything is written: what cannot be rendered takes no token.
    let facts = Facts { cluster: &observed.cluster, machine: &observed.machine, certificates: files, sources };
    let data = match render(&completed.spec, role, &facts) {
        Ok(data) => data,
        Err(error) => return stop(role, Outcome::Failed(error.to_string())),
    };
    if let Some(patch) = OwnWrites::of(&observed.config, &completed).object {
        return Step::WriteBack(Box::new(patch));
    }
    match (role, observed.own_token(), &progress.token) {
        (Role::JoinControlPlane | Role::JoinWorker, Some(Ok(token)), None) => Step::MakeToken(token),
        (_, _, Some(TokenStep::Failed(why))) => Step::Stop(Outcome::Waiting(why.clone())),
        (Role::Init, _, _) | (_, None | Some(Err(_)), _) | (_, _, Some(TokenStep::Good)) => Step::Store(data),
    }
}

/// The first control plane Machine takes the lock; all others take it away once the cluster runs.
fn about_lock(observed: &Observed, role: Role, progress: &Progress) -> Option<Step> {
    if role != Role::Init {
        return (!progress.is_unlocked).then_some(Step::Unlock);
    }
    let wait = |words: String| Step::Stop(Outcome::Waiting(words));
    match progress.lock.as_ref() {
        None => Some(Step::LookAtLock),
        Some(InitLock::Free) => Some(Step::TakeLock),
        Some(InitLock::Held) => None,
        Some(InitLock::Stale { .. }) => Some(Step::DeleteStaleLock),
        Some(InitLock::HeldByOther { machine }) => {
            Some(wait(format!("Waiting for Machine {machine} to initialize the control plane")))
        }
        Some(InitLock::Unreadable) => {
            let name = super::lock_name(observed.cluster.metadata.name.as_deref().unwrap_or_default());
            Some(wait(format!("ConfigMap {name} does not say which Machine initializes the control plane; delete it")))
        }
    }
}

fn find_pairs(observed: &Observed, role: Role) -> Step {
    let configuration = &observed.config.spec.cluster_configuration;
    let is_managed = observed.cluster.spec.control_plane_ref.is_some();
    match role {
        // A control plane's own controller makes them before the first Machine.
        Role::Init if is_managed => {
            Step::FindPairs { needed: needed_by_control_plane(configuration), generation: Generation::Forbidden }
        }
        Role::Init => {
            Step::FindPairs { needed: needed_by_control_plane(configuration), generation: Generation::Allowed }
        }
        Role::JoinControlPlane => {
            Step::FindPairs { needed: needed_by_control_plane(configuration), generation: Generation::Forbidden }
        }
        Role::JoinWorker => Step::FindPairs { needed: needed_by_worker(), generation: Generation::Forbidden },
    }
}

/// Nothing has been stored, so no Machine can have begun with it.
fn stop(role: Role, outcome: Outcome) -> Step {
    match role {
        Role::Init => Step::StopAndUnlock(outcome),
        Role::JoinControlPlane | Role::JoinWorker => Step::Stop(outcome),
    }
}
