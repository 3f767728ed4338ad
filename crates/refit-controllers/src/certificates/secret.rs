//! Secrets of clusters: read as they are now, created once, replaced only at the version that was read.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use refit_api::vocabulary::{labels, managers};
use tokio::time::timeout;

use super::error::CertificateError;
use crate::act::REQUEST_LIMIT;
use crate::cache::ObjectKey;

/// The type of all Secrets of a cluster.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";
/// A value of a Secret may be so long. A bundle of certificates takes a few thousand bytes.
const MAX_VALUE_BYTES: usize = 128 * 1024;

/// Names a Secret.
#[derive(Debug, Clone)]
pub struct Name(ObjectKey);

impl Name {
    /// In the namespace of a Cluster.
    pub fn of(cluster: &ObjectKey, name: String) -> Self {
        Self(ObjectKey::new(cluster.namespace.clone(), name))
    }

    fn api(&self, client: &Client) -> Api<Secret> {
        Api::namespaced(client.clone(), &self.0.namespace)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The Secret as the API server has it now. A cache may lag behind, and what is there must not be made again.
pub async fn read(client: &Client, name: &Name) -> Result<Option<Secret>, CertificateError> {
    let api = name.api(client);
    let answer = within_limit(name, api.get_opt(&name.0.name)).await?;
    answer.map_err(|source| CertificateError::Read { secret: name.to_string(), source: Box::new(source) })
}

/// Creates the Secret, unless there is one. Whether it was created.
pub async fn create(
    client: &Client,
    name: &Name,
    cluster: &str,
    owner: &OwnerReference,
    data: BTreeMap<String, ByteString>,
) -> Result<bool, CertificateError> {
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.0.name.clone()),
            namespace: Some(name.0.namespace.clone()),
            labels: Some(BTreeMap::from([(labels::CLUSTER_NAME.to_owned(), cluster.to_owned())])),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(data),
        ..Secret::default()
    };
    let api = name.api(client);
    match within_limit(name, api.create(&params(), &secret)).await? {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
        Err(source) => Err(CertificateError::Write { secret: name.to_string(), source: Box::new(source) }),
    }
}

/// Puts other data into the Secret, if it is still the one that was read.
pub async fn replace(
    client: &Client,
    name: &Name,
    secret: Secret,
    data: BTreeMap<String, ByteString>,
) -> Result<(), CertificateError> {
    let api = name.api(client);
    let mut all = secret.data.clone().unwrap_or_default();
    all.extend(data);
    let secret = Secret { data: Some(all), ..secret };
    let answer = within_limit(name, api.replace(&name.0.name, &params(), &secret)).await?;
    answer.map(drop).map_err(|source| CertificateError::Write { secret: name.to_string(), source: Box::new(source) })
}

/// The text under a key, if it is there.
pub fn text(name: &Name, secret: &Secret, key: &'static str) -> Result<Option<String>, CertificateError> {
    let Some(ByteString(bytes)) = secret.data.as_ref().and_then(|data| data.get(key)) else { return Ok(None) };
    let unusable = |why: String| CertificateError::Unreadable { secret: name.to_string(), key, why };
    if bytes.len() > MAX_VALUE_BYTES {
        return Err(unusable(format!("it has {} bytes, and at most {MAX_VALUE_BYTES} are read", bytes.len())));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| unusable("it is no text".to_owned()))?;
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn params() -> PostParams {
    PostParams { field_manager: Some(managers::PATCHES.to_owned()), ..PostParams::default() }
}

async fn within_limit<T>(name: &Name, request: impl Future<Output = T>) -> Result<T, CertificateError> {
    timeout(REQUEST_LIMIT, request).await.map_err(|_| CertificateError::Late { secret: name.to_string() })
}
