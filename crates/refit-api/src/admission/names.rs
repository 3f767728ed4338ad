//! The rules of Kubernetes for names, labels and annotations.
//!
//! Each check returns what is wrong with the value, in words that say what would be right, or nothing.

use std::collections::BTreeMap;

use super::{FieldError, FieldPath};

/// The longest a DNS-1123 label or a label value may be.
pub const LABEL_MAX_LENGTH: usize = 63;
/// The longest a DNS-1123 subdomain may be.
pub const SUBDOMAIN_MAX_LENGTH: usize = 253;
/// What all annotations of an object may take together, keys and values: 256 KiB.
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;

/// What is wrong with `name` as a DNS-1123 label.
pub fn dns_label_problem(name: &str) -> Option<&'static str> {
    const WRONG: &str =
        "must be at most 63 lowercase letters, digits or '-', starting and ending with a letter or digit";
    (name.len() > LABEL_MAX_LENGTH || !is_dns_label(name)).then_some(WRONG)
}

/// What is wrong with `name` as a DNS-1035 label, the kind that Services have.
pub fn dns_1035_label_problem(name: &str) -> Option<&'static str> {
    const WRONG: &str =
        "must be at most 63 lowercase letters, digits or '-', starting with a letter and ending with a letter or digit";
    let starts_with_letter = name.starts_with(|c: char| c.is_ascii_lowercase());
    (name.len() > LABEL_MAX_LENGTH || !is_dns_label(name) || !starts_with_letter).then_some(WRONG)
}

/// What is wrong with `name` as a DNS-1123 subdomain.
pub fn dns_subdomain_problem(name: &str) -> Option<&'static str> {
    const WRONG: &str = "must be at most 253 characters in parts separated by '.', each of lowercase letters, digits or '-', starting and ending with a letter or digit";
    (name.len() > SUBDOMAIN_MAX_LENGTH || !name.split('.').all(is_dns_label)).then_some(WRONG)
}

/// What is wrong with `value` as the value of a label. An empty value is fine.
pub fn label_value_problem(value: &str) -> Option<&'static str> {
    const WRONG: &str =
        "must be empty or at most 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit";
    let fits = value.is_empty() || (value.len() <= LABEL_MAX_LENGTH && is_qualified_part(value));
    (!fits).then_some(WRONG)
}

/// What is wrong with `key` as the key of a label, an annotation or a taint: `name` or `subdomain/name`.
pub fn qualified_name_problem(key: &str) -> Option<&'static str> {
    const WRONG: &str = "must be at most 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit, with an optional DNS subdomain and '/' before it";
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_fits = prefix.is_none_or(|prefix| dns_subdomain_problem(prefix).is_none());
    let name_fits = !name.is_empty() && name.len() <= LABEL_MAX_LENGTH && is_qualified_part(name);
    (!(prefix_fits && name_fits)).then_some(WRONG)
}

/// Errors of the labels at `path`.
pub fn validate_labels(labels: &BTreeMap<String, String>, path: &FieldPath) -> Vec<FieldError> {
    let key_errors = labels.keys().filter_map(|key| Some(path.invalid(key, qualified_name_problem(key)?)));
    let value_errors = labels.values().filter_map(|value| Some(path.invalid(value, label_value_problem(value)?)));
    key_errors.chain(value_errors).collect()
}

/// Errors of the annotations at `path`.
pub fn validate_annotations(annotations: &BTreeMap<String, String>, path: &FieldPath) -> Vec<FieldError> {
    let problem = |key: &String| qualified_name_problem(&key.to_lowercase());
    let mut errors: Vec<_> = annotations.keys().filter_map(|key| Some(path.invalid(key, problem(key)?))).collect();
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ANNOTATIONS_MAX_BYTES {
        errors
            .push(path.invalid(bytes, format!("annotations must take at most {ANNOTATIONS_MAX_BYTES} bytes together")));
    }
    errors
}

fn is_dns_label(part: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.chars().all(|c| allowed(c) || c == '-') && part.starts_with(allowed) && part.ends_with(allowed)
}

fn is_qualified_part(part: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    part.chars().all(|c| alphanumeric(c) || "-_.".contains(c))
        && part.starts_with(alphanumeric)
        && part.ends_with(alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_follow_kubernetes() {
        let long = "a".repeat(64);
        for good in ["", "a", "A.b-c_d", &long[..63]] {
            assert_eq!(label_value_problem(good), None, "{good:?}");
        }
        for bad in ["-a", "a-", "a b", "a/b", "ä", &long] {
            assert!(label_value_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn names_follow_kubernetes() {
        for good in ["a", "a-b.c", "0.1"] {
            assert_eq!(dns_subdomain_problem(good), None, "{good:?}");
        }
        for bad in ["", ".", "a..b", "A", "-a", "a-.b", &"a".repeat(254)] {
            assert!(dns_subdomain_problem(bad).is_some(), "{bad:?}");
        }
        assert_eq!(dns_label_problem("0a"), None);
        assert!(dns_label_problem("a.b").is_some());
        assert!(dns_1035_label_problem("0a").is_some());
        assert_eq!(dns_1035_label_problem("a0"), None);
    }

    #[test]
    fn keys_may_have_a_subdomain() {
        for good in ["a", "x.io/a", "x.io/A_b.c"] {
            assert_eq!(qualified_name_problem(good), None, "{good:?}");
        }
        for bad in ["", "/a", "x.io/", "X.io/a", "x.io/a/b", "a b"] {
            assert!(qualified_name_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn all_annotations_together_have_a_limit() {
        let path = FieldPath::new("metadata.annotations");
        let annotations = |size| BTreeMap::from([("k".to_owned(), "v".repeat(size))]);
        assert!(validate_annotations(&annotations(ANNOTATIONS_MAX_BYTES - 1), &path).is_empty());
        assert_eq!(validate_annotations(&annotations(ANNOTATIONS_MAX_BYTES), &path).len(), 1);
    }
}
