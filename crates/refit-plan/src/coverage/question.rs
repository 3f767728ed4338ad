//! What extensions are asked about: a machine, or all machines of a MachineSet, as it is and as it should be.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use refit_api::cluster::{Machine, MachineSet};
use refit_api::hooks::{
    CanUpdateMachineRequest, CanUpdateMachineRequestObjects, CanUpdateMachineSetRequest,
    CanUpdateMachineSetRequestObjects, CanonicalName, RawObject, RawObjectError,
};
use refit_api::rollout::ChangedObject;
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Patches;
use super::change::Changes;
use super::counted::{OBJECTS, Scope, group, same_type};
use super::difference::differences;
use super::hash::ContentHash;
use super::patch::{self, PatchError};

/// A Machine and its provider objects, whole, as they were read or computed.
///
/// KubeadmConfigs of a control plane are prepared before; see [`kubeadm_config`](super::kubeadm_config).
#[derive(Debug, Clone, PartialEq)]
pub struct MachineObjects {
    pub machine: Machine,
    pub infrastructure_machine: RawObject,
    pub bootstrap_config: Option<RawObject>,
}

/// A MachineSet and the templates it refers to, whole, as they were read or computed.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineSetObjects {
    pub machine_set: MachineSet,
    pub infrastructure_machine_template: RawObject,
    pub bootstrap_config_template: Option<RawObject>,
}

/// What is, and what should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    scope: Scope,
    current: Objects,
    desired: Objects,
}

/// A question as it goes to an extension, without settings: those are the ExtensionConfig's.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Machine(Box<CanUpdateMachineRequest>),
    MachineSet(Box<CanUpdateMachineSetRequest>),
}

/// Why there is nothing to ask about.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    #[error("the {0:?} cannot be encoded")]
    Encode(ChangedObject, #[source] RawObjectError),
    /// An object that was read from an API server has a kind. Without one, no patch of it could be applied.
    #[error("the {0:?} has no kind")]
    NoKind(ChangedObject),
}

/// The objects of one side, stripped to what extensions are shown.
#[derive(Debug, Clone, PartialEq)]
struct Objects {
    machine: RawObject,
    infrastructure: RawObject,
    bootstrap: Option<RawObject>,
}

impl Question {
    /// Asks about one Machine.
    ///
    /// Labels and annotations of the provider objects are synced without an update in place: those of "current" are
    /// replaced by those of "desired", so that no extension takes them for a change.
    pub fn about_machine(current: MachineObjects, desired: MachineObjects) -> Result<Self, QuestionError> {
        let objects = |objects: MachineObjects| {
            Objects::new(&objects.machine, &objects.infrastructure_machine, objects.bootstrap_config.as_ref())
        };
        let (mut current, desired) = (objects(current)?, objects(desired)?);
        current.infrastructure = with_metadata_of(&current.infrastructure, &desired.infrastructure);
        if let (Some(bootstrap), Some(desired)) = (&mut current.bootstrap, &desired.bootstrap) {
            *bootstrap = with_metadata_of(bootstrap, desired);
        }
        Ok(Self { scope: Scope::Machine, current, desired })
    }

    /// Asks about all Machines of a MachineSet that are to move to another one.
    pub fn about_machine_set(current: MachineSetObjects, desired: MachineSetObjects) -> Result<Self, QuestionError> {
        let objects = |objects: MachineSetObjects| {
            let bootstrap = objects.bootstrap_config_template.as_ref();
            Objects::new(&objects.machine_set, &objects.infrastructure_machine_template, bootstrap)
        };
        Ok(Self { scope: Scope::MachineSet, current: objects(current)?, desired: objects(desired)? })
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The question in the form of its hook.
    pub fn request(&self) -> Request {
        let (current, desired) = (self.current.clone(), self.desired.clone());
        match self.scope {
            Scope::Machine => Request::Machine(CanUpdateMachineRequest::new(current.into(), desired.into()).into()),
            Scope::MachineSet => {
                Request::MachineSet(CanUpdateMachineSetRequest::new(current.into(), desired.into()).into())
            }
        }
    }

    /// A hash of everything that an extension is shown. Two questions with one hash have the same answers.
    pub fn hash(&self) -> ContentHash {
        let side = |objects: &Objects| {
            let values = OBJECTS.map(|which| objects.get(which).map(RawObject::as_value));
            json!(values)
        };
        ContentHash::of(&json!([self.scope.as_str(), side(&self.current), side(&self.desired)]))
    }

    /// A hash of what the machine should become, as far as it counts. It tells whether the target of a plan moved on,
    /// also when "current" is half way there.
    pub fn target_hash(&self) -> ContentHash {
        let target = OBJECTS.map(|which| {
            let object = self.desired.get(which)?;
            Some(json!([group(object), object.kind(), self.scope.counted(which, object)]))
        });
        ContentHash::of(&json!([self.scope.as_str(), target]))
    }

    /// A hash of what is to change: the same for machines that change in the same way, whoever they are.
    pub fn change_hash(&self) -> ContentHash {
        let changes = OBJECTS.map(|which| {
            let (before, after) = (self.counted(&self.current, which), self.counted(&self.desired, which));
            let found = differences(before.as_deref(), after.as_deref());
            found.iter().map(|it| json!([format!("{:?}", it.path), it.before, it.after])).collect::<Vec<_>>()
        });
        ContentHash::of(&json!([self.scope.as_str(), self.changes_type(), changes]))
    }

    /// What is to change, as far as it counts.
    pub fn changes(&self) -> Changes {
        self.changes_between(&self.current, &self.desired)
    }

    /// Whether nothing that counts is left to change.
    pub fn is_settled(&self) -> bool {
        let is_equal = |which| self.counted(&self.current, which) == self.counted(&self.desired, which);
        !self.changes_type() && OBJECTS.into_iter().all(is_equal)
    }

    /// Whether an object becomes one of another kind or API group, or comes or goes. No extension can cover that.
    pub fn changes_type(&self) -> bool {
        OBJECTS.into_iter().any(|which| !same_type(self.current.get(which), self.desired.get(which)))
    }

    /// The question about what is left when an extension has made its changes: all of them, or an error.
    pub(super) fn after(&self, patches: &Patches, extension: &CanonicalName) -> Result<Self, PatchError> {
        let mut left = self.clone();
        for which in OBJECTS {
            let (Some(patch), Some(object)) = (patches.of(which), left.current.get_mut(which)) else { continue };
            let patched = patch::apply(patch, object, self.scope.subtree());
            let patched = match which {
                ChangedObject::Machine => patched.and_then(|patched| self.scope.read_back(object, patched)),
                ChangedObject::InfrastructureMachine | ChangedObject::BootstrapConfig => patched,
            };
            *object = patched.map_err(|problem| PatchError { extension: extension.clone(), object: which, problem })?;
        }
        Ok(left)
    }

    /// What became different of "current" on the way from this question to a later one.
    pub(super) fn claims(&self, later: &Self) -> Changes {
        self.changes_between(&self.current, &later.current)
    }

    fn counted<'a>(&self, objects: &'a Objects, which: ChangedObject) -> Option<Cow<'a, Value>> {
        self.scope.counted(which, objects.get(which)?)
    }

    fn changes_between(&self, before: &Objects, after: &Objects) -> Changes {
        let mut changes = Changes::default();
        for which in OBJECTS {
            self.scope.add_changes(which, before.get(which), after.get(which), &mut changes);
        }
        changes
    }
}

impl Objects {
    fn new<K: Serialize>(
        machine: &K,
        infrastructure: &RawObject,
        bootstrap: Option<&RawObject>,
    ) -> Result<Self, QuestionError> {
        let encode = |error| QuestionError::Encode(ChangedObject::Machine, error);
        let objects = Self {
            machine: RawObject::encode(machine).map_err(encode)?.stripped(),
            infrastructure: infrastructure.stripped(),
            bootstrap: bootstrap.map(|object| object.stripped().without_join_tokens()),
        };
        let has_no_kind = |object: &RawObject| object.kind().is_none_or(str::is_empty);
        match OBJECTS.into_iter().find(|which| objects.get(*which).is_some_and(has_no_kind)) {
            Some(which) => Err(QuestionError::NoKind(which)),
            None => Ok(objects),
        }
    }

    fn get(&self, which: ChangedObject) -> Option<&RawObject> {
        match which {
            ChangedObject::Machine => Some(&self.machine),
            ChangedObject::InfrastructureMachine => Some(&self.infrastructure),
            ChangedObject::BootstrapConfig => self.bootstrap.as_ref(),
        }
    }

    fn get_mut(&mut self, which: ChangedObject) -> Option<&mut RawObject> {
        match which {
            ChangedObject::Machine => Some(&mut self.machine),
            ChangedObject::InfrastructureMachine => Some(&mut self.infrastructure),
            ChangedObject::BootstrapConfig => self.bootstrap.as_mut(),
        }
    }
}

impl From<Objects> for CanUpdateMachineRequestObjects {
    fn from(objects: Objects) -> Self {
        Self {
            machine: objects.machine,
            infrastructure_machine: objects.infrastructure,
            bootstrap_config: objects.bootstrap,
        }
    }
}

impl From<Objects> for CanUpdateMachineSetRequestObjects {
    fn from(objects: Objects) -> Self {
        Self {
            machine_set: objects.machine,
            infrastructure_machine_template: objects.infrastructure,
            bootstrap_config_template: objects.bootstrap,
        }
    }
}

/// The object with the labels and annotations of another one.
fn with_metadata_of(object: &RawObject, other: &RawObject) -> RawObject {
    let mut value = object.as_value().clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for part in ["labels", "annotations"] {
            match other.as_value().get("metadata").and_then(|metadata| metadata.get(part)) {
                Some(entries) => metadata.insert(part.to_owned(), entries.clone()),
                None => metadata.remove(part),
            };
        }
    }
    RawObject::try_from(value).expect("an object with other labels must be an object")
}
