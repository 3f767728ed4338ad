//! Private keys in the forms that Kubernetes tools write, made into the one that is signed with here.
//!
//! openssl writes `PRIVATE KEY` (PKCS #8). Cluster API and kubeadm write `RSA PRIVATE KEY` (PKCS #1) or `EC PRIVATE
//! KEY` (SEC 1), which PKCS #8 wraps without changing them.

use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::EtcdError;

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
/// INTEGER 0: the version of the wrapping.
const VERSION: &[u8] = &[0x02, 0x01, 0x00];
/// OBJECT IDENTIFIER rsaEncryption, and NULL.
const RSA: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// OBJECT IDENTIFIER ecPublicKey, before the identifier of the curve.
const EC: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// OBJECT IDENTIFIERs of the curves that can be signed with: P-256 and P-384.
const CURVES: [&[u8]; 2] =
    [&[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22]];

/// The key in this PEM. The errors say nothing of what is in it.
pub(super) fn parse(pem: &str) -> Result<KeyPair, EtcdError> {
    let unusable = EtcdError::Authority { what: "its key is neither RSA nor ECDSA on P-256 or P-384" };
    let der = PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| EtcdError::Authority { what: "there is no private key in its PEM" })?;
    let candidates: Vec<Vec<u8>> = match &der {
        PrivateKeyDer::Pkcs8(key) => vec![key.secret_pkcs8_der().to_vec()],
        PrivateKeyDer::Pkcs1(key) => vec![wrap(RSA, key.secret_pkcs1_der())],
        // The file need not name its curve, so both are tried. A key fits into one only.
        PrivateKeyDer::Sec1(key) => {
            CURVES.iter().map(|curve| wrap(&[EC, curve].concat(), key.secret_sec1_der())).collect()
        }
        _ => Vec::new(),
    };
    let parse = |der: Vec<u8>| KeyPair::try_from(&PrivatePkcs8KeyDer::from(der)).ok();
    candidates.into_iter().find_map(parse).ok_or(unusable)
}

/// PrivateKeyInfo of RFC 5958.
fn wrap(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let content = [VERSION, &tagged(SEQUENCE, algorithm), &tagged(OCTET_STRING, key)].concat();
    tagged(SEQUENCE, &content)
}

/// An element of DER.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    match significant {
        [short] if *short < 0x80 => element.push(*short),
        long => {
            // A length has at most eight bytes.
            element.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            element.extend_from_slice(long);
        }
    }
    element.extend_from_slice(content);
    element
}

#[cfg(test)]
mod tests;
