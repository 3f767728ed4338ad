//! The Secret with the kubeconfig of a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::config::Kubeconfig;
use refit_plan::certificates::{KUBECONFIG_RENEWAL, KUBECONFIG_VALIDITY, KubeconfigSecret};
use serde_json::json;

use super::error::CertificateError;
use super::secret::{self, Name};
use super::{ClientIdentity, KeyPair, pem};
use crate::cache::ObjectKey;

/// The key of the kubeconfig in its Secret.
const KEY: &str = "value";

pub fn secret_name(cluster: &ObjectKey) -> Name {
    Name::of(cluster, format!("{}-kubeconfig", cluster.name))
}

/// Who the kubeconfig is for.
pub fn administrator() -> ClientIdentity {
    ClientIdentity {
        user: "kubernetes-admin".to_owned(),
        group: Some("system:masters".to_owned()),
        validity: KUBECONFIG_VALIDITY,
    }
}

/// When to look at a new kubeconfig again.
pub fn first_look() -> Duration {
    (KUBECONFIG_VALIDITY - KUBECONFIG_RENEWAL).unsigned_abs()
}

pub fn data(text: String) -> BTreeMap<String, ByteString> {
    BTreeMap::from([(KEY.to_owned(), ByteString(text.into_bytes()))])
}

/// What a decision has to know of the Secret.
pub fn known(name: &Name, secret: &Secret, owner: &OwnerReference) -> Result<KubeconfigSecret, CertificateError> {
    let owners = secret.metadata.owner_references.iter().flatten();
    let is_owned = owners.into_iter().any(|it| it.uid == owner.uid && it.controller == Some(true));
    if !is_owned {
        return Ok(KubeconfigSecret::Foreign);
    }
    let kubeconfig = parse(name, secret)?;
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let certificates = users.filter_map(|user| user.client_certificate_data.as_deref());
    let ends: Result<Vec<Timestamp>, _> = certificates.map(end_of).collect();
    let ends = ends.map_err(|why| unusable(name, why))?;
    // Without a certificate somebody has put in another login: it is left alone.
    Ok(ends.into_iter().min().map_or(KubeconfigSecret::Foreign, |expires| KubeconfigSecret::Owned { expires }))
}

/// The address in the kubeconfig. It stays when the kubeconfig is renewed.
pub fn server_of(name: &Name, secret: &Secret) -> Result<String, CertificateError> {
    let kubeconfig = parse(name, secret)?;
    let server = kubeconfig.clusters.into_iter().find_map(|cluster| cluster.cluster?.server);
    server.ok_or_else(|| unusable(name, "it names no server".to_owned()))
}

/// A kubeconfig with one cluster, one user and one context, as JSON, which is YAML.
pub fn text(cluster: &str, server: &str, authority: &str, client: &KeyPair) -> String {
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let user = format!("{cluster}-admin");
    let context = format!("{user}@{cluster}");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": cluster,
            "cluster": { "server": server, "certificate-authority-data": encode(authority) },
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": encode(client.certificate()),
                "client-key-data": encode(client.key()),
            },
        }],
        "contexts": [{ "name": context, "context": { "cluster": cluster, "user": user } }],
        "current-context": context,
    });
    format!("{config:#}\n")
}

fn parse(name: &Name, secret: &Secret) -> Result<Kubeconfig, CertificateError> {
    let text = secret::text(name, secret, KEY)?;
    let text = text.ok_or_else(|| CertificateError::NoKey { secret: name.to_string(), key: KEY })?;
    // The parser's words may quote what it has read.
    Kubeconfig::from_yaml(&text).map_err(|_| unusable(name, "it is no kubeconfig".to_owned()))
}

fn end_of(data: &str) -> Result<Timestamp, String> {
    let bad = || "a client certificate in it cannot be decoded".to_owned();
    let text = BASE64_STANDARD.decode(data).map_err(|_| bad())?;
    let text = String::from_utf8(text).map_err(|_| bad())?;
    pem::first_end(&text)
}

fn unusable(name: &Name, why: String) -> CertificateError {
    let why = format!("{why}; delete the Secret to have it made anew");
    CertificateError::Unreadable { secret: name.to_string(), key: KEY, why }
}
