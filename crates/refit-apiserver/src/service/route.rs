//! Which cluster a path is in.

use std::sync::Arc;

use crate::request::Path;

/// A path, cut into its logical cluster and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// Empty for the cluster that the server itself is.
    pub(crate) cluster: Arc<str>,
    pub(crate) path: Path,
}

impl Route {
    /// Reads `/clusters/<name>/…`, or a path without that.
    pub(crate) fn parse(path: &str) -> Self {
        let Some(rest) = path.strip_prefix("/clusters/") else {
            return Self { cluster: Arc::default(), path: Path::parse(path) };
        };
        let (cluster, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if cluster.is_empty() {
            return Self { cluster: Arc::default(), path: Path::Other(path.to_owned()) };
        }
        Self { cluster: cluster.into(), path: Path::parse(&format!("/{rest}")) }
    }

    /// The same path, begun inside a cluster. There are no clusters inside clusters.
    pub(super) fn within(self, cluster: &Arc<str>) -> Self {
        match &*self.cluster {
            "" => Self { cluster: cluster.clone(), path: self.path },
            other => {
                let path = Path::Other(format!("/clusters/{other}"));
                Self { cluster: cluster.clone(), path }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_names_the_cluster() {
        let check = |path: &str, cluster: &str, rest: &str| {
            assert_eq!(Route::parse(path), Route { cluster: cluster.into(), path: Path::parse(rest) }, "{path}");
        };
        check("/api/v1/pods", "", "/api/v1/pods");
        check("/clusters/a.b/api/v1/pods", "a.b", "/api/v1/pods");
        check("/clusters/a", "a", "/");
        check("/clusters/a/clusters/b/api/v1/pods", "a", "/clusters/b/api/v1/pods");
        check("/clusters//api/v1/pods", "", "/clusters//api/v1/pods");
        check("/clusters", "", "/clusters");
        check("//clusters/a/api/v1/pods", "", "//clusters/a/api/v1/pods");
    }

    #[test]
    fn a_service_of_a_cluster_does_not_leave_it() {
        let inner = Route::parse("/clusters/b/api/v1/pods").within(&"a".into());
        assert_eq!(inner, Route { cluster: "a".into(), path: Path::Other("/clusters/b".to_owned()) });
    }
}
