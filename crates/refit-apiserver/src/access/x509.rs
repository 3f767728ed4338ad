//! Users by client certificate: the common name is the user, every organization a group.

use jiff::Timestamp;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::AttributeTypeAndValue;

use super::AUTHENTICATED;
use crate::request::User;

/// Who showed a certificate, and until when it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateUser {
    pub user: User,
    pub expires: Timestamp,
}

/// Reads a certificate that was found to be signed by our authority. `None` where it names nobody.
pub fn certificate_user(der: &[u8]) -> Option<CertificateUser> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().find_map(text).filter(|name| !name.is_empty())?;
    let groups = subject.iter_organization().filter_map(text).chain([AUTHENTICATED.to_owned()]);
    let expires = Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?;
    Some(CertificateUser { user: User { name, groups: groups.collect() }, expires })
}

fn text(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    attribute.as_str().ok().map(str::to_owned)
}
