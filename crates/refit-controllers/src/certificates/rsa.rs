//! New RSA keys.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use graviola::signing::rsa::{KeySize, SigningKey};

use super::error::CertificateError;

/// Longer than the DER of the largest key that is made here.
const MAX_KEY_BYTES: usize = 8 * 1024;
/// How many characters a line of PEM has.
const PEM_LINE: usize = 64;

/// A new key as PKCS#8 in PEM. It takes a tenth of a second, or several for the longest.
pub fn generate(bits: u16) -> Result<String, CertificateError> {
    let failed = |why: String| CertificateError::Rsa { bits, why };
    if let Some(feature) = missing_feature() {
        return Err(failed(format!(
            "this processor lacks {feature}; set encryptionAlgorithm to ECDSA-P256, or create the Secret yourself"
        )));
    }
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        _ => KeySize::Rsa4096,
    };
    let mut buffer = vec![0; MAX_KEY_BYTES];
    let key = SigningKey::generate(size).map_err(|error| failed(format!("{error:?}")))?;
    let der = key.to_pkcs8_der(&mut buffer).map_err(|error| failed(format!("{error:?}")))?;
    let pem = pem(der);
    buffer.fill(0);
    Ok(pem)
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines = text.as_bytes().chunks(PEM_LINE).map(String::from_utf8_lossy);
    let lines: String = lines.flat_map(|line| [line.into_owned(), "\n".to_owned()]).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\n")
}

/// What the processor must have and does not. Processors of the last ten years do.
#[cfg(target_arch = "x86_64")]
fn missing_feature() -> Option<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let features = [
        ("aes", has!("aes")),
        ("pclmulqdq", has!("pclmulqdq")),
        ("ssse3", has!("ssse3")),
        ("bmi1", has!("bmi1")),
        ("bmi2", has!("bmi2")),
        ("adx", has!("adx")),
        ("avx", has!("avx")),
        ("avx2", has!("avx2")),
    ];
    features.into_iter().find(|(_, is_there)| !is_there).map(|(name, _)| name)
}

/// The same for the other architecture that refit runs on.
#[cfg(target_arch = "aarch64")]
fn missing_feature() -> Option<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    let features = [("neon", has!("neon")), ("aes", has!("aes")), ("pmull", has!("pmull")), ("sha2", has!("sha2"))];
    features.into_iter().find(|(_, is_there)| !is_there).map(|(name, _)| name)
}
