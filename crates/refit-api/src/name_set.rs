//! Sets of names that are kept in an annotation, separated by commas.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A set of names as annotations hold it: sorted, each once, joined by commas.
///
/// Reading forgives blanks, empty entries and repetition, as people edit annotations too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameSet(BTreeSet<String>);

impl NameSet {
    pub fn parse(list: &str) -> Self {
        list.split(',').map(str::trim).collect()
    }

    /// What the annotation holds; nothing if there is none.
    pub fn from_annotation(annotations: &BTreeMap<String, String>, key: &str) -> Self {
        annotations.get(key).map(|list| Self::parse(list)).unwrap_or_default()
    }

    /// Writes the annotation, or drops it when the set is empty. Tells whether that changed anything.
    pub fn write_to(&self, annotations: &mut BTreeMap<String, String>, key: &str) -> bool {
        if self.is_empty() {
            return annotations.remove(key).is_some();
        }
        let list = self.to_string();
        annotations.insert(key.to_owned(), list.clone()) != Some(list)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Adds a name. An empty one is left out: the list cannot hold it.
    pub fn insert(&mut self, name: &str) {
        if !name.is_empty() {
            self.0.insert(name.to_owned());
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<'a> FromIterator<&'a str> for NameSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut set = Self::default();
        names.into_iter().for_each(|name| set.insert(name));
        set
    }
}

impl fmt::Display for NameSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "refit.dev/names";

    #[test]
    fn lists_are_read_leniently_and_written_in_order() {
        let cases = [("", ""), (",", ""), ("b,a", "a,b"), (" a , a,,b ", "a,b"), ("one", "one")];
        for (given, expected) in cases {
            assert_eq!(NameSet::parse(given).to_string(), expected, "{given:?}");
        }
    }

    #[test]
    fn an_empty_set_drops_the_annotation() {
        let mut annotations = BTreeMap::from([(KEY.to_owned(), "a".to_owned())]);
        let mut set = NameSet::from_annotation(&annotations, KEY);
        set.remove("a");
        assert!(set.write_to(&mut annotations, KEY));
        assert_eq!(annotations, BTreeMap::new());
        assert!(!set.write_to(&mut annotations, KEY), "dropping twice changes nothing");
    }

    #[test]
    fn writing_tells_whether_the_text_changed() {
        let mut annotations = BTreeMap::from([(KEY.to_owned(), "b,a".to_owned())]);
        let set = NameSet::from_annotation(&annotations, KEY);
        assert!(set.write_to(&mut annotations, KEY), "the order was mended");
        assert_eq!(annotations[KEY], "a,b");
        assert!(!set.write_to(&mut annotations, KEY));
    }

    #[test]
    fn empty_names_are_left_out() {
        let set: NameSet = ["", "a"].into_iter().collect();
        assert_eq!((set.len(), set.contains("a"), set.contains("")), (1, true, false));
    }
}
