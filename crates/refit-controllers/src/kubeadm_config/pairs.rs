//! The certificates that go into bootstrap data.

use refit_api::owners;
use refit_hooks::chain;
use refit_plan::certificates::{Generation, NeededPair, Purpose};
use refit_plan::kubeadm_config::render::CertificateFile;
use refit_plan::kubeadm_config::{Authority, Observed, PairsSeen};

use super::problem::Problem;
use crate::cache::ObjectKey;
use crate::certificates::{CertificateError, ClusterCertificates, KeySettings, Pairs, public_key_hashes};

/// Finds the pairs, and makes those that are missing where that is allowed.
pub async fn find(
    certificates: &ClusterCertificates,
    observed: &Observed,
    needed: &[NeededPair],
    generation: Generation,
) -> Result<PairsSeen, Problem> {
    let cluster = ObjectKey::of(&observed.cluster);
    let found = match (generation, owners::controller_ref(&observed.config)) {
        (Generation::Allowed, Some(owner)) => {
            let settings = KeySettings::of(&observed.config.spec.cluster_configuration);
            certificates.find_or_make(&cluster, needed, settings, &owner).await
        }
        (Generation::Allowed | Generation::Forbidden, _) => certificates.find(&cluster, needed).await,
    };
    match found {
        Ok(pairs) if pairs.missing.is_empty() => seen(&pairs, needed),
        Ok(pairs) => Ok(PairsSeen::Missing(pairs.missing_secrets(&cluster.name))),
        Err(error) if is_lasting(&error) => Ok(PairsSeen::Unusable(chain(&error))),
        Err(error) => Err(error.into()),
    }
}

/// What somebody has to change, and what only has to be tried again.
fn is_lasting(error: &CertificateError) -> bool {
    match error {
        CertificateError::NoKey { .. }
        | CertificateError::Unreadable { .. }
        | CertificateError::Missing { .. }
        | CertificateError::Authority { .. }
        | CertificateError::Rsa { .. } => true,
        CertificateError::Read { .. }
        | CertificateError::Write { .. }
        | CertificateError::Late { .. }
        | CertificateError::Generate { .. }
        | CertificateError::CutShort => false,
    }
}

fn seen(pairs: &Pairs, needed: &[NeededPair]) -> Result<PairsSeen, Problem> {
    let authority = pairs.get(Purpose::ClusterAuthority);
    let certificate = authority.map(|pair| pair.certificate().to_owned()).unwrap_or_default();
    let authority = Authority { hashes: public_key_hashes(&certificate)?, certificate };
    let mut files = Vec::new();
    for one in needed {
        let Some(pair) = pairs.get(one.purpose) else { continue };
        let file = |path: &str, content: &str, is_private| CertificateFile {
            path: path.to_owned(),
            content: content.to_owned(),
            is_private,
        };
        files.push(file(&one.certificate_path, pair.certificate(), false));
        files.extend(one.key_path.as_deref().map(|path| file(path, pair.key(), true)));
    }
    Ok(PairsSeen::Found { authority, files })
}
