//! All that one logical cluster serves at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Resource, built_in, custom};
use crate::api::Pages;

/// The served resources, by group, version and plural. A new one is made when a CustomResourceDefinition changes; who
/// holds an old one finishes with it.
#[derive(Debug, Default)]
pub struct Catalog {
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// What is told about all of them.
    pub(crate) pages: Pages,
}

impl Catalog {
    /// The built-in resources and those of the definitions, which are JSON objects of kind CustomResourceDefinition
    /// that are established and not being deleted.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        Self::default().renewed(definitions)
    }

    /// The same for other definitions. What those make that are still at the version at which they were read is shared:
    /// reading a schema and compiling its rules takes a while.
    pub fn renewed<'a>(&self, definitions: impl IntoIterator<Item = &'a Value>) -> Self {
        let customs = definitions.into_iter().flat_map(|definition| {
            let known = self.made_by(definition);
            if known.is_empty() { custom::resources(definition).into_iter().map(Arc::new).collect() } else { known }
        });
        let all = built_in::all().iter().cloned().chain(customs);
        let resources = all.map(|resource| (key(&resource), resource)).collect();
        Self { resources, pages: Pages::default() }
    }

    /// The resources that were made by this version of a definition.
    fn made_by(&self, definition: &Value) -> Vec<Arc<Resource>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&definition["spec"]["group"]), text(&definition["spec"]["names"]["plural"]));
        let since = text(&definition["metadata"]["resourceVersion"]);
        let is_meant = |resource: &&Arc<Resource>| {
            resource.is_custom() && resource.is(&group, &plural) && resource.since.to_string() == since
        };
        self.iter().filter(is_meant).cloned().collect()
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
