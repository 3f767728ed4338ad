//! What the machines of a cluster trust: authorities, keys of service accounts and the kubeconfig, each in a Secret.
//!
//! A Secret with a pair is created once and never written again, so two writers cannot exchange an authority. Only a
//! kubeconfig is renewed, by the owner that controls it. Keys come from the system's randomness, off the threads that
//! serve requests, and appear in no log and no error.

mod error;
mod issue;
mod key_pair;
mod kubeconfig;
mod pem;
mod rsa;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use refit_api::bootstrap::{ClusterConfiguration, EncryptionAlgorithmType};
use refit_plan::certificates::{
    DEFAULT_AUTHORITY_DAYS, Generation, KubeconfigDecision, KubeconfigSecret, NeededPair, Origin, Purpose,
    decide_kubeconfig, decide_pairs,
};

use crate::cache::ObjectKey;
use crate::clock::Clock;

pub use error::CertificateError;
pub use issue::{ClientIdentity, issue_client};
pub use key_pair::KeyPair;
pub use pem::public_key_hashes;
pub use secret::SECRET_TYPE;

/// The Secrets of clusters with what their machines trust.
#[derive(Clone)]
pub struct ClusterCertificates {
    client: Client,
    clock: Clock,
}

/// Of what kind new keys are, and how long a new authority is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySettings {
    pub algorithm: EncryptionAlgorithmType,
    pub authority_days: i32,
}

/// The pairs of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    found: BTreeMap<Purpose, KeyPair>,
    /// Those that are not there, and that were not to be made.
    pub missing: Vec<Purpose>,
}

/// What has become of a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KubeconfigOutcome {
    /// It was made or renewed just now.
    pub is_written: bool,
    /// When it is due for renewal. Nothing if somebody else looks after it.
    pub look_again_after: Option<Duration>,
}

impl KeySettings {
    /// As the configuration says, with upstream's defaults.
    pub fn of(configuration: &ClusterConfiguration) -> Self {
        Self {
            algorithm: configuration.encryption_algorithm.unwrap_or(EncryptionAlgorithmType::Rsa2048),
            authority_days: configuration.ca_certificate_validity_period_days.unwrap_or(DEFAULT_AUTHORITY_DAYS),
        }
    }
}

impl Pairs {
    pub fn get(&self, purpose: Purpose) -> Option<&KeyPair> {
        self.found.get(&purpose)
    }

    /// The names of the Secrets that are not there.
    pub fn missing_secrets(&self, cluster: &str) -> Vec<String> {
        self.missing.iter().map(|purpose| purpose.secret_name(cluster)).collect()
    }
}

impl ClusterCertificates {
    pub fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock }
    }

    /// The pairs that are there. Makes nothing.
    pub async fn find(&self, cluster: &ObjectKey, needed: &[NeededPair]) -> Result<Pairs, CertificateError> {
        let found = self.read(cluster, needed).await?;
        let present: BTreeSet<Purpose> = found.keys().copied().collect();
        Ok(Pairs { found, missing: decide_pairs(needed, &present, Generation::Forbidden).missing })
    }

    /// The pairs that are there, and those that are missing made, to be deleted with `owner`.
    pub async fn find_or_make(
        &self,
        cluster: &ObjectKey,
        needed: &[NeededPair],
        settings: KeySettings,
        owner: &OwnerReference,
    ) -> Result<Pairs, CertificateError> {
        let mut found = self.read(cluster, needed).await?;
        let present: BTreeSet<Purpose> = found.keys().copied().collect();
        let mut decision = decide_pairs(needed, &present, Generation::Allowed);
        for purpose in decision.make {
            match self.make(cluster, purpose, settings, owner).await? {
                Some(pair) => drop(found.insert(purpose, pair)),
                None => decision.missing.push(purpose),
            }
        }
        Ok(Pairs { found, missing: decision.missing })
    }

    /// A new pair, or that of somebody who was first. Nothing if that is gone again already.
    async fn make(
        &self,
        cluster: &ObjectKey,
        purpose: Purpose,
        settings: KeySettings,
        owner: &OwnerReference,
    ) -> Result<Option<KeyPair>, CertificateError> {
        let pair = issue::generate(purpose, settings, self.clock.now()).await?;
        let name = secret::Name::of(cluster, purpose.secret_name(&cluster.name));
        if secret::create(&self.client, &name, &cluster.name, owner, pair.data()).await? {
            tracing::info!(secret = %name, "made a new pair of keys");
            return Ok(Some(pair));
        }
        self.read_one(cluster, purpose, true).await
    }

    /// Makes the kubeconfig of a cluster, or renews it if `owner` controls it. `endpoint` is host and port.
    pub async fn kubeconfig(
        &self,
        cluster: &ObjectKey,
        endpoint: &str,
        settings: KeySettings,
        owner: &OwnerReference,
    ) -> Result<KubeconfigOutcome, CertificateError> {
        let name = kubeconfig::secret_name(cluster);
        let now = self.clock.now();
        let existing = secret::read(&self.client, &name).await?;
        let known =
            existing.as_ref().map_or(Ok(KubeconfigSecret::Missing), |it| kubeconfig::known(&name, it, owner))?;
        let keep = |after: Option<jiff::SignedDuration>| KubeconfigOutcome {
            is_written: false,
            look_again_after: after.and_then(|after| Duration::try_from(after).ok()),
        };
        match (decide_kubeconfig(known, now), existing) {
            (KubeconfigDecision::Keep { look_again_after }, _) => return Ok(keep(look_again_after)),
            (KubeconfigDecision::Renew, Some(old)) => {
                let server = kubeconfig::server_of(&name, &old)?;
                let text = self.new_kubeconfig(cluster, &server, settings).await?;
                secret::replace(&self.client, &name, old, kubeconfig::data(text)).await?;
            }
            (KubeconfigDecision::Make | KubeconfigDecision::Renew, _) => {
                let text = self.new_kubeconfig(cluster, &format!("https://{endpoint}"), settings).await?;
                secret::create(&self.client, &name, &cluster.name, owner, kubeconfig::data(text)).await?;
            }
        }
        tracing::info!(secret = %name, "wrote a new kubeconfig");
        Ok(KubeconfigOutcome { is_written: true, look_again_after: Some(kubeconfig::first_look()) })
    }

    async fn new_kubeconfig(
        &self,
        cluster: &ObjectKey,
        server: &str,
        settings: KeySettings,
    ) -> Result<String, CertificateError> {
        let purpose = Purpose::ClusterAuthority;
        let authority = self.read_one(cluster, purpose, true).await?;
        let missing = || CertificateError::Missing {
            secret: secret::Name::of(cluster, purpose.secret_name(&cluster.name)).to_string(),
        };
        let authority = authority.ok_or_else(missing)?;
        let identity = kubeconfig::administrator();
        let client = issue_client(&authority, &identity, settings.algorithm, self.clock.now()).await?;
        Ok(kubeconfig::text(&cluster.name, server, authority.certificate(), &client))
    }

    async fn read(
        &self,
        cluster: &ObjectKey,
        needed: &[NeededPair],
    ) -> Result<BTreeMap<Purpose, KeyPair>, CertificateError> {
        let mut found = BTreeMap::new();
        for pair in needed {
            let needs_key = pair.origin == Origin::Generated || pair.key_path.is_some();
            if let Some(known) = self.read_one(cluster, pair.purpose, needs_key).await? {
                found.insert(pair.purpose, known);
            }
        }
        Ok(found)
    }

    async fn read_one(
        &self,
        cluster: &ObjectKey,
        purpose: Purpose,
        needs_key: bool,
    ) -> Result<Option<KeyPair>, CertificateError> {
        let name = secret::Name::of(cluster, purpose.secret_name(&cluster.name));
        let found = secret::read(&self.client, &name).await?;
        found.map(|secret| KeyPair::read(&name, &secret, purpose, needs_key)).transpose()
    }
}
