use std::time::Duration;

use super::*;

const HOOKS: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

fn url(url: &str) -> ClientConfig {
    ClientConfig { url: Some(url.to_owned()), ..ClientConfig::default() }
}

fn service(path: Option<&str>, port: Option<i32>) -> ClientConfig {
    let (namespace, name) = ("system".to_owned(), "ext".to_owned());
    let service = ServiceReference { namespace, name, path: path.map(str::to_owned), port };
    ClientConfig { service: Some(service), ..ClientConfig::default() }
}

fn address(config: &ClientConfig) -> Result<String, EndpointError> {
    let handler = HandlerName::new("update-machine").expect("the name must be valid");
    let endpoint = Endpoint::new(config)?;
    endpoint.address(Hook::UpdateMachine, Some(&handler), Duration::from_secs(10)).map(|uri| uri.to_string())
}

#[test]
fn addresses_are_joined_as_upstream_joins_them() {
    let check = |config: ClientConfig, before: &str, after: &str| {
        let expected = format!("https://{before}/{HOOKS}/updatemachine/update-machine?{after}timeout=10s");
        assert_eq!(address(&config), Ok(expected));
    };
    check(url("https://example.com"), "example.com", "");
    check(url("https://example.com/"), "example.com", "");
    check(url("https://example.com:8443/a/"), "example.com:8443/a", "");
    check(url("https://example.com//a/./b/../c"), "example.com/a/c", "");
    check(url("https://example.com/../.."), "example.com", "");
    check(url("https://[::1]:9443/x"), "[::1]:9443/x", "");
    check(url("https://example.com/a?b=c"), "example.com/a", "b=c&");
    check(url("https://example.com/a#fragment"), "example.com/a", "");
    check(url("https://user:secret@example.com"), "example.com", "");
    check(service(None, None), "ext.system.svc", "");
    check(service(Some("/a/b/"), Some(443)), "ext.system.svc:443/a/b", "");
}

#[test]
fn the_service_wins_where_both_are_set() {
    let both = ClientConfig { url: Some("https://example.com".to_owned()), ..service(None, Some(443)) };
    assert_eq!(Endpoint::new(&both).map(|endpoint| endpoint.host().to_owned()), Ok("ext.system.svc".to_owned()));
}

#[test]
fn discovery_has_no_handler_in_its_path() {
    let endpoint = Endpoint::new(&url("https://example.com")).expect("the URL must be good");
    let uri = endpoint.address(Hook::Discovery, None, Duration::from_secs(1)).expect("there must be an address");
    assert_eq!(uri.to_string(), format!("https://example.com/{HOOKS}/discovery?timeout=1s"));
}

#[test]
fn what_is_no_https_url_is_refused() {
    let check = |config: ClientConfig, expected: EndpointError| assert_eq!(address(&config), Err(expected));
    check(ClientConfig::default(), EndpointError::Undefined);
    check(url(""), EndpointError::Undefined);
    check(url("http://example.com"), EndpointError::Scheme("http".to_owned()));
    check(url("ftp://example.com/x"), EndpointError::Scheme("ftp".to_owned()));
    check(url("example.com"), EndpointError::Scheme(String::new()));
    check(url("https://exa mple.com"), EndpointError::Unparsable);
    check(url("https://example.com:99999"), EndpointError::Unparsable);
    check(url("https://user@/x"), EndpointError::Unparsable);
    check(service(None, Some(443_443)), EndpointError::Unparsable);
}

#[test]
fn a_password_goes_into_the_header_and_nowhere_else() {
    let endpoint = Endpoint::new(&url("https://me:s%40cret@example.com")).expect("the URL must be good");
    let header = endpoint.authorization().expect("there must be a header");
    assert_eq!(header.to_str().expect("it must be text"), format!("Basic {}", STANDARD.encode("me:s@cret")));
    assert!(header.is_sensitive());
    assert_eq!(format!("{endpoint:?}"), "Endpoint(https://example.com)");
    assert_eq!(endpoint.host_and_port(), "example.com");
}
