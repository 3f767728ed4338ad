//! The order of versions: `v2` before `v1` before `v1beta2` before `v1alpha1` before anything else.

use std::cmp::{Ordering, Reverse};

/// What sorts the better version first.
pub fn compare(left: &str, right: &str) -> Ordering {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => Reverse(left).cmp(&Reverse(right)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Stability, major and minor number of a version that is named as Kubernetes names them.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = (number(&rest[..end])?, &rest[end..]);
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match rest.strip_prefix("beta") {
        Some(minor) => (1, minor),
        None => (0, rest.strip_prefix("alpha")?),
    };
    Some((stability, major, number(minor)?))
}

/// A number without leading zeros.
fn number(digits: &str) -> Option<u64> {
    let is_canonical = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_canonical.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_strange_ones_last() {
        let sorted =
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "v01"];
        let mut versions = sorted;
        versions.reverse();
        versions.sort_by(|left, right| compare(left, right));
        assert_eq!(versions, sorted);
    }
}
