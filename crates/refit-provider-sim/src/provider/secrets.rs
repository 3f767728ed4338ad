//! The secrets that the contract asks for.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use refit_api::owners;
use refit_api::vocabulary::labels;

use crate::kinds::{SimBootstrapConfig, SimCluster};
use crate::words::{SECRET_KEY, SECRET_TYPE, kubeconfig_secret};

/// The bootstrap data of a host.
pub fn bootstrap(config: &SimBootstrapConfig, cluster: &str) -> Secret {
    let script = config.spec.script.as_deref().unwrap_or("# a simulated host needs nothing");
    let owner = owners::controller_ref(config);
    secret(config, config.name_any(), cluster, format!("#!/bin/sh\n{script}\n"), owner)
}

/// The kubeconfig of a workload cluster. It goes with the Cluster.
pub fn kubeconfig(sim: &SimCluster, cluster: &str, kubeconfig: String) -> Secret {
    let kind = owners::OwnerKind { group: refit_api::cluster::GROUP, kind: "Cluster" };
    let owner = owners::find(sim.owner_references(), kind).cloned();
    let owner = owner.map(|owner| OwnerReference { controller: None, block_owner_deletion: None, ..owner });
    secret(sim, kubeconfig_secret(cluster), cluster, kubeconfig, owner)
}

fn secret(
    beside: &impl ResourceExt,
    name: String,
    cluster: &str,
    content: String,
    owner: Option<OwnerReference>,
) -> Secret {
    let mut secret = Secret {
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(BTreeMap::from([(SECRET_KEY.to_owned(), ByteString(content.into_bytes()))])),
        ..Secret::default()
    };
    secret.metadata.name = Some(name);
    secret.metadata.namespace = beside.namespace();
    secret.metadata.labels = Some(BTreeMap::from([(labels::CLUSTER_NAME.to_owned(), cluster.to_owned())]));
    secret.metadata.owner_references = owner.map(|owner| vec![owner]);
    secret
}
