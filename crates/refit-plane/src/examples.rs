//! The example extensions: served over HTTPS on a loopback port and registered by an ExtensionConfig, as in life.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::refit::annotations::ORDER;
use refit_apiserver::credentials::{Authority, CredentialsError, Pair};
use refit_examples::{MemoryUpdater, VersionUpdater};
use refit_provider_sim::SimHosts;
use refit_sdk::server::{CertificateFiles, ServerError, Transport};
use refit_sdk::{Extension, RegistrationError, Server, ServerOptions};
use serde_json::{Value, json};

use crate::task::Task;

/// Who writes ExtensionConfigs here.
const MANAGER: &str = "refit-up";
/// How long calls and updates may take when the process ends. Updates go on after the next start.
const GRACE: Duration = Duration::from_millis(500);
/// How soon controllers ask again how an update goes: simulated ones take a second.
const POLL_SECONDS: i32 = 1;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// An extension that comes with refit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Example {
    /// Changes the memory of a simulated machine.
    Memory,
    /// Changes its Kubernetes version and its image.
    Version,
}

impl Example {
    pub const ALL: [Self; 2] = [Self::Memory, Self::Version];

    /// The name of its ExtensionConfig.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Version => "version",
        }
    }

    fn order(self) -> i32 {
        match self {
            Self::Memory => 10,
            Self::Version => 20,
        }
    }

    fn extension(self, hosts: SimHosts) -> Result<Extension, RegistrationError> {
        let builder = match self {
            Self::Memory => Extension::builder(MemoryUpdater::new(hosts)),
            Self::Version => Extension::builder(VersionUpdater::new(hosts)),
        };
        builder.poll_seconds(POLL_SECONDS).build()
    }
}

/// Why an extension is not there.
#[derive(Debug, thiserror::Error)]
pub enum ExampleError {
    #[error("{} cannot be written", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the extension has no certificate")]
    Certificate(#[from] CredentialsError),
    #[error("the extension cannot be made")]
    Registration(#[from] RegistrationError),
    #[error("the extension cannot be served")]
    Serve(#[from] ServerError),
    #[error("the extension has no address")]
    Address(#[source] io::Error),
    #[error("ExtensionConfig {name} was refused")]
    Config {
        name: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
}

/// Serves an example, and registers it. Its key is made anew at every start, and the ExtensionConfig with it.
pub(crate) async fn start(
    example: Example,
    client: &Client,
    hosts: SimHosts,
    folder: &Path,
) -> Result<Task, ExampleError> {
    let (authority, files) = certificate(&folder.join("extensions").join(example.name()))?;
    let options = ServerOptions {
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        transport: Transport::Tls(files),
        health_address: None,
        shutdown_grace: GRACE,
        ..ServerOptions::default()
    };
    let server = Server::bind(example.extension(hosts)?, options).await?;
    let url = format!("https://{}", server.address().map_err(ExampleError::Address)?);
    let task = Task::spawn(|ended| server.run(ended.wait()));
    register(example, client, &url, &authority).await?;
    Ok(task)
}

async fn register(example: Example, client: &Client, url: &str, authority: &str) -> Result<(), ExampleError> {
    let (name, api) = (example.name(), Api::<ExtensionConfig>::all(client.clone()));
    let config = extension_config(example, url, authority);
    let applied = api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(config)).await;
    applied.map(drop).map_err(|source| ExampleError::Config { name, source: Box::new(source) })
}

fn extension_config(example: Example, url: &str, authority: &str) -> Value {
    json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": { "name": example.name(), "annotations": { ORDER: example.order().to_string() } },
        "spec": {
            "clientConfig": { "url": url, "caBundle": BASE64_STANDARD.encode(authority) },
            "namespaceSelector": {},
        },
    })
}

/// A certificate for the loopback address, in files. Returns the authority that signed it.
fn certificate(folder: &Path) -> Result<(String, CertificateFiles), ExampleError> {
    let (now, files) =
        (Timestamp::now(), CertificateFiles { folder: folder.to_owned(), ..CertificateFiles::default() });
    let authority = Authority::generate(now)?;
    let names = [Ipv4Addr::LOCALHOST.to_string(), "localhost".to_owned()];
    let Pair { certificate, key } = authority.issue_server(&names, now)?;
    let failed = |source| ExampleError::File { path: folder.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(failed)?;
    write(&folder.join(&files.key), &key)?;
    write(&folder.join(&files.certificate), &certificate)?;
    Ok((authority.certificate().to_owned(), files))
}

fn write(path: &Path, text: &str) -> Result<(), ExampleError> {
    use io::Write;
    let open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path);
    let written = open.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| ExampleError::File { path: path.to_owned(), source })
}
