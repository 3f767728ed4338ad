//! The caller's own certificate, for extensions that ask for one.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// How often the files are looked at, as often as upstream does when the file system tells it nothing.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// No chain of certificates or key is larger.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The certificate and key that extensions are shown, one pair for all of them, reread when the files change.
///
/// It counts its changes: whoever keeps connections drops those that were made with an older pair.
#[derive(Default)]
pub struct ClientIdentity {
    files: Option<IdentityFiles>,
    current: ArcSwapOption<CertifiedKey>,
    changes: AtomicU64,
}

/// Where the certificate and its key are, both in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why there is no certificate to show. The one that was there before stays in use.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is larger than {MAX_FILE_BYTES} bytes", .path.display())]
    TooLarge { path: PathBuf },
    #[error("{} holds no certificate in PEM", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} holds no private key in PEM", .path.display())]
    NoKey { path: PathBuf },
    #[error("the client certificate and its key cannot be used together")]
    Mismatch(#[source] rustls::Error),
}

impl ClientIdentity {
    /// No certificate: extensions that ask for one refuse the call.
    pub fn none() -> Arc<Self> {
        Arc::default()
    }

    /// Reads the files. They must be good at the start; later, bad ones are reported and the last good pair stays.
    pub fn load(files: IdentityFiles) -> Result<Arc<Self>, IdentityError> {
        let identity = Self { files: Some(files), ..Self::default() };
        identity.reload()?;
        Ok(Arc::new(identity))
    }

    /// Reads the files again, and says whether the pair is another one.
    pub fn reload(&self) -> Result<bool, IdentityError> {
        let Some(files) = &self.files else { return Ok(false) };
        let read = files.read()?;
        let is_same = self.current.load().as_ref().is_some_and(|current| current.cert == read.cert);
        if !is_same {
            self.current.store(Some(Arc::new(read)));
            self.changes.fetch_add(1, Ordering::Release);
        }
        Ok(!is_same)
    }

    /// Rereads the files for ever. Ends only when it is dropped.
    pub async fn keep_fresh(&self) {
        let mut ticks = tokio::time::interval(RELOAD_INTERVAL);
        loop {
            ticks.tick().await;
            match self.reload() {
                Ok(false) => {}
                Ok(true) => tracing::info!("the client certificate for extensions has changed"),
                Err(error) => tracing::warn!(error = %crate::chain(&error), "the client certificate cannot be reread"),
            }
        }
    }

    /// How often the pair has changed so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl IdentityFiles {
    fn read(&self) -> Result<CertifiedKey, IdentityError> {
        let chain = CertificateDer::pem_slice_iter(&read_bounded(&self.certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or_else(|| IdentityError::NoCertificate { path: self.certificate.clone() })?;
        let key = PrivateKeyDer::from_pem_slice(&read_bounded(&self.key)?)
            .map_err(|_| IdentityError::NoKey { path: self.key.clone() })?;
        let key = any_supported_type(&key).map_err(IdentityError::Mismatch)?;
        let pair = CertifiedKey::new(chain, key);
        pair.keys_match().map_err(IdentityError::Mismatch)?;
        Ok(pair)
    }
}

fn read_bounded(path: &PathBuf) -> Result<Vec<u8>, IdentityError> {
    let failed = |source| IdentityError::Read { path: path.clone(), source };
    if std::fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES {
        return Err(IdentityError::TooLarge { path: path.clone() });
    }
    std::fs::read(path).map_err(failed)
}

impl ResolvesClientCert for ClientIdentity {
    fn resolve(&self, _root_hint_subjects: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }

    fn has_certs(&self) -> bool {
        self.current.load().is_some()
    }
}

/// Without the key.
impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("files", &self.files).field("changes", &self.changes()).finish()
    }
}
