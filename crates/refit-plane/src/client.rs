//! From a kubeconfig to a client.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use refit_controllers::transport::{self, TransportError};

use crate::requests::Requests;

/// Why an API server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the kubeconfig {} cannot be used", path.display())]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: Box<KubeconfigError>,
    },
    #[error("there is neither a kubeconfig nor a cluster around this process")]
    Infer(#[source] Box<kube::config::InferConfigError>),
    #[error("no client can be made")]
    Client(#[source] Box<TransportError>),
}

/// A client by a kubeconfig; without one, by `KUBECONFIG`, the user's own, or the cluster that the process runs in.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ClientError> {
    connect_counted(kubeconfig, &Requests::default()).await
}

/// The same, with its requests counted.
pub(crate) async fn connect_counted(kubeconfig: Option<&Path>, requests: &Requests) -> Result<Client, ClientError> {
    let config = match kubeconfig {
        Some(path) => read(path).await?,
        None => Config::infer().await.map_err(|source| ClientError::Infer(Box::new(source)))?,
    };
    let builder = transport::builder(config).map_err(|source| ClientError::Client(Box::new(source)))?;
    Ok(builder.with_layer(requests).build())
}

async fn read(path: &Path) -> Result<Config, ClientError> {
    let failed = |source| ClientError::Kubeconfig { path: path.to_owned(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)
}
