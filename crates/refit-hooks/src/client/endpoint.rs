//! Where a hook of an extension is: from an ExtensionConfig's `clientConfig` to the address of one call.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use refit_api::hooks::{HandlerName, Hook};
use refit_api::runtime::{ClientConfig, ServiceReference};

/// The server of an extension: its address, the path that its hooks are below, and whom to trust.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    authority: Authority,
    /// Segments of the path that all hooks are below, cleaned.
    prefix: String,
    query: Option<String>,
    /// `user:password` of a URL, in the form of the header. Never shown.
    authorization: Option<HeaderValue>,
    /// The certificates, in PEM, that alone are trusted. Empty: the system's.
    ca_bundle: Vec<u8>,
}

/// Why there is no address to call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The ExtensionConfig says nothing.
    #[error("failed to compute URL: at least one of service and url should be defined in config")]
    Undefined,
    /// Not shown: it may hold a password.
    #[error("failed to compute URL: failed to parse url from clientConfig")]
    Unparsable,
    /// Extensions are called over TLS only.
    #[error("failed to compute URL: expected https scheme, got {0}")]
    Scheme(String),
}

impl Endpoint {
    /// Reads the `clientConfig` of an ExtensionConfig. The Service wins where both are set.
    pub fn new(config: &ClientConfig) -> Result<Self, EndpointError> {
        let service = config.service.as_ref().filter(|service| **service != ServiceReference::default());
        let endpoint = match (service, config.url.as_deref()) {
            (Some(service), _) => Self::of_service(service)?,
            (None, Some(url)) if !url.is_empty() => Self::of_url(url)?,
            (None, _) => return Err(EndpointError::Undefined),
        };
        let ca_bundle = config.ca_bundle.as_ref().map(|bundle| bundle.0.clone()).unwrap_or_default();
        Ok(Self { ca_bundle, ..endpoint })
    }

    /// The name that the server's certificate must be for.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// Host and port as in the address, for metrics and messages. Never with a password.
    pub fn host_and_port(&self) -> String {
        match self.authority.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// The certificates, in PEM, that alone are trusted. Empty: the system's.
    pub fn ca_bundle(&self) -> &[u8] {
        &self.ca_bundle
    }

    /// What a URL with a user and a password asks to be sent along.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// The address of a call that may take this long.
    pub fn address(&self, hook: Hook, handler: Option<&HandlerName>, timeout: Duration) -> Result<Uri, EndpointError> {
        let path = clean(&format!("{}/{}", self.prefix, hook.path(handler)));
        let timeout = format!("timeout={}s", timeout.as_secs());
        let query = self.query.as_ref().map_or_else(|| timeout.clone(), |query| format!("{query}&{timeout}"));
        let path_and_query: PathAndQuery = format!("{path}?{query}").parse().map_err(|_| EndpointError::Unparsable)?;
        let authority: Authority = self.host_and_port().parse().map_err(|_| EndpointError::Unparsable)?;
        Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(authority)
            .path_and_query(path_and_query)
            .build()
            .map_err(|_| EndpointError::Unparsable)
    }

    fn of_service(service: &ServiceReference) -> Result<Self, EndpointError> {
        let ServiceReference { namespace, name, path, port } = service;
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let authority = checked(format!("{name}.{namespace}.svc{port}").parse().ok())?;
        let prefix = clean(path.as_deref().unwrap_or_default());
        Ok(Self { authority, prefix, query: None, authorization: None, ca_bundle: Vec::new() })
    }

    fn of_url(url: &str) -> Result<Self, EndpointError> {
        let url = url.split('#').next().unwrap_or_default();
        let uri: Uri = url.parse().map_err(|_| EndpointError::Unparsable)?;
        match uri.scheme_str() {
            Some("https") => {}
            other => return Err(EndpointError::Scheme(other.unwrap_or_default().to_owned())),
        }
        let authority = checked(uri.authority().cloned())?;
        let authorization = authority.as_str().rsplit_once('@').and_then(|(user, _)| basic_authorization(user));
        let query = uri.query().filter(|query| !query.is_empty()).map(str::to_owned);
        Ok(Self { authority, prefix: clean(uri.path()), query, authorization, ca_bundle: Vec::new() })
    }
}

/// Says where the extension is, and no secrets of it.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint(https://{}{})", self.host_and_port(), self.prefix)
    }
}

/// An authority with a host, and with a port that is one or with none: a wrong port would read as none at all.
fn checked(authority: Option<Authority>) -> Result<Authority, EndpointError> {
    let is_good = |authority: &Authority| {
        let port = authority.as_str().rsplit_once(authority.host()).map_or("", |(_, port)| port);
        !authority.host().is_empty() && (matches!(port, "" | ":") || authority.port_u16().is_some())
    };
    authority.filter(is_good).ok_or(EndpointError::Unparsable)
}

/// A path without empty segments, `.` and `..`, and without a slash at its end.
fn clean(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    segments.iter().flat_map(|segment| ["/", segment]).collect()
}

/// The header for `user:password`, both with `%xx` resolved.
fn basic_authorization(user_info: &str) -> Option<HeaderValue> {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let credentials = [percent_decoded(user), b":".to_vec(), percent_decoded(password)].concat();
    let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(credentials))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// What is no `%xx` stays as it is.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &tail[2..];
            }
            None => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests;
