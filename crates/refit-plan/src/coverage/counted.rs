//! What of the objects of a machine counts: what extensions must cover for an update in place.

use std::borrow::Cow;

use refit_api::cluster::{Machine, MachineSet};
use refit_api::decode::DecodeProblem;
use refit_api::hooks::RawObject;
use refit_api::rollout::ChangedObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::change::{Changes, FieldChange};
use super::difference::{Difference, Segment, differences};
use super::patch::{PatchProblem, at_path};

/// The objects of a machine, in the order in which they are compared and patched.
pub(super) const OBJECTS: [ChangedObject; 3] =
    [ChangedObject::Machine, ChangedObject::BootstrapConfig, ChangedObject::InfrastructureMachine];

/// Fields of a Machine's spec that no update in place is for: some never change, the rest controllers set themselves.
///
/// What is not here counts, so that a field that is new in Cluster API is not passed over.
const NOT_COUNTED: [&str; 8] = [
    "bootstrap",
    "clusterName",
    "deletion",
    "infrastructureRef",
    "minReadySeconds",
    "providerID",
    "readinessGates",
    "taints",
];

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One Machine and its provider objects.
    Machine,
    /// All Machines of a MachineSet, by the templates that they are made from.
    MachineSet,
}

impl Scope {
    /// The path of the part of each object that can change in place.
    pub(super) fn subtree(self) -> &'static [&'static str] {
        match self {
            Self::Machine => &["spec"],
            Self::MachineSet => &["spec", "template", "spec"],
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::MachineSet => "MachineSet",
        }
    }

    /// The part of the object that must become equal.
    pub(super) fn counted<'a>(self, which: ChangedObject, object: &'a RawObject) -> Option<Cow<'a, Value>> {
        let subtree = at_path(object.as_value(), self.subtree())?;
        Some(match which {
            ChangedObject::Machine => Cow::Owned(without_uncounted(subtree)),
            ChangedObject::InfrastructureMachine | ChangedObject::BootstrapConfig => Cow::Borrowed(subtree),
        })
    }

    /// Adds where the two differ in what counts.
    pub(super) fn add_changes(
        self,
        which: ChangedObject,
        before: Option<&RawObject>,
        after: Option<&RawObject>,
        changes: &mut Changes,
    ) {
        add_type_changes(which, before, after, changes);
        let before = before.and_then(|object| self.counted(which, object));
        let after = after.and_then(|object| self.counted(which, object));
        for difference in differences(before.as_deref(), after.as_deref()) {
            changes.push(|| FieldChange::new(which, self.subtree(), &difference));
        }
    }

    /// A patched Machine or MachineSet as it is read back: what does not count stays as it was, a field that nobody
    /// knows is dropped, and one of the wrong type is refused.
    pub(super) fn read_back(self, current: &RawObject, patched: RawObject) -> Result<RawObject, PatchProblem> {
        let mut patched = patched.into_value();
        let restored = patched.pointer_mut(&format!("/{}", self.subtree().join("/"))).and_then(Value::as_object_mut);
        if let Some(spec) = restored {
            let current = at_path(current.as_value(), self.subtree());
            for name in NOT_COUNTED {
                match current.and_then(|current| current.get(name)) {
                    Some(value) => spec.insert(name.to_owned(), value.clone()),
                    None => spec.remove(name),
                };
            }
        }
        let patched = RawObject::try_from(patched).map_err(|_| PatchProblem::NotAnObject)?;
        match self {
            Self::Machine => typed::<Machine>(&patched),
            Self::MachineSet => typed::<MachineSet>(&patched),
        }
    }
}

/// Whether the objects are of one kind and API group. An object that is there on one side only is not.
pub(super) fn same_type(before: Option<&RawObject>, after: Option<&RawObject>) -> bool {
    let type_of =
        |object: Option<&RawObject>| object.map(|object| (group(object).to_owned(), object.kind().map(str::to_owned)));
    type_of(before) == type_of(after)
}

/// The API group of an object. Its version is left out: one object can be read in several.
pub(super) fn group(object: &RawObject) -> &str {
    object.api_version().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

fn without_uncounted(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
    }
    spec
}

fn add_type_changes(
    which: ChangedObject,
    before: Option<&RawObject>,
    after: Option<&RawObject>,
    changes: &mut Changes,
) {
    let part = |object: Option<&RawObject>, name: &str| object.and_then(|object| object.as_value().get(name).cloned());
    let same_group = before.map(group) == after.map(group);
    for name in ["apiVersion", "kind"].into_iter().filter(|name| *name == "kind" || !same_group) {
        let (before, after) = (part(before, name), part(after, name));
        if before != after {
            let path = vec![Segment::Key(name)];
            let difference = Difference { path, before: before.as_ref(), after: after.as_ref() };
            changes.push(|| FieldChange::new(which, &[], &difference));
        }
    }
}

fn typed<K: Serialize + DeserializeOwned>(patched: &RawObject) -> Result<RawObject, PatchProblem> {
    let wrong = |path: String, message: String| PatchProblem::WrongType { path, message };
    let object: K = patched.decode().map_err(|error| match &error.problem {
        DecodeProblem::Invalid { path, message, .. } => wrong(path.clone(), message.clone()),
        DecodeProblem::TooLarge { .. } | DecodeProblem::TooDeep => wrong(String::new(), error.to_string()),
    })?;
    let encoded = RawObject::encode(&object).map_err(|error| wrong(String::new(), error.to_string()))?;
    Ok(encoded.stripped())
}
