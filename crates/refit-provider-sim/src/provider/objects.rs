//! Writes to the provider's own objects, each with the version that was decided on.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use refit_api::resource::CustomKind;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::words::MANAGER;

/// A kind of this provider.
pub trait Kind:
    CustomKind + Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Debug
{
}

impl<K> Kind for K where
    K: CustomKind + Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Debug
{
}

/// Writes objects of the management cluster.
#[derive(Clone)]
pub struct Objects {
    pub client: Client,
}

impl Objects {
    /// Puts the finalizer on, and merges this into the spec, in one write.
    pub async fn claim<K: Kind>(&self, object: &K, finalizer: &str, spec: Value) -> Result<K, kube::Error> {
        let mut finalizers = object.finalizers().to_vec();
        if !finalizers.iter().any(|found| found == finalizer) {
            finalizers.push(finalizer.to_owned());
        }
        self.merge(object, json!({ "metadata": { "finalizers": finalizers }, "spec": spec })).await
    }

    /// Takes the finalizer off.
    pub async fn release<K: Kind>(&self, object: &K, finalizer: &str) -> Result<K, kube::Error> {
        let finalizers: Vec<&String> = object.finalizers().iter().filter(|found| *found != finalizer).collect();
        self.merge(object, json!({ "metadata": { "finalizers": finalizers } })).await
    }

    /// Writes the status of an object.
    pub async fn set_status<K: Kind>(&self, object: &K) -> Result<K, kube::Error> {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        self.api(object).replace_status(&object.name_any(), &params, object).await
    }

    /// Makes a secret this, whatever it was.
    pub async fn apply_secret(&self, secret: &Secret) -> Result<(), kube::Error> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &secret.namespace().unwrap_or_default());
        let params = PatchParams::apply(MANAGER).force();
        api.patch(&secret.name_any(), &params, &Patch::Apply(secret)).await.map(drop)
    }

    /// Deletes a secret. It may be gone already.
    pub async fn delete_secret(&self, namespace: &str, name: &str) -> Result<(), kube::Error> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn merge<K: Kind>(&self, object: &K, mut patch: Value) -> Result<K, kube::Error> {
        patch["metadata"]["resourceVersion"] = json!(object.resource_version());
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        self.api(object).patch(&object.name_any(), &params, &Patch::Merge(patch)).await
    }

    fn api<K: Kind>(&self, object: &K) -> Api<K> {
        Api::namespaced(self.client.clone(), &object.namespace().unwrap_or_default())
    }
}
