//! Certificates for one test: an authority, and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate and its key, both in PEM.
#[derive(Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// Signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test authority");
        Self(CertifiedIssuer::self_signed(params, key()).expect("an authority must be made"))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these names or addresses.
    pub fn sign(&self, names: &[&str]) -> Pair {
        self.sign_with(names, |_| {})
    }

    /// The same, of a time long gone.
    pub fn sign_expired(&self, names: &[&str]) -> Pair {
        self.sign_with(names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    /// The same, of a time to come.
    pub fn sign_future(&self, names: &[&str]) -> Pair {
        self.sign_with(names, |params| params.not_before = date_time_ymd(3001, 1, 1))
    }

    fn sign_with(&self, names: &[&str], edit: impl FnOnce(&mut CertificateParams)) -> Pair {
        let (mut params, key) = (params(names), key());
        edit(&mut params);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate must be signed");
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A certificate that nobody has signed but itself; it may say of itself that it is an authority.
pub fn self_signed(names: &[&str], is_authority: bool) -> Pair {
    self_signed_with(names, is_authority, |_| {})
}

/// The same, of a time long gone.
pub fn self_signed_expired(names: &[&str], is_authority: bool) -> Pair {
    self_signed_with(names, is_authority, |params| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    })
}

fn self_signed_with(names: &[&str], is_authority: bool, edit: impl FnOnce(&mut CertificateParams)) -> Pair {
    let (mut params, key) = (params(names), key());
    if is_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    edit(&mut params);
    let certificate = params.self_signed(&key).expect("a certificate must be made");
    Pair { certificate: certificate.pem(), key: key.serialize_pem() }
}

impl Pair {
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        let all = CertificateDer::pem_slice_iter(self.certificate.as_bytes());
        all.collect::<Result<_, _>>().expect("the certificate must be PEM")
    }

    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("the key must be PEM")
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("the names must be good")
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key must be made")
}
