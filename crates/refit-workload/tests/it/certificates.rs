//! A certificate authority as Cluster API makes one for etcd, and what it signs for members.

use std::sync::Arc;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use refit_peers::EtcdTls;
use refit_workload::etcd::{EtcdAuthority, Now};

/// The form that is easy to read here, and the one that Cluster API writes, of one key.
const KEYS: [&str; 2] = [include_str!("keys/rsa-pkcs8.pem"), include_str!("keys/rsa-pkcs1.pem")];

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
    pub key: String,
}

impl Authority {
    /// As Cluster API makes it: RSA, in PKCS #1.
    pub fn of_cluster_api() -> Self {
        let key = KeyPair::from_pem(KEYS[0]).expect("the key must be readable");
        Self::of(key, KEYS[1].to_owned())
    }

    /// One that nobody trusts.
    pub fn of_a_stranger() -> Self {
        let key = KeyPair::generate().expect("there must be a key");
        let pem = key.serialize_pem();
        Self::of(key, pem)
    }

    /// What members of these names show.
    pub fn tls(&self, names: &[&str]) -> EtcdTls {
        let names: Vec<String> = names.iter().copied().chain(["127.0.0.1"]).map(str::to_owned).collect();
        let mut params = CertificateParams::new(names).expect("the names must be names");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("there must be a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("it must sign");
        EtcdTls { authority: self.pem.clone(), certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub fn authority(&self) -> EtcdAuthority {
        EtcdAuthority::new(&self.pem, &self.key)
    }

    fn of(key: KeyPair, key_pem: String) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = Default::default();
        params.distinguished_name.push(DnType::CommonName, "kubernetes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let pem = params.self_signed(&key).expect("it must sign itself").pem();
        Self { issuer: Issuer::new(params, key), pem, key: key_pem }
    }
}

pub fn now() -> Now {
    Arc::new(Timestamp::now)
}
