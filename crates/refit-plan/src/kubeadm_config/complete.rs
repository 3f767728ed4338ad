//! Fills in what a user has left open: by which address, authority and token a Machine finds its cluster.

use refit_api::bootstrap::{BootstrapTokenDiscovery, FileDiscoveryKubeConfig, KubeadmConfigSpec};
use refit_api::cluster::APIEndpoint;

use super::Role;
use super::decision::Observed;
use super::progress::Authority;
use super::status::Outcome;

/// The spec with nothing left open. It is written back before it is used, so that a second try uses the same.
pub(super) fn complete(observed: &Observed, role: Role, authority: &Authority) -> Result<KubeadmConfigSpec, Outcome> {
    let mut spec = observed.config.spec.clone();
    let endpoint = address(&observed.cluster.spec.control_plane_endpoint);
    match role {
        Role::Init => {
            let configuration = &mut spec.cluster_configuration;
            configuration.control_plane_endpoint = configuration.control_plane_endpoint.take().or(endpoint);
            return Ok(spec);
        }
        Role::JoinControlPlane => drop(spec.join_configuration.control_plane.get_or_insert_default()),
        Role::JoinWorker if spec.join_configuration.control_plane.is_some() => {
            let words = "spec.joinConfiguration.controlPlane is set, and the Machine is a worker; unset it";
            return Err(Outcome::Failed(words.to_owned()));
        }
        Role::JoinWorker => {}
    }
    let discovery = &mut spec.join_configuration.discovery;
    match &mut discovery.file {
        Some(file) => {
            if let Some(kubeconfig) = &mut file.kube_config {
                by_file(kubeconfig, endpoint, authority)?;
            }
        }
        None => by_token(&mut discovery.bootstrap_token, endpoint, authority, observed)?,
    }
    Ok(spec)
}

fn by_token(
    discovery: &mut BootstrapTokenDiscovery,
    endpoint: Option<String>,
    authority: &Authority,
    observed: &Observed,
) -> Result<(), Outcome> {
    if discovery.ca_cert_hashes.is_empty() {
        discovery.ca_cert_hashes.clone_from(&authority.hashes);
    }
    if discovery.api_server_endpoint.is_none() {
        discovery.api_server_endpoint = Some(endpoint.ok_or_else(no_endpoint)?);
    }
    discovery.token.get_or_insert_with(|| observed.fresh_token.text());
    match observed.own_token() {
        Some(Err(error)) => Err(Outcome::Failed(format!("spec.joinConfiguration.discovery: {error}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn by_file(
    kubeconfig: &mut FileDiscoveryKubeConfig,
    endpoint: Option<String>,
    authority: &Authority,
) -> Result<(), Outcome> {
    let cluster = &mut kubeconfig.cluster;
    if cluster.server.is_none() {
        cluster.server = Some(format!("https://{}", endpoint.ok_or_else(no_endpoint)?));
    }
    if cluster.certificate_authority_data.is_none() {
        let certificate = authority.certificate.as_bytes().to_vec();
        cluster.certificate_authority_data = Some(k8s_openapi::ByteString(certificate));
    }
    Ok(())
}

fn no_endpoint() -> Outcome {
    Outcome::Waiting("Waiting for Cluster spec.controlPlaneEndpoint to be set".to_owned())
}

/// Host and port, with an IPv6 address in brackets.
fn address(endpoint: &APIEndpoint) -> Option<String> {
    let (host, port) = (endpoint.host.as_deref()?, endpoint.port?);
    match host.contains(':') {
        true => Some(format!("[{host}]:{port}")),
        false => Some(format!("{host}:{port}")),
    }
}
