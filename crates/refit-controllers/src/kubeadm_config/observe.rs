//! Reads what the decision about a KubeadmConfig looks at.

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::core::ObjectMeta;
use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::Machine;
use refit_plan::kubeadm_config::token::Token;
use refit_plan::kubeadm_config::{Observed, data_secret, owner_of, owns};

use super::problem::{Problem, within_limit};
use crate::cache::ObjectKey;
use crate::context::Context;

/// Everything about the KubeadmConfig. Nothing while there is none, or while its Machine or Cluster is not there.
pub async fn observe(context: &Context, key: &ObjectKey) -> Result<Option<Observed>, Problem> {
    let cache = &context.cache;
    let Some(config) = cache.kubeadm_configs.read(key)? else { return Ok(None) };
    let Some(owner) = owner_of(&config) else { return Ok(None) };
    let machine = cache.machines.read(&ObjectKey::new(key.namespace.clone(), owner.name.clone()))?;
    let Some(machine) = machine.filter(|machine| owns(machine, &owner)) else { return Ok(None) };
    let cluster = ObjectKey::new(key.namespace.clone(), machine.spec.cluster_name.clone());
    let Some(cluster) = cache.clusters.read(&cluster)? else { return Ok(None) };
    let secret = secret(context, key, &config, &machine).await?;
    let random = [context.chance.number(), context.chance.number(), context.chance.number()];
    Ok(Some(Observed {
        now: context.clock.now(),
        data_secret: data_secret(&config, &machine, secret.as_ref()),
        config: KubeadmConfig::clone(&config),
        machine: Machine::clone(&machine),
        cluster: refit_api::cluster::Cluster::clone(&cluster),
        fresh_token: Token::from_random(random),
    }))
}

/// The Secret's metadata: from the API server itself as long as the data may still have to be made, as a cache may not have
/// seen it yet.
async fn secret(
    context: &Context,
    key: &ObjectKey,
    config: &KubeadmConfig,
    machine: &Machine,
) -> Result<Option<ObjectMeta>, Problem> {
    let is_made = config.status.initialization.data_secret_created == Some(true)
        && machine.spec.bootstrap.data_secret_name.is_some();
    if is_made {
        return Ok(context.cache.secrets.get(key).map(|known| known.metadata.clone()));
    }
    let what = format!("Secret {key}");
    let api = Api::<Secret>::namespaced(context.client.clone(), &key.namespace);
    let answer = within_limit(&what, api.get_metadata_opt(&key.name)).await?;
    Ok(answer.map_err(|source| Problem::read(&what, source))?.map(|found| found.metadata))
}
