//! How clients reach the API server: its address, its certificate, and a token that it accepts.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::arguments::Ports;

/// 128 bits cannot be guessed by another user of the machine.
const TOKEN_BYTES: usize = 16;
const PEM_HEADER: &str = "-----BEGIN CERTIFICATE-----";

/// The credentials of one control plane and the files that hold them.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) url: String,
    pub(super) token: String,
    /// Empty until [`Access::read_ca`].
    pub(super) ca_pem: String,
    pub(super) kubeconfig: PathBuf,
    pub(super) kubectl_cache: PathBuf,
    /// kube-apiserver reads from here who has which token.
    pub(super) token_file: PathBuf,
    /// kube-apiserver writes its certificate and key to here.
    pub(super) certificates: PathBuf,
    ca_file: PathBuf,
}

impl Access {
    /// Makes a token, and writes the files that need nothing from the server.
    pub(super) fn prepare(folder: &Path, ports: Ports) -> io::Result<Self> {
        let access = Self {
            url: format!("https://{}", ports.apiserver_address()),
            token: random_token()?,
            ca_pem: String::new(),
            kubeconfig: folder.join("kubeconfig"),
            kubectl_cache: folder.join("kubectl-cache"),
            token_file: folder.join("tokens.csv"),
            certificates: folder.join("certificates"),
            ca_file: folder.join("ca.crt"),
        };
        write_secret(&access.token_file, &format!("{},admin,admin,\"system:masters\"\n", access.token))?;
        write_secret(&access.kubeconfig, &access.kubeconfig_text())?;
        Ok(access)
    }

    /// Takes over the authority that kube-apiserver made up, and says whether it has done so yet. The file holds the
    /// server's certificate and then the authority's; clients should trust the latter only.
    pub(super) fn read_ca(&mut self) -> io::Result<bool> {
        let pem = match std::fs::read_to_string(self.certificates.join("apiserver.crt")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            pem => pem?,
        };
        let Some(start) = pem.rfind(PEM_HEADER) else { return Ok(false) };
        std::fs::write(&self.ca_file, &pem[start..])?;
        self.ca_pem = pem[start..].to_owned();
        Ok(true)
    }

    /// The key of the serving certificate. The server also signs service account tokens with it, which spares us
    /// from making an RSA key: it writes the file before it looks for a signing key.
    pub(super) fn serving_key(&self) -> PathBuf {
        self.certificates.join("apiserver.key")
    }

    /// JSON, which is YAML too.
    fn kubeconfig_text(&self) -> String {
        let name = "refit";
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": name, "cluster": { "server": self.url, "certificate-authority": self.ca_file } }],
            "users": [{ "name": name, "user": { "token": self.token } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
            "current-context": name,
        });
        format!("{config:#}\n")
    }
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
