//! PEM and DER, as far as certificates and keys of users have to be read.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::error::CertificateError;

/// In a PKCS#8 key: the algorithm is RSA.
const RSA: [u8; 15] = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// The curves that can be signed with, as identifiers.
const CURVES: [&[u8]; 2] =
    [&[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22]];
/// The algorithm is one of elliptic curves.
const EC: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// The DER of all certificates in a PEM. There is at least one.
pub fn certificates(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let blocks = blocks(text)?;
    let ders: Vec<Vec<u8>> =
        blocks.into_iter().filter(|block| block.label == "CERTIFICATE").map(|block| block.contents).collect();
    if ders.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    let is_readable = |der: &&Vec<u8>| X509Certificate::from_der(der).is_ok_and(|(rest, _)| rest.is_empty());
    match ders.iter().position(|der| !is_readable(&der)) {
        Some(place) => Err(format!("certificate {} in it cannot be decoded", place + 1)),
        None => Ok(ders),
    }
}

/// Whether there is a public key, or a certificate with one.
pub fn check_public_key(text: &str) -> Result<(), String> {
    let is_public = |label: &str| label.ends_with("PUBLIC KEY") || label == "CERTIFICATE";
    match blocks(text)?.iter().any(|block| is_public(&block.label)) {
        true => Ok(()),
        false => Err("there is no public key in it".to_owned()),
    }
}

/// The private key in a PEM as PKCS#8, whichever of the usual forms it has.
pub fn private_key(text: &str) -> Result<Vec<u8>, String> {
    let block = blocks(text)?.into_iter().find(|block| block.label.ends_with("PRIVATE KEY"));
    let Pem { label, contents } = block.ok_or("there is no private key in it")?;
    match label.as_str() {
        "PRIVATE KEY" => Ok(contents),
        "RSA PRIVATE KEY" => Ok(pkcs8(&RSA, &contents)),
        "EC PRIVATE KEY" => {
            let names = |curve: &&&[u8]| contents.windows(curve.len()).any(|window| window == **curve);
            let curve = CURVES.iter().find(names).ok_or("its curve is not P-256 or P-384")?;
            Ok(pkcs8(&element(0x30, &[&EC, curve]), &contents))
        }
        label => Err(format!("a key of the form {label:?} cannot be read; write it as PKCS#8 without a password")),
    }
}

/// `sha256:` and the hash of the public key, for each certificate: how kubeadm pins authorities.
pub fn public_key_hashes(certificate: &str) -> Result<Vec<String>, CertificateError> {
    let unusable = |why| CertificateError::Authority { why };
    let ders = certificates(certificate).map_err(unusable)?;
    let hash = |der: &Vec<u8>| {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| unusable(error.to_string()))?;
        let digest = Sha256::digest(certificate.public_key().raw);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("sha256:{digits}"))
    };
    ders.iter().map(hash).collect()
}

/// When the first of the certificates in a PEM ends.
pub fn first_end(text: &str) -> Result<Timestamp, String> {
    let ends = certificates(text)?.iter().filter_map(|der| end_of(der)).min();
    ends.ok_or_else(|| "no certificate in it says when it ends".to_owned())
}

/// Whether a certificate is for the key with this public part.
pub fn has_key(der: &[u8], public_key: &[u8]) -> bool {
    X509Certificate::from_der(der).is_ok_and(|(_, certificate)| certificate.public_key().raw == public_key)
}

fn end_of(der: &[u8]) -> Option<Timestamp> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

fn blocks(text: &str) -> Result<Vec<Pem>, String> {
    let blocks: Result<Vec<Pem>, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    blocks.map_err(|_| "it is no PEM".to_owned())
}

fn pkcs8(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let version = [0x02, 0x01, 0x00];
    element(0x30, &[&version, algorithm, &element(0x04, &[key])])
}

/// One element of DER.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut element = vec![tag];
    match content.len() {
        short @ 0..0x80 => element.extend(u8::try_from(short)),
        _ => {
            element.extend(u8::try_from(significant.len()).map(|count| 0x80 | count));
            element.extend(significant);
        }
    }
    element.extend(content);
    element
}
