//! Where objects live, and the versions by which they are told apart.

use std::{fmt, sync::Arc};

/// A version of the whole store. Strictly growing: no two writes share one, and it never goes back, restarts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The version of a store into which nothing was written yet. Not 0, which clients send to mean "any".
    pub const FIRST: Self = Self(1);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of one object. Ordered so that the objects of a resource, and of a namespace in it, lie side by side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    cluster: Arc<str>,
    resource: Arc<str>,
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Key {
    /// `resource` is `group/plural`; `namespace` is empty for what belongs to no namespace.
    pub fn new(
        cluster: impl Into<Arc<str>>,
        resource: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self { cluster: cluster.into(), resource: resource.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The logical cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The resource, as `group/plural`.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The namespace, empty for what belongs to none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shard(&self) -> (Arc<str>, Arc<str>) {
        (self.cluster.clone(), self.resource.clone())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, resource, namespace, name } = self;
        write!(f, "{resource} {namespace}/{name} of cluster {cluster}")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, resource, namespace, name } = self;
        write!(f, "{cluster}:{resource}:{namespace}:{name}")
    }
}

/// What a list or a watch is about: the objects of one resource, in one namespace or in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    pub(super) cluster: Arc<str>,
    pub(super) resource: Arc<str>,
    pub(super) namespace: Option<Arc<str>>,
}

impl Scope {
    /// All objects of a resource.
    pub fn resource(cluster: impl Into<Arc<str>>, resource: impl Into<Arc<str>>) -> Self {
        Self { cluster: cluster.into(), resource: resource.into(), namespace: None }
    }

    /// The same resource, in one namespace only.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<Arc<str>>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Whether an object of the same resource belongs to it.
    pub(super) fn covers(&self, key: &Key) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
    }

    /// A key that is not after any object here: no object has an empty name.
    pub(super) fn start(&self) -> Key {
        let namespace = self.namespace.clone().unwrap_or_default();
        Key { cluster: self.cluster.clone(), resource: self.resource.clone(), namespace, name: Arc::default() }
    }
}
