//! A request as the core sees it: no connection, no transport, the whole body in memory.

mod path;
mod query;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};

pub use path::{Path, ResourcePath};
pub use query::Query;

/// One request to one logical cluster, by somebody who was authenticated.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    /// The logical cluster; empty for the one that the server itself is.
    pub cluster: Arc<str>,
    pub path: Path,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub user: User,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

/// What is done to a resource, as authorization and discovery name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// The verb of a request on a resource. `None` for methods that resources do not have.
    pub fn of(method: &Method, path: &ResourcePath, query: &Query) -> Option<Self> {
        Some(match (method, path.name.is_some()) {
            (&Method::GET | &Method::HEAD, false) if query.is_true("watch") => Self::Watch,
            (&Method::GET | &Method::HEAD, true) => Self::Get,
            (&Method::GET | &Method::HEAD, false) => Self::List,
            (&Method::POST, _) => Self::Create,
            (&Method::PUT, _) => Self::Update,
            (&Method::PATCH, _) => Self::Patch,
            (&Method::DELETE, true) => Self::Delete,
            (&Method::DELETE, false) => Self::DeleteCollection,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether it leaves everything as it is.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl Request {
    /// A header's value, if it is text.
    pub fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Who owns the fields that this request writes: the `fieldManager` that it names, or else the program that sends it,
    /// which is its user agent up to the first slash.
    pub fn field_manager(&self) -> &str {
        let named = self.query.get("fieldManager").filter(|name| !name.is_empty());
        let agent = || self.header(http::header::USER_AGENT).unwrap_or_default();
        named.unwrap_or_else(|| agent().split('/').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_follows_from_method_name_and_watch() {
        let check = |method: Method, uri: &str, expected: &str| {
            let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
            let Path::Resource(path) = Path::parse(path) else { panic!("{uri} must be a resource") };
            let verb = Verb::of(&method, &path, &Query::parse(query)).map_or("none", Verb::as_str);
            assert_eq!(verb, expected, "{method} {uri}");
        };
        check(Method::GET, "/api/v1/pods", "list");
        check(Method::GET, "/api/v1/pods?watch=1", "watch");
        check(Method::GET, "/api/v1/pods?watch=false", "list");
        check(Method::GET, "/api/v1/namespaces/a/pods/b", "get");
        check(Method::GET, "/api/v1/namespaces/a/pods/b?watch=1", "get");
        check(Method::DELETE, "/api/v1/namespaces/a/pods/b", "delete");
        check(Method::DELETE, "/api/v1/namespaces/a/pods", "deletecollection");
        check(Method::OPTIONS, "/api/v1/pods", "none");
    }
}
