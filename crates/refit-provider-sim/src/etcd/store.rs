//! Keeps the etcd of a simulated control plane in a ConfigMap of its workload cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, PostParams};

use super::{EtcdRefusal, SimEtcd};
use crate::words::{KUBE_SYSTEM, MANAGER};

/// The ConfigMap in kube-system.
const NAME: &str = "simulated-etcd";
/// Its key, with JSON in it.
const KEY: &str = "etcd.json";
/// How often one change is tried again because somebody else wrote the ConfigMap: more than there are members.
const MAX_CONFLICTS: usize = 32;

/// Why the simulated etcd was not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("configmap {KUBE_SYSTEM}/{NAME} cannot be read or written")]
    Request(#[source] kube::Error),
    #[error("configmap {KUBE_SYSTEM}/{NAME} has no valid {KEY}; delete it to begin with a new etcd")]
    Invalid(#[source] serde_json::Error),
    #[error("configmap {KUBE_SYSTEM}/{NAME} was changed by others all the time")]
    Contended,
    #[error("{0}")]
    Refused(#[from] EtcdRefusal),
}

/// The etcd of a workload cluster, whether or not it has a quorum: for whoever watches a simulation from outside.
pub async fn read(workload: &Client) -> Result<SimEtcd, StoreError> {
    EtcdStore::of(workload.clone()).read().await
}

/// The simulated etcd of one workload cluster.
#[derive(Clone)]
pub struct EtcdStore {
    config_maps: Api<ConfigMap>,
}

impl EtcdStore {
    pub fn of(workload: Client) -> Self {
        Self { config_maps: Api::namespaced(workload, KUBE_SYSTEM) }
    }

    /// What is there; nothing before the first member.
    pub async fn read(&self) -> Result<SimEtcd, StoreError> {
        let found = self.config_maps.get_opt(NAME).await.map_err(StoreError::Request)?;
        found.as_ref().map_or_else(|| Ok(SimEtcd::default()), parse)
    }

    /// Changes it to what this makes of it. The write names the version that was read; who loses asks again.
    pub async fn change(
        &self,
        change: impl Fn(&SimEtcd) -> Result<SimEtcd, EtcdRefusal>,
    ) -> Result<SimEtcd, StoreError> {
        for _ in 0..MAX_CONFLICTS {
            let found = self.config_maps.get_opt(NAME).await.map_err(StoreError::Request)?;
            let old = found.as_ref().map_or_else(|| Ok(SimEtcd::default()), parse)?;
            let new = change(&old)?;
            if new == old || self.write(found, &new).await? {
                return Ok(new);
            }
        }
        Err(StoreError::Contended)
    }

    /// Gives false if somebody else was first.
    async fn write(&self, found: Option<ConfigMap>, new: &SimEtcd) -> Result<bool, StoreError> {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let text = serde_json::to_string_pretty(new).map_err(StoreError::Invalid)?;
        let is_new = found.is_none();
        let mut object = found.unwrap_or_default();
        object.data = Some(BTreeMap::from([(KEY.to_owned(), text)]));
        object.metadata.name = Some(NAME.to_owned());
        let written = if is_new {
            self.config_maps.create(&params, &object).await
        } else {
            self.config_maps.replace(NAME, &params, &object).await
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(false),
            Err(error) => Err(StoreError::Request(error)),
        }
    }
}

fn parse(object: &ConfigMap) -> Result<SimEtcd, StoreError> {
    let text = object.data.as_ref().and_then(|data| data.get(KEY)).map_or("{}", String::as_str);
    serde_json::from_str(text).map_err(StoreError::Invalid)
}
