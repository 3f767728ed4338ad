//! What the extensions of a frozen plan have promised to change, as the plan remembers it: paths, and no values.

use std::collections::BTreeMap;

use refit_api::hooks::CanonicalName;
use serde_json::json;

use super::change::{Changes, is_beneath};

/// How many bytes of claims a plan has room for. Of an extension whose claims do not fit, nothing is remembered.
const MAX_CLAIMS_BYTES: usize = 4 * 1024;
/// The longest path that is remembered. A longer one may be cut, and could then be taken for another.
const MAX_PATH_BYTES: usize = 512;

/// The fields by extension, each as `InfrastructureMachine spec.template.spec.memory`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Claims(BTreeMap<CanonicalName, Vec<String>>);

impl Claims {
    pub fn of<'a>(claims: impl Iterator<Item = (&'a CanonicalName, &'a Changes)>) -> Self {
        let mut all = Self::default();
        for (name, changes) in claims.filter(|(_, changes)| changes.more == 0) {
            let field = |object: &_, path: &_| format!("{object:?} {path}");
            all.insert(name, changes.listed.iter().map(|change| field(&change.object, &change.path)).collect());
        }
        all
    }

    /// Remembers what an extension has promised, if there is room for all of it.
    fn insert(&mut self, name: &CanonicalName, fields: Vec<String>) {
        if fields.is_empty() || fields.iter().any(|field| field.len() > MAX_PATH_BYTES) {
            return;
        }
        self.0.insert(name.clone(), fields);
        if json!(self.encode()).to_string().len() > MAX_CLAIMS_BYTES {
            self.0.remove(name);
        }
    }

    /// Those of these extensions.
    pub fn only(&self, names: &[CanonicalName]) -> Self {
        Self(self.0.iter().filter(|(name, _)| names.contains(name)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// These and others. What one extension has promised twice, it has promised together.
    pub fn and(mut self, others: &Self) -> Self {
        for (name, fields) in &others.0 {
            let mut all = self.0.remove(name).unwrap_or_default();
            all.extend(fields.iter().filter(|field| !all.contains(field)).cloned().collect::<Vec<_>>());
            self.insert(name, all);
        }
        self
    }

    /// Whether all that this extension has promised in another plan is promised here.
    pub fn cover(&self, others: &Self, name: &CanonicalName) -> bool {
        let is_promised = |field: &String| self.0.values().flatten().any(|own| is_beneath(field, own));
        others.0.get(name).is_some_and(|fields| fields.iter().all(is_promised))
    }

    /// The paths that an extension has promised to change.
    pub fn fields_of(&self, name: &CanonicalName) -> Vec<String> {
        let fields = self.0.get(name).into_iter().flatten();
        fields.map(|field| field.split_once(' ').map_or(field.as_str(), |(_, path)| path).to_owned()).collect()
    }

    pub fn encode(&self) -> BTreeMap<String, Vec<String>> {
        self.0.iter().map(|(name, fields)| (name.to_string(), fields.clone())).collect()
    }

    /// What is wrong is not remembered, which only keeps a missing extension in the plan.
    pub fn decode(encoded: BTreeMap<String, Vec<String>>) -> Self {
        let mut all = Self::default();
        for (name, fields) in encoded {
            name.parse().ok().into_iter().for_each(|name| all.insert(&name, fields.clone()));
        }
        all
    }
}
