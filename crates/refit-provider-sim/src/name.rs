//! Names and versions of objects.

use std::fmt;

use kube::ResourceExt;

/// An object of one kind: its namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    pub namespace: String,
    pub name: String,
}

impl Name {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The name of an object.
    pub fn of(object: &impl ResourceExt) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }

    /// Another object in the same namespace.
    pub fn beside(&self, name: &str) -> Self {
        Self::new(&self.namespace, name)
    }
}

/// The version of an object. Those of one kind can be compared, since Kubernetes 1.35 by its word, and since ever in
/// fact.
pub fn version(object: &impl ResourceExt) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap_or(0)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
