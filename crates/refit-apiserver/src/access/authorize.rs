//! Rights, by group.

use http::{Method, StatusCode};

use super::{BACKUP_PATH, MASTERS, VIEWERS, bound_group, is_public};
use crate::clusters::LogicalCluster;
use crate::request::{Path, Query, ResourcePath, User, Verb};
use crate::status::{Qualified, Status};

/// What somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    pub user: &'a User,
    pub place: Place<'a>,
    pub method: &'a Method,
    pub path: &'a Path,
    pub query: &'a Query,
}

/// Which cluster a request is about.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The cluster that the server itself is.
    Root,
    Cluster(&'a LogicalCluster),
    /// A logical cluster that does not exist. To whom it would not belong, it looks like any other.
    Missing,
}

impl<'a> Place<'a> {
    /// By the name in the path, and the cluster that has it.
    pub fn new(name: &str, found: Option<&'a LogicalCluster>) -> Self {
        match found {
            Some(cluster) => Self::Cluster(cluster),
            None if name.is_empty() => Self::Root,
            None => Self::Missing,
        }
    }
}

/// Whether they may ask about their own rights: everybody in the server's own cluster, and in a logical cluster those who
/// have any there. Others are not told whether it exists.
pub fn authorize_review(attempt: Attempt<'_>) -> Result<(), Status> {
    let is_root = matches!(attempt.place, Place::Root);
    if is_root || attempt.is_in(MASTERS) || attempt.is_in(VIEWERS) || attempt.is_bound() {
        return Ok(());
    }
    Err(attempt.refusal())
}

/// Whether they may.
pub fn authorize(attempt: Attempt<'_>) -> Result<(), Status> {
    if attempt.is_in(MASTERS) || attempt.is_bound() || attempt.is_harmless() {
        return Ok(());
    }
    if attempt.is_in(VIEWERS) && attempt.is_plain_read() {
        return Ok(());
    }
    Err(attempt.refusal())
}

impl Attempt<'_> {
    fn is_in(&self, group: &str) -> bool {
        self.user.groups.iter().any(|known| known == group)
    }

    /// The user belongs to this very cluster.
    fn is_bound(&self) -> bool {
        matches!(self.place, Place::Cluster(cluster) if self.is_in(&bound_group(&cluster.name, &cluster.uid)))
    }

    /// It says nothing about any object, definition or logical cluster.
    fn is_harmless(&self) -> bool {
        matches!(self.place, Place::Root)
            && matches!(self.path, Path::Other(path) if self.is_get() && (is_public(path) || path == "/version"))
    }

    fn is_plain_read(&self) -> bool {
        match self.path {
            Path::Resource(path) => self.verb(path).is_some_and(Verb::is_read) && !is_secret(path),
            Path::Other(path) => self.is_get() && path != BACKUP_PATH,
        }
    }

    fn is_get(&self) -> bool {
        matches!(*self.method, Method::GET | Method::HEAD)
    }

    fn verb(&self, path: &ResourcePath) -> Option<Verb> {
        Verb::of(self.method, path, self.query)
    }

    fn refusal(&self) -> Status {
        let user = &self.user.name;
        let method = || self.method.as_str().to_ascii_lowercase();
        match self.path {
            Path::Other(path) => {
                let message = format!("forbidden: User {user:?} cannot {} path {path:?}", method());
                Status::new(StatusCode::FORBIDDEN, Some("Forbidden"), message).with_empty_details()
            }
            Path::Resource(path) => {
                let verb = self.verb(path).map_or_else(method, |verb| verb.as_str().to_owned());
                let why = format!("User {user:?} cannot {verb} {}", place(path));
                let about = Qualified { group: &path.group, name: &path.plural };
                Status::forbidden(about, path.name.as_deref().unwrap_or_default(), why)
            }
        }
    }
}

fn is_secret(path: &ResourcePath) -> bool {
    path.group.is_empty() && path.plural == "secrets"
}

fn place(path: &ResourcePath) -> String {
    let ResourcePath { group, namespace, plural, subresource, .. } = path;
    let resource = match subresource {
        Some(subresource) => format!("{plural}/{subresource}"),
        None => plural.clone(),
    };
    let scope = match namespace {
        Some(namespace) => format!("in the namespace {namespace:?}"),
        None => "at the cluster scope".to_owned(),
    };
    format!("resource {resource:?} in API group {group:?} {scope}")
}

#[cfg(test)]
mod tests {
    use super::super::{admin, cluster_admin, nobody, viewer};
    use super::*;

    fn cluster(name: &str, uid: &str) -> LogicalCluster {
        LogicalCluster { name: name.into(), uid: uid.to_owned() }
    }

    fn attempt(user: &User, place: Place<'_>, line: &str) -> Result<(), String> {
        let (method, uri) = line.split_once(' ').expect("a line must be a method and a path");
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let method = method.parse().expect("it must be a method");
        let (path, query) = (Path::parse(path), Query::parse(query));
        let attempt = Attempt { user, place, method: &method, path: &path, query: &query };
        authorize(attempt).map_err(|status| status.message)
    }

    const HARMLESS: [&str; 3] = ["GET /version", "GET /healthz", "HEAD /readyz"];
    const READS: [&str; 5] = [
        "GET /api/v1/pods",
        "GET /api/v1/namespaces/a/configmaps/b",
        "GET /apis/g/v1/widgets?watch=1",
        "GET /apis",
        "GET /openapi/v3",
    ];
    const SECRETS: [&str; 4] = [
        "GET /api/v1/secrets",
        "GET /api/v1/namespaces/a/secrets/b",
        "GET /api/v1//secrets?watch=true",
        "GET /refit/backup",
    ];
    const WRITES: [&str; 5] = [
        "POST /api/v1/namespaces",
        "PUT /api/v1/namespaces/a/configmaps/b",
        "PATCH /apis/g/v1/widgets/a/status",
        "DELETE /api/v1/nodes",
        "POST /apis",
    ];

    #[test]
    fn each_kind_of_user_may_do_what_it_is_for_and_nothing_else() {
        let check = |user: &User, place: Place<'_>, allowed: [bool; 4]| {
            let parts: [&[&str]; 4] = [&HARMLESS, &READS, &SECRETS, &WRITES];
            for (lines, allowed) in parts.into_iter().zip(allowed) {
                for line in lines {
                    assert_eq!(attempt(user, place, line).is_ok(), allowed, "{} {line}", user.name);
                }
            }
        };
        let (here, elsewhere, reborn) = (cluster("a", "1"), cluster("b", "2"), cluster("a", "3"));
        for place in [Place::Root, Place::Cluster(&here), Place::Missing] {
            check(&admin(), place, [true; 4]);
            check(&viewer(), place, [true, true, false, false]);
            check(&nobody(), place, [matches!(place, Place::Root), false, false, false]);
        }
        let bound = cluster_admin(&here);
        check(&bound, Place::Cluster(&here), [true; 4]);
        check(&bound, Place::Root, [true, false, false, false]);
        for place in [Place::Cluster(&elsewhere), Place::Cluster(&reborn), Place::Missing] {
            check(&bound, place, [false; 4]);
        }
    }

    #[test]
    fn a_refusal_says_who_cannot_do_what_and_where() {
        let check = |line: &str, expected: &str| {
            let user = User { name: "nobody".to_owned(), groups: Vec::new() };
            assert_eq!(attempt(&user, Place::Root, line), Err(expected.to_owned()), "{line}");
        };
        check(
            "PATCH /apis/g/v1/namespaces/ns/widgets/x/status",
            r#"widgets.g "x" is forbidden: User "nobody" cannot patch resource "widgets/status" in API group "g" in the namespace "ns""#,
        );
        check(
            "GET /api/v1/nodes",
            r#"nodes is forbidden: User "nobody" cannot list resource "nodes" in API group "" at the cluster scope"#,
        );
        check("GET /apis", r#"forbidden: User "nobody" cannot get path "/apis""#);
    }
}
