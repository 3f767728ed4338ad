//! The init lock: a ConfigMap that is created once, and deleted only as it was seen.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::ObjectMeta;
use refit_api::cluster::Machine;
use refit_api::vocabulary::{labels, managers};
use refit_plan::kubeadm_config::{InitLock, LOCK_KEY, Observed, lock_content, lock_holder, lock_name};

use super::problem::{Problem, within_limit};
use crate::context::Context;

/// The lock that is to be deleted.
pub enum Which {
    /// Whoever holds it: the cluster runs.
    Any,
    /// Only if this KubeadmConfig's Machine holds it.
    Own,
    /// Only if the Machine that was seen holds it still.
    Seen(Option<InitLock>),
}

/// Who holds the lock, as the API server has it now.
pub async fn look(context: &Context, observed: &Observed) -> Result<InitLock, Problem> {
    let Some(lock) = read(context, observed).await? else { return Ok(InitLock::Free) };
    let Some(holder) = holder_of(&lock) else { return Ok(InitLock::Unreadable) };
    if Some(&holder) == observed.machine.metadata.name.as_ref() {
        return Ok(InitLock::Held);
    }
    let what = format!("Machine {holder}");
    let machines = Api::<Machine>::namespaced(context.client.clone(), namespace(observed));
    let machine = within_limit(&what, machines.get_metadata_opt(&holder)).await?;
    match machine.map_err(|source| Problem::read(&what, source))? {
        Some(_) => Ok(InitLock::HeldByOther { machine: holder }),
        None => Ok(InitLock::Stale { machine: holder }),
    }
}

/// Takes the lock, unless somebody was first. Who holds it then.
pub async fn take(context: &Context, observed: &Observed) -> Result<InitLock, Problem> {
    let what = what(observed);
    let params = PostParams { field_manager: Some(managers::PATCHES.to_owned()), ..PostParams::default() };
    match within_limit(&what, api(context, observed).create(&params, &new(observed))).await? {
        Ok(_) => Ok(InitLock::Held),
        Err(kube::Error::Api(status)) if status.is_already_exists() => look(context, observed).await,
        Err(source) => Err(Problem::write(&what, source)),
    }
}

/// Deletes the lock, if it is the one that is meant.
pub async fn delete(context: &Context, observed: &Observed, which: Which) -> Result<(), Problem> {
    let Some(lock) = read(context, observed).await? else { return Ok(()) };
    let holder = holder_of(&lock);
    let is_meant = match which {
        Which::Any => true,
        Which::Own => holder.is_some() && holder == observed.machine.metadata.name,
        Which::Seen(Some(InitLock::Stale { machine })) => holder == Some(machine),
        Which::Seen(_) => false,
    };
    if !is_meant {
        return Ok(());
    }
    let ObjectMeta { uid, resource_version, .. } = lock.metadata;
    let preconditions = Some(Preconditions { uid, resource_version });
    let (what, params) = (what(observed), DeleteParams { preconditions, ..DeleteParams::default() });
    match within_limit(&what, api(context, observed).delete(&name(observed), &params)).await? {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(source) => Err(Problem::write(&what, source)),
    }
}

async fn read(context: &Context, observed: &Observed) -> Result<Option<ConfigMap>, Problem> {
    let what = what(observed);
    let answer = within_limit(&what, api(context, observed).get_opt(&name(observed))).await?;
    answer.map_err(|source| Problem::read(&what, source))
}

fn holder_of(lock: &ConfigMap) -> Option<String> {
    lock.data.as_ref().and_then(|data| data.get(LOCK_KEY)).and_then(|content| lock_holder(content))
}

fn new(observed: &Observed) -> ConfigMap {
    let cluster = observed.cluster.metadata.name.clone().unwrap_or_default();
    let machine = observed.machine.metadata.name.as_deref().unwrap_or_default();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(lock_name(&cluster)),
            namespace: Some(namespace(observed).to_owned()),
            labels: Some(BTreeMap::from([(labels::CLUSTER_NAME.to_owned(), cluster)])),
            owner_references: observed.cluster.owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(LOCK_KEY.to_owned(), lock_content(machine))])),
        ..ConfigMap::default()
    }
}

fn api(context: &Context, observed: &Observed) -> Api<ConfigMap> {
    Api::namespaced(context.client.clone(), namespace(observed))
}

fn name(observed: &Observed) -> String {
    lock_name(observed.cluster.metadata.name.as_deref().unwrap_or_default())
}

fn what(observed: &Observed) -> String {
    format!("ConfigMap {}/{}", namespace(observed), name(observed))
}

fn namespace(observed: &Observed) -> &str {
    observed.cluster.metadata.namespace.as_deref().unwrap_or_default()
}
