//! Paths of the API.

/// What a path points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// Something below `/api/v1/` or `/apis/<group>/<version>/`. Whether it is served is not known yet.
    Resource(ResourcePath),
    /// Anything else: discovery, OpenAPI, version, health.
    Other(String),
}

/// A collection, an object or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourcePath {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    /// `None` for resources without namespace, and for all namespaces at once.
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    /// `status`, `scale`, or what follows the name otherwise.
    pub subresource: Option<String>,
}

impl Path {
    /// Reads the path of a URI; `%` escapes are decoded after it is cut into segments.
    pub fn parse(path: &str) -> Self {
        let segments: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(unescape).collect();
        let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
        let resource = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ResourcePath::parse("", version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => ResourcePath::parse(group, version, rest),
            _ => None,
        };
        resource.map_or_else(|| Self::Other(path.to_owned()), Self::Resource)
    }
}

impl ResourcePath {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let (namespace, rest) = match rest {
            // A namespace is an object, too: what follows its name is a part of it, or a resource inside it.
            ["namespaces", _, "status" | "finalize"] | ["namespaces", _] => (None, rest),
            ["namespaces", namespace, inside @ ..] if !inside.is_empty() => (Some((*namespace).to_owned()), inside),
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(name), None),
            [plural, name, parts @ ..] => (plural, Some(name), Some(parts.join("/"))),
            [] => return None,
        };
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace,
            plural: (*plural).to_owned(),
            name: name.map(|&name| name.to_owned()),
            subresource,
        })
    }
}

/// Decodes `%xx`; what is no escape stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(hex);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    text.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: (&str, &str, Option<&str>, &str, Option<&str>, Option<&str>)) {
        let Path::Resource(found) = Path::parse(path) else { panic!("{path} must be a resource") };
        let found = (
            found.group.as_str(),
            found.version.as_str(),
            found.namespace.as_deref(),
            found.plural.as_str(),
            found.name.as_deref(),
            found.subresource.as_deref(),
        );
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn namespaces_are_objects_and_places() {
        check("/api/v1/namespaces", ("", "v1", None, "namespaces", None, None));
        check("/api/v1/namespaces/a", ("", "v1", None, "namespaces", Some("a"), None));
        check("/api/v1/namespaces/a/status", ("", "v1", None, "namespaces", Some("a"), Some("status")));
        check("/api/v1/namespaces/a/pods", ("", "v1", Some("a"), "pods", None, None));
        check("/api/v1/namespaces/a/pods/b/status", ("", "v1", Some("a"), "pods", Some("b"), Some("status")));
    }

    #[test]
    fn groups_and_escapes_are_read() {
        check("/apis/g.io/v2/things/x%2Fy", ("g.io", "v2", None, "things", Some("x/y"), None));
        check("/apis/g.io/v2/things/%zz%4", ("g.io", "v2", None, "things", Some("%zz%4"), None));
    }

    #[test]
    fn what_is_above_resources_is_something_else() {
        for path in ["/", "/api", "/api/v1", "/apis/g/v1", "/healthz", "/openapi/v3/api/v1", ""] {
            assert!(matches!(Path::parse(path), Path::Other(_)), "{path}");
        }
    }
}
