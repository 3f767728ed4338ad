//! The images that kubeadm runs for a version of Kubernetes.

use refit_api::version::KubernetesVersion;

use crate::kinds::SimComponent;

/// Where they come from unless somebody says otherwise.
pub const REPOSITORY: &str = "registry.k8s.io";
/// The etcd of each minor version, as kubeadm has it; the last one for all that are newer.
const ETCD: [(u64, &str); 6] =
    [(29, "3.5.10-0"), (30, "3.5.12-0"), (31, "3.5.15-0"), (32, "3.5.16-0"), (33, "3.5.21-0"), (34, "3.6.5-0")];

/// The image of a component for a version.
pub fn of(component: SimComponent, version: &str) -> String {
    match component {
        SimComponent::Etcd => format!("{REPOSITORY}/etcd:{}", tag(&ETCD, version)),
        SimComponent::KubeApiserver | SimComponent::KubeControllerManager | SimComponent::KubeScheduler => {
            format!("{REPOSITORY}/{}:{version}", component.name())
        }
    }
}

/// The image of kube-proxy for a version.
pub fn kube_proxy(version: &str) -> String {
    format!("{REPOSITORY}/kube-proxy:{version}")
}

fn tag(table: &[(u64, &'static str)], version: &str) -> &'static str {
    let minor = KubernetesVersion::parse_tolerant(version).map_or(0, |version| version.minor());
    let found = table.iter().rev().find(|(since, _)| *since <= minor).or(table.first());
    found.map_or("", |(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_follow_the_version() {
        let cases = [("v1.28.0", "3.5.10-0"), ("v1.30.4", "3.5.12-0"), ("v1.31.0", "3.5.15-0"), ("v1.99.0", "3.6.5-0")];
        for (version, tag) in cases {
            assert_eq!(of(SimComponent::Etcd, version), format!("registry.k8s.io/etcd:{tag}"));
            assert_eq!(of(SimComponent::KubeScheduler, version), format!("registry.k8s.io/kube-scheduler:{version}"));
        }
    }
}
