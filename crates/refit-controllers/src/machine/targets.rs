//! What MachineSets ask for, as hashes: computed once for each version of a MachineSet and its templates, not for each
//! of its Machines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Resource;
use refit_api::hooks::RawObject;
use refit_plan::coverage::{ContentHash, MachineSetObjects, Question};

use crate::cache::ObjectKey;

/// How many MachineSets are remembered. When there are more, everything is computed anew once.
const MAX_TARGETS: usize = 1_024;

/// The hashes that were computed last, by MachineSet.
#[derive(Debug, Default)]
pub(super) struct Targets(Mutex<BTreeMap<ObjectKey, (Versions, Option<ContentHash>)>>);

/// Everything that a hash is made from, by uid and version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Versions(Vec<Option<String>>);

impl Targets {
    /// The hash of what the MachineSet asks for. Nothing if it cannot be put as a question.
    pub fn hash(&self, wanted: MachineSetObjects) -> Option<ContentHash> {
        let (key, versions) = (ObjectKey::of(&wanted.machine_set), Versions::of(&wanted));
        if let Some((_, hash)) = self.lock().get(&key).filter(|(known, _)| *known == versions) {
            return hash.clone();
        }
        let hash = Question::about_machine_set(wanted.clone(), wanted).ok().map(|question| question.target_hash());
        let mut targets = self.lock();
        if targets.len() >= MAX_TARGETS {
            targets.clear();
        }
        targets.insert(key, (versions, hash.clone()));
        hash
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, (Versions, Option<ContentHash>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Versions {
    fn of(wanted: &MachineSetObjects) -> Self {
        let metadata = wanted.machine_set.meta();
        let mut versions = vec![metadata.uid.clone(), metadata.resource_version.clone()];
        for template in [Some(&wanted.infrastructure_machine_template), wanted.bootstrap_config_template.as_ref()] {
            let of = |pointer| template.and_then(|template| text(template, pointer));
            versions.extend([of("/metadata/uid"), of("/metadata/resourceVersion")]);
        }
        Self(versions)
    }
}

fn text(object: &RawObject, pointer: &str) -> Option<String> {
    object.as_value().pointer(pointer)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use refit_api::cluster::MachineSet;
    use serde_json::json;

    use super::*;

    fn wanted(set_version: &str, template_version: &str, memory: &str) -> MachineSetObjects {
        let mut machine_set = MachineSet::default();
        machine_set.metadata.name = Some("ms".to_owned());
        machine_set.metadata.resource_version = Some(set_version.to_owned());
        let template = json!({
            "apiVersion": "x.io/v1", "kind": "HostTemplate",
            "metadata": { "name": "t", "uid": "t", "resourceVersion": template_version },
            "spec": { "template": { "spec": { "memory": memory } } },
        });
        let infrastructure_machine_template = RawObject::try_from(template).expect("it must be an object");
        MachineSetObjects { machine_set, infrastructure_machine_template, bootstrap_config_template: None }
    }

    #[test]
    fn a_hash_counts_for_as_long_as_no_version_changes() {
        let targets = Targets::default();
        let first = targets.hash(wanted("1", "1", "4Gi"));
        assert!(first.is_some());
        assert_eq!(targets.hash(wanted("1", "1", "8Gi")), first, "nobody looks at what has the same version");
        let other = targets.hash(wanted("1", "2", "8Gi"));
        assert_ne!(other, first);
        assert_eq!(targets.hash(wanted("2", "2", "4Gi")), first);
    }
}
