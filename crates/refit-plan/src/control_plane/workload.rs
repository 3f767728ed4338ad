//! What a control plane changes inside its workload cluster: documents and images, before and after.
//!
//! The requests are somebody else's. Here is what an object should say, from what it says and what is wanted.

pub mod coredns;
pub mod image;
pub mod kubeadm_config;

use refit_api::version::KubernetesVersion;
use serde_json::{Value, json};

/// The API server may talk to kubelets. kubeadm binds this since v1.29, so machines that it did not bring up lack it.
pub const KUBELET_CLIENT_BINDING: &str = "kubeadm:apiserver-kubelet-client";

/// From this version on, kubeadm alone sees to the binding.
const BOUND_BY_KUBEADM: KubernetesVersion = KubernetesVersion::new(1, 38, 0);

/// The ClusterRoleBinding that must be there for machines of this version, if one must.
pub fn kubelet_client_binding(version: &KubernetesVersion) -> Option<Value> {
    version.cmp_release(&BOUND_BY_KUBEADM).is_lt().then(|| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": { "name": KUBELET_CLIENT_BINDING },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin",
            },
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kube-apiserver-kubelet-client",
            }],
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binding_is_made_up_to_the_version_that_makes_it_itself() {
        let is_made = |minor, patch| kubelet_client_binding(&KubernetesVersion::new(1, minor, patch)).is_some();
        assert_eq!([is_made(29, 0), is_made(37, 9), is_made(38, 0)], [true, true, false]);
    }
}
