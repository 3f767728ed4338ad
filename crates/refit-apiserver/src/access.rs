//! Who asks, and what they may do. Pure: certificates and tokens come in as values, answers go out.
//!
//! There are few kinds of users, told apart by their groups. Objects of kind Role and RoleBinding are stored and served
//! like any others; nobody gains or loses a right by them.

mod authorize;
mod review;
mod rules;
mod tokens;
mod x509;

use crate::clusters::LogicalCluster;
use crate::request::User;

pub use authorize::{Attempt, Place, authorize, authorize_review};
pub use review::{is_review, review};
pub use tokens::{Token, Tokens};
pub use x509::{CertificateUser, certificate_user};

/// The group that may do everything in every cluster.
pub const MASTERS: &str = "system:masters";
/// The group that may read everything in every cluster, save for secrets.
pub const VIEWERS: &str = "refit:viewers";
/// The group of everybody who could be authenticated.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Those who may do everything in one logical cluster are in a group of this prefix, the cluster's name and its uid.
const BOUND: &str = "refit:cluster";

/// Whether a user may do everything.
pub fn is_master(user: &User) -> bool {
    user.groups.iter().any(|group| group == MASTERS)
}

/// A user who may do everything.
pub fn admin() -> User {
    user("admin", &[MASTERS])
}

/// A user who may read everything but secrets.
pub fn viewer() -> User {
    user("read-only", &[VIEWERS])
}

/// A user who may do nothing beyond asking for health and version.
pub fn nobody() -> User {
    user("no-access", &[])
}

/// A user who may do everything in one logical cluster and nothing outside. Another cluster of the same name, made
/// after this one was dropped, is another cluster.
pub fn cluster_admin(cluster: &LogicalCluster) -> User {
    user(&format!("cluster-admin:{}", cluster.name), &[&bound_group(&cluster.name, &cluster.uid)])
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().chain(&[AUTHENTICATED]).map(|&group| group.to_owned()).collect();
    User { name: name.to_owned(), groups }
}

fn bound_group(cluster: &str, uid: &str) -> String {
    format!("{BOUND}:{cluster}:{uid}")
}

/// Where the administrator gets everything that is stored, secrets included.
pub const BACKUP_PATH: &str = "/refit/backup";

/// Paths that answer without anybody being authenticated.
pub fn is_public(path: &str) -> bool {
    ["/healthz", "/livez", "/readyz"].contains(&path)
}
