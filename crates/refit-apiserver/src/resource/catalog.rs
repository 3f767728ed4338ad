//! All that one logical cluster serves at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Resource, built_in, custom};
use crate::api::Pages;
use crate::definition;
use crate::store::{Record, Revision};

/// The served resources, by group, version and plural. A new one is made when a CustomResourceDefinition changes; who
/// holds an old one finishes with it.
#[derive(Debug, Default)]
pub struct Catalog {
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// What was made of each definition, by its name.
    definitions: BTreeMap<String, Arc<Made>>,
    /// What is told about all of them.
    pub(crate) pages: Pages,
}

/// What was made of one version of a definition. The definition itself is not needed until it changes.
#[derive(Debug)]
struct Made {
    revision: Revision,
    /// Its group, names and status.
    summary: Arc<Value>,
    /// None, where it is not established.
    resources: Vec<Arc<Resource>>,
    /// What all of that takes up, see [`definition::held_bytes`].
    held_bytes: usize,
}

impl Made {
    fn of(definition: &Value, revision: Revision, is_served: bool) -> Self {
        let spec = &definition["spec"];
        let summary = json!({
            "spec": {"group": spec["group"], "names": spec["names"]},
            "status": definition["status"],
        });
        let resources = if is_served { custom::resources(definition) } else { Vec::new() };
        let resources = resources.into_iter().map(Arc::new).collect();
        Self { revision, summary: Arc::new(summary), resources, held_bytes: definition::held_bytes(definition) }
    }
}

impl Catalog {
    /// The built-in resources and those of the definitions, which are JSON objects of kind CustomResourceDefinition
    /// that are established and not being deleted.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let made = definitions.into_iter().map(|definition| {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            (name, Arc::new(Made::of(definition, Revision::FIRST, true)))
        });
        Self::of(made.collect())
    }

    /// The same for other definitions, as they are stored now. Those that did not change are not even decoded: reading a
    /// schema and compiling its rules takes a while.
    pub fn renewed(&self, definitions: &[Record]) -> Self {
        let made = definitions.iter().map(|record| {
            let (name, revision) = (record.key().name(), record.revision());
            let known = self.definitions.get(name).filter(|known| known.revision == revision);
            let make = || {
                let definition = record.value();
                Arc::new(Made::of(&definition, revision, definition::is_established(&definition)))
            };
            (name.to_owned(), known.cloned().unwrap_or_else(make))
        });
        let renewed = Self::of(made.collect());
        Self { pages: self.pages.still_true(&renewed), ..renewed }
    }

    fn of(definitions: BTreeMap<String, Arc<Made>>) -> Self {
        let customs = definitions.values().flat_map(|made| &made.resources);
        let all = built_in::all().iter().chain(customs).cloned();
        let resources = all.map(|resource| (key(&resource), resource)).collect();
        Self { resources, definitions, pages: Pages::default() }
    }

    /// Group, names and status of a stored definition, where the catalog was made from this version of it.
    pub fn summary(&self, definition: &Record) -> Option<Arc<Value>> {
        let made = self.definitions.get(definition.key().name());
        made.filter(|made| made.revision == definition.revision()).map(|made| made.summary.clone())
    }

    /// What all definitions but this one hold in memory.
    pub fn held_bytes_without(&self, name: &str) -> usize {
        self.definitions.iter().filter(|(known, _)| *known != name).map(|(_, made)| made.held_bytes).sum()
    }

    /// What this definition holds in memory.
    pub fn held_bytes_of(&self, name: &str) -> usize {
        self.definitions.get(name).map_or(0, |made| made.held_bytes)
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind in a group, in any version: what an owner reference points at.
    pub fn find_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.iter().find(|resource| resource.group == group && resource.kind == kind)
    }

    /// The resource that is stored under this name: in the version that is stored, if that is served.
    pub fn stored(&self, storage_name: &str) -> Option<&Arc<Resource>> {
        let (group, plural) = storage_name.split_once('/')?;
        let versions = || self.iter().filter(|resource| resource.is(group, plural));
        versions().find(|resource| resource.is_stored).or_else(|| versions().next())
    }

    /// In the order of groups, versions and plurals.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }
}

fn key(resource: &Resource) -> (String, String, String) {
    (resource.group.clone(), resource.version.clone(), resource.plural.clone())
}

#[cfg(test)]
mod tests {
    use refit_api::crd;

    use super::*;

    #[test]
    fn our_own_definitions_are_served_beside_the_built_in_kinds() {
        let definitions = crd::all();
        let catalog = Catalog::new(&definitions);
        let machines = catalog.find("cluster.x-k8s.io", "v1beta2", "machines").expect("machines must be served");
        assert!(machines.has_status && machines.is_namespaced && machines.is_stored);
        assert_eq!(machines.short_names, ["ma"]);
        assert!(machines.schema.properties["metadata"].properties.contains_key("finalizers"));
        let sets = catalog.find("cluster.x-k8s.io", "v1beta2", "machinesets").expect("machine sets must be served");
        assert_eq!(sets.scale.as_ref().map(|scale| scale.spec_replicas.as_str()), Some(".spec.replicas"));
        assert!(catalog.find("", "v1", "configmaps").is_some() && catalog.find("", "v1", "widgets").is_none());
    }
}
