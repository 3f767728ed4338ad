//! The order of the entries of `status.versions`.

use std::cmp::Ordering;

use super::KubernetesVersion;

/// Sorts items by their version, oldest first, the way `status.versions` lists them.
///
/// Equal precedence is decided by build metadata. Where two builds have no order, the item that came first stays
/// first. Versions that differ in writing only are in alphabetical order; what is no version comes last.
pub fn sort_oldest_first<T>(items: &mut Vec<T>, version_of: impl Fn(&T) -> &str) {
    let mut entries: Vec<Entry<T>> = Vec::with_capacity(items.len());
    for (position, item) in items.drain(..).enumerate() {
        let text = version_of(&item).to_owned();
        let parsed = KubernetesVersion::parse_tolerant(&text).ok();
        insert(&mut entries, Entry { item, text, parsed, position });
    }
    items.extend(entries.into_iter().map(|entry| entry.item));
}

struct Entry<T> {
    item: T,
    text: String,
    parsed: Option<KubernetesVersion>,
    position: usize,
}

/// One step of an insertion sort, as builds without an order can make the order run in a circle (`x.2`, `y`, `x.1`).
/// The library's sort may panic on that; here every such list ends in one defined order, the one that Go's sort of
/// up to 20 entries gives.
fn insert<T>(sorted: &mut Vec<Entry<T>>, entry: Entry<T>) {
    let is_not_above = |other: &Entry<T>| cmp(&entry, other).is_ge();
    let index = sorted.iter().rposition(is_not_above).map_or(0, |last| last + 1);
    sorted.insert(index, entry);
}

fn cmp<T>(a: &Entry<T>, b: &Entry<T>) -> Ordering {
    let by_text = || a.text.cmp(&b.text).then(a.position.cmp(&b.position));
    match (&a.parsed, &b.parsed) {
        (Some(x), Some(y)) => match x.cmp_with_build(y) {
            Some(Ordering::Equal) => by_text(),
            Some(decided) => decided,
            None => a.position.cmp(&b.position),
        },
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => by_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &[&str], expected: &[&str]) {
        let mut versions = given.to_vec();
        sort_oldest_first(&mut versions, |version| version);
        assert_eq!(versions, expected, "given {given:?}");
    }

    #[test]
    fn older_versions_come_first() {
        check(&["v1.31.0", "v1.9.0", "v1.31.0-rc.1", "v1.30.5"], &["v1.9.0", "v1.30.5", "v1.31.0-rc.1", "v1.31.0"]);
    }

    #[test]
    fn builds_in_order_are_sorted_and_others_stay_as_given() {
        check(&["v1.31.0+10", "v1.31.0+9", "v1.31.0"], &["v1.31.0", "v1.31.0+9", "v1.31.0+10"]);
        check(&["v1.31.0+zz", "v1.31.0+aa"], &["v1.31.0+zz", "v1.31.0+aa"]);
    }

    #[test]
    fn writing_decides_between_equal_versions() {
        check(&["v1.31.0", "1.31.0", "v1.31"], &["1.31.0", "v1.31", "v1.31.0"]);
    }

    #[test]
    fn what_is_no_version_comes_last() {
        check(&["latest", "v1.31.0", "", "edge"], &["v1.31.0", "", "edge", "latest"]);
    }

    #[test]
    fn a_circle_of_builds_ends_in_a_defined_order() {
        check(&["v1.0.0+x.2", "v1.0.0+y", "v1.0.0+x.1"], &["v1.0.0+x.2", "v1.0.0+y", "v1.0.0+x.1"]);
    }
}
