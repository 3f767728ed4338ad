//! The authority that signs for one server, and what it signs.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{CredentialsError, days};
use crate::access::AUTHENTICATED;
use crate::request::User;

const CA_VALIDITY: SignedDuration = days(10 * 365);
/// An authority must outlive everything that it still signs.
pub(super) const CA_RENEWAL: SignedDuration = days(366);
const LEAF_VALIDITY: SignedDuration = days(365);
/// Certificates are made anew so long before their end.
pub(super) const LEAF_RENEWAL: SignedDuration = days(60);
/// Clocks that are a little behind accept a fresh certificate, too.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);
const CA_NAME: &str = "refit-ca";

/// A certificate and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// Keys stay out of logs.
impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Signs certificates of servers and users.
#[derive(Debug)]
pub struct Authority {
    pair: Pair,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn generate(now: Timestamp) -> Result<Self, CredentialsError> {
        let failed = |source| CredentialsError::Certificate { subject: CA_NAME.to_owned(), source };
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = ca_params();
        set_validity(&mut params, now, CA_VALIDITY);
        let certificate = params.self_signed(&key).map_err(failed)?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok(Self { pair, issuer: Issuer::new(params, key) })
    }

    /// The one of an earlier run.
    pub(super) fn load(pair: Pair) -> Result<Self, CredentialsError> {
        let failed = |source| CredentialsError::Certificate { subject: CA_NAME.to_owned(), source };
        let key = KeyPair::from_pem(&pair.key).map_err(failed)?;
        Ok(Self { pair, issuer: Issuer::new(ca_params(), key) })
    }

    /// Its certificate: what clients trust.
    pub fn certificate(&self) -> &str {
        &self.pair.certificate
    }

    pub(super) fn pair(&self) -> &Pair {
        &self.pair
    }

    /// A certificate for a server of these host names and addresses.
    pub fn issue_server(&self, names: &[String], now: Timestamp) -> Result<Pair, CredentialsError> {
        let subject = || names.join(", ");
        let failed = |source| CredentialsError::Certificate { subject: subject(), source };
        let mut params = CertificateParams::new(names.to_vec()).map_err(failed)?;
        params.distinguished_name = Default::default();
        params.distinguished_name.push(DnType::CommonName, "refit-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, &subject(), now, LEAF_VALIDITY)
    }

    /// A certificate for a user. Besides the group of everybody it can name one.
    pub fn issue_client(&self, user: &User, now: Timestamp) -> Result<Pair, CredentialsError> {
        self.issue_client_until(user, now, LEAF_VALIDITY)
    }

    /// The same for another time than a year.
    pub fn issue_client_until(
        &self,
        user: &User,
        now: Timestamp,
        validity: SignedDuration,
    ) -> Result<Pair, CredentialsError> {
        let mut groups = user.groups.iter().filter(|group| *group != AUTHENTICATED);
        let mut params = CertificateParams::default();
        params.distinguished_name = Default::default();
        params.distinguished_name.push(DnType::CommonName, user.name.as_str());
        if let Some(group) = groups.next() {
            params.distinguished_name.push(DnType::OrganizationName, group.as_str());
        }
        if groups.next().is_some() {
            return Err(CredentialsError::Groups { user: user.name.clone() });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, &user.name, now, validity)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        subject: &str,
        now: Timestamp,
        validity: SignedDuration,
    ) -> Result<Pair, CredentialsError> {
        let failed = |source| CredentialsError::Certificate { subject: subject.to_owned(), source };
        set_validity(&mut params, now, validity);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

impl Pair {
    /// Whether it can still be used for that long.
    pub(super) fn outlives(&self, now: Timestamp, margin: SignedDuration) -> bool {
        let end = self.read(|certificate| certificate.validity().not_after.timestamp());
        end.is_some_and(|end| now.saturating_add(margin).is_ok_and(|needed| needed.as_second() < end))
    }

    /// Whether it is for these names and no others.
    pub(super) fn names_all(&self, names: &[String]) -> bool {
        let wanted: BTreeSet<String> = names.iter().cloned().collect();
        let found = self.read(|certificate| {
            let extension = certificate.subject_alternative_name().ok().flatten();
            let named = extension.iter().flat_map(|extension| &extension.value.general_names);
            named.filter_map(host).collect::<BTreeSet<String>>()
        });
        found == Some(wanted)
    }

    fn read<T>(&self, look: impl FnOnce(&X509Certificate<'_>) -> T) -> Option<T> {
        let (_, pem) = parse_x509_pem(self.certificate.as_bytes()).ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        Some(look(&certificate))
    }
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// The same for every authority, so that one can go on signing after a restart.
fn ca_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = Default::default();
    params.distinguished_name.push(DnType::CommonName, CA_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, validity: SignedDuration) {
    let at = |offset| SystemTime::from(now.saturating_add(offset).unwrap_or(now));
    params.not_before = at(-BACKDATE).into();
    params.not_after = at(validity).into();
}
