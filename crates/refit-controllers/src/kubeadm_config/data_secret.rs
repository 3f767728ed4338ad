//! The Secret with the bootstrap data: created once, and never written again but for who owns it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use refit_api::owners;
use refit_api::vocabulary::{labels, managers};
use refit_plan::kubeadm_config::Observed;
use refit_plan::kubeadm_config::render::BootstrapData;
use serde_json::json;

use super::problem::{Problem, within_limit};
use crate::certificates::SECRET_TYPE;
use crate::context::Context;

/// When to look again after a Secret was adopted.
pub const ADOPTED: Duration = Duration::from_secs(1);

/// Creates the Secret. One that is there already is a problem: whose it is shows the next look.
pub async fn create(context: &Context, observed: &Observed, data: &BootstrapData) -> Result<(), Problem> {
    let what = what(observed);
    let params = PostParams { field_manager: Some(managers::PATCHES.to_owned()), ..PostParams::default() };
    match within_limit(&what, api(context, observed).create(&params, &new(observed, data))).await? {
        Ok(_) => {
            tracing::info!(secret = what, "made bootstrap data");
            Ok(())
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => Err(Problem::SecretThere { name: what }),
        Err(source) => Err(Problem::write(&what, source)),
    }
}

/// Makes the KubeadmConfig the owner again, as after a restore.
pub async fn adopt(context: &Context, observed: &Observed) -> Result<(), Problem> {
    let (what, api) = (what(observed), api(context, observed));
    let name = observed.config.metadata.name.clone().unwrap_or_default();
    let found = within_limit(&what, api.get_metadata_opt(&name)).await?;
    let found = found.map_err(|source| Problem::read(&what, source))?;
    let (Some(found), Some(owner)) = (found, owner(observed)) else { return Ok(()) };
    let ObjectMeta { uid, resource_version, owner_references, .. } = found.metadata;
    let mut references = owner_references.unwrap_or_default();
    owners::ensure(&mut references, owner);
    let metadata = json!({ "uid": uid, "resourceVersion": resource_version, "ownerReferences": references });
    let params = PatchParams { field_manager: Some(managers::PATCHES.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let answer = within_limit(&what, api.patch_metadata(&name, &params, &patch)).await?;
    answer.map(drop).map_err(|source| Problem::write(&what, source))
}

fn new(observed: &Observed, data: &BootstrapData) -> Secret {
    let metadata = &observed.config.metadata;
    let cluster = observed.cluster.metadata.name.clone().unwrap_or_default();
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    Secret {
        metadata: ObjectMeta {
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            labels: Some(BTreeMap::from([(labels::CLUSTER_NAME.to_owned(), cluster)])),
            owner_references: owner(observed).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(BTreeMap::from([
            ("value".to_owned(), bytes(&data.value)),
            ("format".to_owned(), bytes(data.format)),
        ])),
        ..Secret::default()
    }
}

fn owner(observed: &Observed) -> Option<OwnerReference> {
    observed.config.controller_owner_ref(&())
}

fn api(context: &Context, observed: &Observed) -> Api<Secret> {
    Api::namespaced(context.client.clone(), observed.config.metadata.namespace.as_deref().unwrap_or_default())
}

fn what(observed: &Observed) -> String {
    let metadata = &observed.config.metadata;
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("Secret {}/{}", part(&metadata.namespace), part(&metadata.name))
}
