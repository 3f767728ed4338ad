//! The certificates of an extension, taken from a Secret.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::annotations::INJECT_CA_FROM_SECRET;

/// The key of a Secret whose value is injected.
const CA_KEY: &str = "ca.crt";

/// The Secret that an ExtensionConfig takes its certificates from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    pub namespace: String,
    pub name: String,
}

/// Why certificates cannot be injected. Nothing else is done then, and `Discovered` stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    #[error("failed to reconcile caBundle: secret name {0:?} must be in the form <namespace>/<name>")]
    Name(String),
    #[error("failed to reconcile caBundle: failed to get secret \"{}/{}\"", .name.namespace, .name.name)]
    Read { name: SecretName, source: kube::Error },
    #[error("failed to reconcile caBundle: secret {}/{} does not contain a {CA_KEY:?} entry", .0.namespace, .0.name)]
    NoCertificates(SecretName),
}

impl SecretName {
    /// The Secret that the annotation names. None: the certificates are the user's business.
    pub fn of(config: &ExtensionConfig) -> Result<Option<Self>, CaError> {
        let annotations = config.metadata.annotations.as_ref();
        let Some(text) = annotations.and_then(|all| all.get(INJECT_CA_FROM_SECRET)) else { return Ok(None) };
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Ok(Some(Self { namespace: namespace.to_owned(), name: name.to_owned() }))
            }
            _ => Err(CaError::Name(text.clone())),
        }
    }

    /// The certificates in the Secret, if the ExtensionConfig has others. What the user wrote is overwritten.
    pub(super) fn bundle_to_write(
        self,
        config: &ExtensionConfig,
        mut secret: Secret,
    ) -> Result<Option<ByteString>, CaError> {
        let found = secret.data.as_mut().and_then(|data| data.remove(CA_KEY));
        let bundle = found.ok_or(CaError::NoCertificates(self))?;
        let current = config.spec.client_config.ca_bundle.clone().unwrap_or_default();
        Ok((current != bundle).then_some(bundle))
    }
}
