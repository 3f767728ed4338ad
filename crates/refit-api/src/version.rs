//! Kubernetes versions: parsing, order and skew, as Cluster API's controllers and webhooks see them.
//!
//! A version has no single order. Build metadata such as `+vendor.2` is ignored by semantic versioning, but decides
//! for Cluster API whether a machine is outdated; and two builds may differ without either being the newer one.
//! So [`KubernetesVersion`] is not `Ord`: the caller names the comparison.

mod api;
mod status;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

pub use api::compare_api_versions;
pub use status::sort_oldest_first;

/// How many minor versions a kubelet may be behind its API server.
pub const KUBELET_MINOR_SKEW: u64 = 3;

/// A parsed Kubernetes version. Written without the `v`.
///
/// Equality is of every part, build metadata included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KubernetesVersion(semver::Version);

/// Why a string is no Kubernetes version.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    #[error("version {version:?} must start with v")]
    MissingPrefix { version: String },
    #[error("version {version:?} is not a semantic version")]
    Malformed { version: String, source: semver::Error },
    #[error("version {version:?} has a pre-release number above {}", u64::MAX)]
    PreReleaseOverflow { version: String },
    #[error("version {version:?} needs a patch number before its pre-release or build metadata")]
    ShortWithSuffix { version: String },
}

/// Puts the `v` in front of a version that lacks it; the defaulting of every `version` field.
pub fn with_v_prefix(version: &str) -> String {
    if version.starts_with('v') { version.to_owned() } else { format!("v{version}") }
}

impl KubernetesVersion {
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// Parses what webhooks accept: `v`, then a strict semantic version.
    pub fn parse_prefixed(version: &str) -> Result<Self, VersionError> {
        let bare = version.strip_prefix('v').ok_or_else(|| VersionError::MissingPrefix { version: version.into() })?;
        parse_strict(bare, version)
    }

    /// Parses what controllers accept: blanks around, leading zeros and a missing patch or minor number are forgiven.
    ///
    /// A version that passed admission parses the same way here. What a kubelet reports need not have.
    pub fn parse_tolerant(version: &str) -> Result<Self, VersionError> {
        let trimmed = version.trim();
        let bare = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let mut parts: Vec<String> = bare.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(VersionError::ShortWithSuffix { version: version.into() });
        }
        parts.resize(3, "0".to_owned());
        parse_strict(&parts.join("."), version)
    }

    /// Parses the tag of a container image, in which `_` stands for the `+` that a tag cannot have.
    pub fn parse_image_tag(tag: &str) -> Result<Self, VersionError> {
        Self::parse_tolerant(&tag.replace('_', "+"))
    }

    pub fn major(&self) -> u64 {
        self.0.major
    }

    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// The order of semantic versioning: pre-releases count, build metadata does not.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }

    /// The order of major, minor and patch alone, so that `1.31.0-rc.1` counts as `1.31.0`.
    pub fn cmp_release(&self, other: &Self) -> Ordering {
        let release = |v: &Self| (v.major(), v.minor(), v.patch());
        release(self).cmp(&release(other))
    }

    /// The order of semantic versioning, then of build metadata.
    ///
    /// Build identifiers compare from left to right: numbers by value, a number below a word. Two different words
    /// have no order, as they may be commit hashes; then there is none between the versions.
    pub fn cmp_with_build(&self, other: &Self) -> Option<Ordering> {
        match self.cmp_precedence(other) {
            Ordering::Equal => cmp_build(&self.0.build, &other.0.build),
            unequal => Some(unequal),
        }
    }

    /// Whether something that runs `self` has still to go to `desired`. A build that merely differs has.
    pub fn is_behind(&self, desired: &Self) -> bool {
        !matches!(desired.cmp_with_build(self), Some(Ordering::Less | Ordering::Equal))
    }

    /// Whether both have the same minor number, which is what `kubeadm join` asks for.
    ///
    /// The major number is left out, as upstream does: there is one major version of Kubernetes.
    pub fn has_minor_of(&self, other: &Self) -> bool {
        self.minor() == other.minor()
    }

    /// Whether both are of one major version and at most one minor version apart.
    pub fn is_within_one_minor_of(&self, other: &Self) -> bool {
        self.major() == other.major() && self.minor().abs_diff(other.minor()) <= 1
    }

    /// Whether going from `self` to `target` would leave out a minor version. Going down never does.
    pub fn skips_minor_to(&self, target: &Self) -> bool {
        match target.major().cmp(&self.major()) {
            Ordering::Less => false,
            Ordering::Equal => target.minor().saturating_sub(self.minor()) > 1,
            Ordering::Greater => true,
        }
    }

    /// How a kubelet of version `self` stands to an API server of version `control_plane`.
    pub fn kubelet_skew(&self, control_plane: &Self) -> KubeletSkew {
        if self.minor() > control_plane.minor() {
            KubeletSkew::TooNew
        } else if self.minor() < control_plane.minor().saturating_sub(KUBELET_MINOR_SKEW) {
            KubeletSkew::TooOld
        } else {
            KubeletSkew::Supported
        }
    }
}

/// Whether a kubelet may talk to an API server, by the skew policy of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeletSkew {
    Supported,
    /// The kubelet's minor version is above the API server's.
    TooNew,
    /// The kubelet is more than [`KUBELET_MINOR_SKEW`] minor versions behind.
    TooOld,
}

/// Parses a strict semantic version, with or without the `v`.
impl FromStr for KubernetesVersion {
    type Err = VersionError;

    fn from_str(version: &str) -> Result<Self, VersionError> {
        parse_strict(version.strip_prefix('v').unwrap_or(version), version)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `given` is what the user wrote, for the error.
fn parse_strict(bare: &str, given: &str) -> Result<KubernetesVersion, VersionError> {
    let version =
        semver::Version::parse(bare).map_err(|source| VersionError::Malformed { version: given.to_owned(), source })?;
    // The crate takes pre-release numbers of any size; Go's parser wants them to fit into 64 bits.
    let overflows = |part: &str| is_number(part) && part.parse::<u64>().is_err();
    if !version.pre.is_empty() && version.pre.split('.').any(overflows) {
        return Err(VersionError::PreReleaseOverflow { version: given.to_owned() });
    }
    Ok(KubernetesVersion(version))
}

fn without_leading_zeros(part: &str) -> String {
    let rest = part.trim_start_matches('0');
    if rest.len() < part.len() && !rest.starts_with(|c: char| c.is_ascii_digit()) {
        format!("0{rest}")
    } else {
        rest.to_owned()
    }
}

fn cmp_build(a: &str, b: &str) -> Option<Ordering> {
    let identifiers =
        |build: &str| -> Vec<String> { build.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let (a, b) = (identifiers(a), identifiers(b));
    for (x, y) in a.iter().zip(&b) {
        match cmp_build_identifier(x, y) {
            Some(Ordering::Equal) => {}
            decided => return decided,
        }
    }
    Some(a.len().cmp(&b.len()))
}

fn cmp_build_identifier(a: &str, b: &str) -> Option<Ordering> {
    // A number that does not fit counts as the largest, as in Go.
    let number = |part: &str| is_number(part).then(|| part.parse().unwrap_or(u64::MAX));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => (a == b).then_some(Ordering::Equal),
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}
