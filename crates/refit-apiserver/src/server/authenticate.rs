//! Who a request comes from.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use crate::access::{CertificateUser, Tokens};
use crate::request::User;
use crate::status::Status;

/// The user of a request: by the certificate of its connection, or else by its token. Without either, only what is
/// public is answered.
pub(super) fn authenticate(
    certificate: Option<&CertificateUser>,
    headers: &HeaderMap,
    tokens: &Tokens,
    now: Timestamp,
    is_public: bool,
) -> Result<User, Status> {
    if let Some(CertificateUser { user, expires }) = certificate {
        // A connection may outlive the certificate that it began with.
        return if now < *expires { Ok(user.clone()) } else { Err(Status::unauthorized()) };
    }
    match bearer(headers) {
        Some(token) => tokens.user(token).cloned().ok_or_else(Status::unauthorized),
        None if is_public => Ok(anonymous()),
        None => Err(Status::unauthorized()),
    }
}

/// The token of a request. What cannot be read is a token that nobody has.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or("Bearer ");
    let (scheme, token) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn anonymous() -> User {
    User { name: "system:anonymous".to_owned(), groups: vec!["system:unauthenticated".to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{self, Token};

    fn check(certificate: Option<i64>, header: Option<&str>, is_public: bool, expected: Option<&str>) {
        let token = Token { token: "good".to_owned(), user: "by-token".to_owned(), groups: Vec::new() };
        let certificate = certificate.map(|expires| CertificateUser {
            user: access::admin(),
            expires: Timestamp::from_second(expires).unwrap(),
        });
        let headers = header.map(|value| (AUTHORIZATION, value.parse().unwrap())).into_iter().collect();
        let now = Timestamp::from_second(100).unwrap();
        let found = authenticate(certificate.as_ref(), &headers, &Tokens::new(&[token]), now, is_public);
        assert_eq!(found.ok().map(|user| user.name).as_deref(), expected, "{certificate:?} {header:?} {is_public}");
    }

    #[test]
    fn a_certificate_or_a_token_tells_who_asks() {
        check(Some(101), None, false, Some("admin"));
        check(Some(100), None, false, None);
        check(Some(101), Some("Bearer bad"), false, Some("admin"));
        check(None, Some("Bearer good"), false, Some("by-token"));
        check(None, Some("bearer  good "), false, Some("by-token"));
        check(None, Some("Bearer bad"), false, None);
        check(None, Some("Bearer"), false, None);
        check(None, None, false, None);
    }

    #[test]
    fn what_is_public_needs_no_token_but_refuses_a_bad_one() {
        check(None, None, true, Some("system:anonymous"));
        check(None, Some("Basic YTpi"), true, Some("system:anonymous"));
        check(None, Some("Bearer bad"), true, None);
        check(None, Some("Bearer \u{e4}"), true, None);
        check(Some(100), None, true, None);
    }
}
