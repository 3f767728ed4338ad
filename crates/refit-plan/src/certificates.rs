//! Decides which certificates of a cluster are made, and when its kubeconfig is renewed.
//!
//! The keys themselves are no business of this module: it knows names, paths and times.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use refit_api::bootstrap::ClusterConfiguration;

/// Where kubeadm keeps certificates unless it is told otherwise.
pub const DEFAULT_CERTIFICATES_DIR: &str = "/etc/kubernetes/pki";
/// How long an authority is valid unless the configuration says otherwise, as upstream.
pub const DEFAULT_AUTHORITY_DAYS: i32 = 3650;
/// How long the client certificate in a kubeconfig is valid.
pub const KUBECONFIG_VALIDITY: SignedDuration = SignedDuration::from_hours(365 * 24);
/// A kubeconfig is renewed when less than this is left: half of its validity.
pub const KUBECONFIG_RENEWAL: SignedDuration = SignedDuration::from_hours(365 * 24 / 2);

/// What a pair of certificate and key is for. Each is in a Secret of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Signs what API servers and their clients show.
    ClusterAuthority,
    /// Signs what members of etcd and their clients show.
    EtcdAuthority,
    /// Signs what API servers show to extension API servers.
    FrontProxyAuthority,
    /// A public and a private key, no certificate: signs the tokens of service accounts.
    ServiceAccount,
    /// How API servers log in to an etcd that somebody else runs. Only a user can make it.
    ApiServerEtcdClient,
}

/// A pair that a Machine needs, and where it goes on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededPair {
    pub purpose: Purpose,
    pub certificate_path: String,
    /// Nothing where only the certificate goes to the host.
    pub key_path: Option<String>,
    pub origin: Origin,
}

/// Who makes a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Made where that is allowed. Certificate and key must both be there.
    Generated,
    /// Made by a user, for an etcd that somebody else runs. The authority comes without its key.
    User,
}

/// Whether pairs that are missing may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    Allowed,
    /// The cluster runs already, or somebody else makes them: another authority would cut off all that trust the lost one.
    Forbidden,
}

/// What to do about the pairs of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "missing pairs have to be made or reported"]
pub struct PairsDecision {
    pub make: Vec<Purpose>,
    /// Missing, and not to be made.
    pub missing: Vec<Purpose>,
}

/// What is known of the Secret with a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeconfigSecret {
    Missing,
    /// Somebody else's: another owner controls it, or nobody.
    Foreign,
    /// The given owner controls it. The first of its client certificates ends then.
    Owned {
        expires: Timestamp,
    },
}

/// What to do about a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeconfigDecision {
    Make,
    Renew,
    /// Nothing now. `look_again_after`: when it will be due, if refit renews it.
    Keep {
        look_again_after: Option<SignedDuration>,
    },
}

impl Purpose {
    /// The name of the Secret.
    pub fn secret_name(self, cluster: &str) -> String {
        format!("{cluster}-{}", self.suffix())
    }

    /// The end of the Secret's name, which is also how upstream calls the purpose.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ClusterAuthority => "ca",
            Self::EtcdAuthority => "etcd",
            Self::FrontProxyAuthority => "proxy",
            Self::ServiceAccount => "sa",
            Self::ApiServerEtcdClient => "apiserver-etcd-client",
        }
    }
}

/// The pairs of every control plane Machine, in the order in which they are written to its host.
pub fn needed_by_control_plane(configuration: &ClusterConfiguration) -> Vec<NeededPair> {
    let directory = configuration.certificates_dir.as_deref().unwrap_or(DEFAULT_CERTIFICATES_DIR);
    let directory = directory.trim_end_matches('/');
    let generated = |purpose, certificate: &str, key: &str| NeededPair {
        purpose,
        certificate_path: format!("{directory}/{certificate}"),
        key_path: Some(format!("{directory}/{key}")),
        origin: Origin::Generated,
    };
    let mut needed = vec![generated(Purpose::ClusterAuthority, "ca.crt", "ca.key")];
    let external = configuration.etcd.external.as_ref();
    needed.push(external.map_or_else(
        || generated(Purpose::EtcdAuthority, "etcd/ca.crt", "etcd/ca.key"),
        |etcd| of_user(Purpose::EtcdAuthority, &etcd.ca_file, None),
    ));
    needed.push(generated(Purpose::FrontProxyAuthority, "front-proxy-ca.crt", "front-proxy-ca.key"));
    needed.push(generated(Purpose::ServiceAccount, "sa.pub", "sa.key"));
    needed.extend(
        external.map(|etcd| of_user(Purpose::ApiServerEtcdClient, &etcd.cert_file, Some(etcd.key_file.clone()))),
    );
    needed
}

/// What a joining worker has to know: by which authority it tells its cluster. Nothing is written to its host.
pub fn needed_by_worker() -> Vec<NeededPair> {
    vec![NeededPair {
        purpose: Purpose::ClusterAuthority,
        certificate_path: format!("{DEFAULT_CERTIFICATES_DIR}/ca.crt"),
        key_path: None,
        origin: Origin::Generated,
    }]
}

fn of_user(purpose: Purpose, certificate: &str, key: Option<String>) -> NeededPair {
    NeededPair { purpose, certificate_path: certificate.to_owned(), key_path: key, origin: Origin::User }
}

/// Decides which of the pairs that are not there are made.
///
/// # Guarantees
/// A pair that is there is never made again, and none is made where that is forbidden or up to a user.
pub fn decide_pairs(needed: &[NeededPair], present: &BTreeSet<Purpose>, generation: Generation) -> PairsDecision {
    let absent = needed.iter().filter(|pair| !present.contains(&pair.purpose));
    let (make, missing): (Vec<_>, Vec<_>) =
        absent.partition(|pair| generation == Generation::Allowed && pair.origin == Origin::Generated);
    let purposes = |pairs: Vec<&NeededPair>| pairs.into_iter().map(|pair| pair.purpose).collect();
    PairsDecision { make: purposes(make), missing: purposes(missing) }
}

/// Decides whether a kubeconfig is made, renewed or left alone.
///
/// # Guarantees
/// A kubeconfig that the owner does not control is never written.
pub fn decide_kubeconfig(secret: KubeconfigSecret, now: Timestamp) -> KubeconfigDecision {
    match secret {
        KubeconfigSecret::Missing => KubeconfigDecision::Make,
        KubeconfigSecret::Foreign => KubeconfigDecision::Keep { look_again_after: None },
        KubeconfigSecret::Owned { expires } => {
            let left = expires.duration_since(now).saturating_sub(KUBECONFIG_RENEWAL);
            match left.is_negative() {
                true => KubeconfigDecision::Renew,
                false => KubeconfigDecision::Keep { look_again_after: Some(left) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use refit_api::bootstrap::ExternalEtcd;

    use super::*;

    const ALL: [Purpose; 4] =
        [Purpose::ClusterAuthority, Purpose::EtcdAuthority, Purpose::FrontProxyAuthority, Purpose::ServiceAccount];

    fn external() -> ClusterConfiguration {
        let mut configuration = ClusterConfiguration::default();
        configuration.etcd.external = Some(ExternalEtcd {
            endpoints: vec!["https://etcd:2379".to_owned()],
            ca_file: "/etcd/ca.pem".to_owned(),
            cert_file: "/etcd/client.pem".to_owned(),
            key_file: "/etcd/client.key".to_owned(),
        });
        configuration
    }

    fn check(configuration: &ClusterConfiguration, expected: &[&str]) {
        let needed = needed_by_control_plane(configuration);
        let lines = needed.iter().map(|pair| {
            let key = pair.key_path.as_deref().unwrap_or("no key");
            format!("{} {} {key}", pair.purpose.secret_name("c"), pair.certificate_path)
        });
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pairs_go_where_kubeadm_looks_for_them() {
        check(
            &ClusterConfiguration::default(),
            &[
                "c-ca /etc/kubernetes/pki/ca.crt /etc/kubernetes/pki/ca.key",
                "c-etcd /etc/kubernetes/pki/etcd/ca.crt /etc/kubernetes/pki/etcd/ca.key",
                "c-proxy /etc/kubernetes/pki/front-proxy-ca.crt /etc/kubernetes/pki/front-proxy-ca.key",
                "c-sa /etc/kubernetes/pki/sa.pub /etc/kubernetes/pki/sa.key",
            ],
        );
        check(
            &ClusterConfiguration { certificates_dir: Some("/pki/".to_owned()), ..external() },
            &[
                "c-ca /pki/ca.crt /pki/ca.key",
                "c-etcd /etcd/ca.pem no key",
                "c-proxy /pki/front-proxy-ca.crt /pki/front-proxy-ca.key",
                "c-sa /pki/sa.pub /pki/sa.key",
                "c-apiserver-etcd-client /etcd/client.pem /etcd/client.key",
            ],
        );
    }

    #[test]
    fn only_what_is_missing_is_made_and_only_where_that_is_allowed() {
        let needed = needed_by_control_plane(&ClusterConfiguration::default());
        let decide = |present: &[Purpose], generation| {
            decide_pairs(&needed, &present.iter().copied().collect::<BTreeSet<_>>(), generation)
        };
        let made = |make: &[Purpose]| PairsDecision { make: make.to_vec(), missing: Vec::new() };
        assert_eq!(decide(&[], Generation::Allowed), made(&ALL));
        assert_eq!(decide(&ALL[..3], Generation::Allowed), made(&ALL[3..]));
        assert_eq!(decide(&ALL, Generation::Allowed), PairsDecision::default());
        let missing = PairsDecision { make: Vec::new(), missing: vec![Purpose::EtcdAuthority] };
        assert_eq!(decide(&[ALL[0], ALL[2], ALL[3]], Generation::Forbidden), missing);
    }

    #[test]
    fn what_a_user_makes_is_waited_for() {
        let decision = decide_pairs(&needed_by_control_plane(&external()), &BTreeSet::new(), Generation::Allowed);
        assert_eq!(decision.make, [ALL[0], ALL[2], ALL[3]]);
        assert_eq!(decision.missing, [Purpose::EtcdAuthority, Purpose::ApiServerEtcdClient]);
    }

    #[test]
    fn a_kubeconfig_is_renewed_in_its_second_half_and_only_by_its_owner() {
        let now = Timestamp::UNIX_EPOCH;
        let owned = |left: SignedDuration| KubeconfigSecret::Owned { expires: now + left };
        let keep = |look_again_after| KubeconfigDecision::Keep { look_again_after };
        let hour = SignedDuration::from_hours(1);
        let cases = [
            (KubeconfigSecret::Missing, KubeconfigDecision::Make),
            (KubeconfigSecret::Foreign, keep(None)),
            (owned(KUBECONFIG_VALIDITY), keep(Some(KUBECONFIG_VALIDITY - KUBECONFIG_RENEWAL))),
            (owned(KUBECONFIG_RENEWAL + hour), keep(Some(hour))),
            (owned(KUBECONFIG_RENEWAL - hour), KubeconfigDecision::Renew),
            (owned(-hour), KubeconfigDecision::Renew),
        ];
        for (secret, expected) in cases {
            assert_eq!(decide_kubeconfig(secret, now), expected, "{secret:?}");
        }
    }
}
