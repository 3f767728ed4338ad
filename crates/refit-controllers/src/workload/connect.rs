//! From the Secret with a kubeconfig to a client.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::SECRET_SUFFIX;
use crate::cache::ObjectKey;
use crate::transport::{self, TransportError};

/// The key of the kubeconfig in its Secret.
const KUBECONFIG_KEY: &str = "value";

/// Makes a client from the kubeconfig of a cluster. In one process with the workload clusters it need not use a network.
pub type Connector =
    Arc<dyn Fn(ObjectKey, Kubeconfig) -> BoxFuture<'static, Result<Client, ConnectError>> + Send + Sync>;

/// Why there is no connection to a workload cluster.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the Secret {0} with the kubeconfig could not be read")]
    Read(String, #[source] kube::Error),
    #[error("there is no Secret {0} with a kubeconfig")]
    NoSecret(String),
    #[error("the Secret {0} has no key {KUBECONFIG_KEY:?}")]
    NoKey(String),
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[from] KubeconfigError),
    /// Whoever may write a Secret could run programs, or read files, of whoever uses it.
    #[error("the kubeconfig uses {0}, which is not allowed: put the credentials into it")]
    NotAllowed(&'static str),
    #[error("no client can be made")]
    Client(#[source] TransportError),
    #[error("the cluster does not answer")]
    Probe(#[source] kube::Error),
    #[error("the cluster does not answer in time")]
    Late,
}

/// Connects over the network, as the kubeconfig says.
pub fn by_kubeconfig() -> Connector {
    Arc::new(|_, kubeconfig| connect(kubeconfig).boxed())
}

/// The kubeconfig of a cluster, and the version of the Secret that it is from.
pub(super) async fn read(
    management: &Client,
    cluster: &ObjectKey,
) -> Result<(Kubeconfig, Option<String>), ConnectError> {
    let name = format!("{}{SECRET_SUFFIX}", cluster.name);
    let api = Api::<Secret>::namespaced(management.clone(), &cluster.namespace);
    let secret = api.get_opt(&name).await.map_err(|source| ConnectError::Read(name.clone(), source))?;
    let secret = secret.ok_or_else(|| ConnectError::NoSecret(name.clone()))?;
    let value = secret.data.and_then(|mut data| data.remove(KUBECONFIG_KEY)).ok_or(ConnectError::NoKey(name))?;
    let kubeconfig = Kubeconfig::from_yaml(&String::from_utf8_lossy(&value.0))?;
    check(&kubeconfig)?;
    Ok((kubeconfig, secret.metadata.resource_version))
}

async fn connect(kubeconfig: Kubeconfig) -> Result<Client, ConnectError> {
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A cluster that says when to come back is believed by whoever works on it, not by each of its requests.
    config.default_retry = false;
    transport::client(config).map_err(ConnectError::Client)
}

/// Refuses what reaches out of the kubeconfig.
fn check(kubeconfig: &Kubeconfig) -> Result<(), ConnectError> {
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    let of_users = users.flat_map(|user| {
        [
            user.exec.as_ref().map(|_| "exec"),
            user.auth_provider.as_ref().map(|_| "auth-provider"),
            user.token_file.as_ref().map(|_| "tokenFile"),
            user.client_certificate.as_ref().map(|_| "client-certificate"),
            user.client_key.as_ref().map(|_| "client-key"),
        ]
    });
    let of_clusters = clusters.map(|cluster| cluster.certificate_authority.as_ref().map(|_| "certificate-authority"));
    of_users.chain(of_clusters).flatten().next().map_or(Ok(()), |what| Err(ConnectError::NotAllowed(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_of(user: &str, cluster: &str, expected: Option<&str>) {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{ server: 'https://c:6443'{cluster} }}\n\
             users:\n- name: u\n  user: {{ {user} }}\ncontexts:\n- name: x\n  context: {{ cluster: c, user: u }}\n\
             current-context: x\n"
        );
        let kubeconfig = Kubeconfig::from_yaml(&text).expect("it must be a kubeconfig");
        let words = check(&kubeconfig).err().map(|error| error.to_string());
        let expected = expected
            .map(|what| format!("the kubeconfig uses {what}, which is not allowed: put the credentials into it"));
        assert_eq!(words, expected);
    }

    #[test]
    fn a_kubeconfig_runs_no_programs_and_reads_no_files() {
        check_of("token: t", "", None);
        check_of("client-certificate-data: YQ==, client-key-data: YQ==", ", certificate-authority-data: YQ==", None);
        check_of("exec: { command: sh, apiVersion: v1 }", "", Some("exec"));
        check_of("auth-provider: { name: oidc, config: {} }", "", Some("auth-provider"));
        check_of("tokenFile: /t", "", Some("tokenFile"));
        check_of("client-certificate: /c", "", Some("client-certificate"));
        check_of("client-key: /k", "", Some("client-key"));
        check_of("token: t", ", certificate-authority: /ca", Some("certificate-authority"));
    }
}
