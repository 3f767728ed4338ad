//! Which objects name which owners.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::owner_refs;
use crate::store::Key;

/// The objects that have owners, by the uid of the owner. Others take no room here.
#[derive(Debug, Default)]
pub struct Graph {
    dependents: BTreeMap<Arc<str>, BTreeSet<Key>>,
    owners: BTreeMap<Key, Vec<Arc<str>>>,
}

impl Graph {
    /// Takes in how an object is now; `None` when it is gone.
    pub fn observe(&mut self, key: &Key, object: Option<&Value>) {
        let now: Vec<Arc<str>> = object.into_iter().flat_map(owner_refs).map(|owner| owner.uid.into()).collect();
        if self.owners.get(key).is_some_and(|before| *before == now) {
            return;
        }
        for uid in self.owners.remove(key).unwrap_or_default() {
            self.forget(&uid, key);
        }
        for uid in &now {
            self.dependents.entry(uid.clone()).or_default().insert(key.clone());
        }
        if !now.is_empty() {
            self.owners.insert(key.clone(), now);
        }
    }

    /// The objects that name this owner.
    pub fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// All objects that have owners.
    pub fn owned(&self) -> impl Iterator<Item = &Key> {
        self.owners.keys()
    }

    fn forget(&mut self, uid: &Arc<str>, key: &Key) {
        if let Some(known) = self.dependents.get_mut(uid) {
            known.remove(key);
            if known.is_empty() {
                self.dependents.remove(uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dependents_follow_what_objects_say_of_their_owners() {
        let key = |name: &str| Key::new("", "/secrets", "n", name);
        let owned = |uids: &[&str]| {
            let refs: Vec<Value> = uids.iter().map(|uid| json!({"uid": uid})).collect();
            json!({"metadata": {"ownerReferences": refs}})
        };
        let mut graph = Graph::default();
        let names = |graph: &Graph, uid: &str| -> Vec<String> {
            graph.dependents(uid).map(|key| key.name().to_owned()).collect()
        };
        graph.observe(&key("a"), Some(&owned(&["u", "v"])));
        graph.observe(&key("b"), Some(&owned(&["u"])));
        assert_eq!((names(&graph, "u"), names(&graph, "v")), (vec!["a".into(), "b".into()], vec!["a".to_owned()]));
        graph.observe(&key("a"), Some(&owned(&["v"])));
        graph.observe(&key("b"), None);
        assert_eq!((names(&graph, "u"), names(&graph, "v")), (vec![], vec!["a".to_owned()]));
        graph.observe(&key("a"), Some(&json!({"metadata": {}})));
        assert_eq!(graph.owned().count() + graph.dependents.len(), 0);
    }
}
