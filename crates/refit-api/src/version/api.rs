//! The order of API versions such as `v1` and `v1beta2`.

use std::cmp::Ordering;

/// Compares two versions of a Kubernetes API: stable above beta above alpha, then by number.
///
/// `v2 > v1 > v1beta2 > v1beta1 > v1alpha1`. Any other string is below all of those; two others are in reverse
/// alphabetical order.
pub fn compare_api_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Derived order: what matters most first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ApiVersion {
    stability: Stability,
    major: i64,
    minor: i64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

fn parse(version: &str) -> Option<ApiVersion> {
    let (major, rest) = split_number(version.strip_prefix('v')?)?;
    let (stability, minor) = if rest.is_empty() {
        return Some(ApiVersion { stability: Stability::Stable, major, minor: 0 });
    } else if let Some(minor) = rest.strip_prefix("beta") {
        (Stability::Beta, minor)
    } else {
        (Stability::Alpha, rest.strip_prefix("alpha")?)
    };
    match split_number(minor)? {
        (minor, "") => Some(ApiVersion { stability, major, minor }),
        _ => None,
    }
}

/// The leading number and what follows it.
fn split_number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_is_above_beta_above_alpha_above_the_rest() {
        let descending = [
            "v10",
            "v2",
            "v1",
            "v2beta1",
            "v1beta10",
            "v1beta2",
            "v1beta1",
            "v2alpha1",
            "v1alpha2",
            "v1alpha1",
            "",
            "1",
            "V1",
            "foo",
            "v1.1",
            "v1beta",
            "v1beta1x",
            "v99999999999999999999",
            "va",
        ];
        for (i, higher) in descending.iter().enumerate() {
            assert_eq!(compare_api_versions(higher, higher), Ordering::Equal, "{higher:?}");
            for lower in &descending[i + 1..] {
                assert_eq!(compare_api_versions(higher, lower), Ordering::Greater, "{higher:?} {lower:?}");
                assert_eq!(compare_api_versions(lower, higher), Ordering::Less, "{lower:?} {higher:?}");
            }
        }
    }
}
