//! What the shell is to write: one effect per request to the API.
//!
//! A plan's effects are carried out in their order, and the first that fails ends the plan. The order is such that a
//! crash between any two leaves a world from which the same decision goes on. Every effect is idempotent, and carries
//! what must still be so for it to be right: a stale or doubled writer is refused by the API server.

use refit_api::resource::CustomKind;
use refit_api::vocabulary::managers;
use serde_json::{Value, json};

/// One request to the API.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Apply(Apply),
    Patch(Patch),
    Delete(Delete),
    Emit(Event),
}

/// A write that the API server can be asked about beforehand.
///
/// The dry run and the write in earnest are requests of this one value, so what was rehearsed is what is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Apply(Apply),
    Patch(Patch),
}

/// Server-side apply, forced: the fields of the intent, and no others, are the manager's afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Apply {
    /// Without a uid the object is created when it is not there; with one it never is.
    pub target: Target,
    pub manager: &'static str,
    /// `apiVersion`, `kind`, name, labels, annotations, finalizers, owners and `spec`, as far as they are intended.
    pub intent: Value,
}

/// A JSON merge patch, by the manager of patches.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    pub target: Target,
    pub part: Part,
    /// What to merge, without the precondition.
    pub merge: Value,
    /// The version that the patch was made for, where it replaces a list or a value that others write, too.
    pub resource_version: Option<String>,
    /// The same as operations of a JSON patch that test what they replace. Where there are some they are sent, and not the
    /// merge: a patch of some conditions then leaves those of others alone, and no version has to be pinned for them.
    pub operations: Option<Vec<Value>>,
}

/// The part of an object that a patch is about: each has its own endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Metadata and spec.
    Object,
    Status,
}

/// Deletion of exactly the object that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Its uid is a precondition.
    pub target: Target,
    /// The version that was decided about, where what the object says is why it goes: somebody may have taken it on since.
    pub resource_version: Option<String>,
}

/// Something to tell people about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub about: Target,
    pub type_: EventType,
    /// From `refit_api::vocabulary`.
    pub reason: &'static str,
    pub message: String,
}

/// Whether an event is worth worrying about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    Normal,
    Warning,
}

/// Names one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// As in `cluster.x-k8s.io/v1beta2`.
    pub api_version: String,
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
    /// Of the object that was seen; nothing for one that is to be created.
    pub uid: Option<String>,
}

impl Target {
    /// Names an object of ours.
    pub fn of<K: CustomKind>(object: &K) -> Self {
        let metadata = object.meta();
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::DEFINITION.kind.to_owned(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
        }
    }

    /// Names an object of a provider, which is JSON here.
    pub fn of_value(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
            uid: text("/metadata/uid"),
        }
    }
}

impl Patch {
    /// A patch of metadata and spec.
    pub fn object(target: Target, merge: Value) -> Self {
        Self { target, part: Part::Object, merge, resource_version: None, operations: None }
    }

    /// The field manager of every patch.
    pub const MANAGER: &'static str = managers::PATCHES;

    /// The body to send: what to merge, and the precondition. The API server refuses it for another uid or version.
    pub fn body(&self) -> Value {
        let mut body = self.merge.clone();
        if let Some(uid) = &self.target.uid {
            body["metadata"]["uid"] = json!(uid);
        }
        if let Some(version) = &self.resource_version {
            body["metadata"]["resourceVersion"] = json!(version);
        }
        body
    }
}

impl Delete {
    /// Deletes the object whatever has become of it since it was seen.
    pub fn at_any_version(target: Target) -> Self {
        Self { target, resource_version: None }
    }

    /// Deletes the object as it was seen. The API server refuses it for one that has changed since.
    pub fn as_seen<K: CustomKind>(object: &K) -> Self {
        Self { target: Target::of(object), resource_version: object.meta().resource_version.clone() }
    }

    /// The same for an object of a provider.
    pub fn value_as_seen(object: &Value) -> Self {
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        Self { target: Target::of_value(object), resource_version: version }
    }
}

impl Write {
    /// The object that is written to.
    pub fn target(&self) -> &Target {
        match self {
            Self::Apply(apply) => &apply.target,
            Self::Patch(patch) => &patch.target,
        }
    }

    /// What the write says about the object.
    pub fn content(&self) -> &Value {
        match self {
            Self::Apply(apply) => &apply.intent,
            Self::Patch(patch) => &patch.merge,
        }
    }
}

impl From<Write> for Effect {
    fn from(write: Write) -> Self {
        match write {
            Write::Apply(apply) => Self::Apply(apply),
            Write::Patch(patch) => Self::Patch(patch),
        }
    }
}

impl Effect {
    /// The same, to be carried out after another write to the object: that changes its version.
    pub fn after_a_write(self) -> Self {
        match self {
            Self::Delete(Delete { target, .. }) => Self::Delete(Delete::at_any_version(target)),
            Self::Apply(_) | Self::Patch(_) | Self::Emit(_) => self,
        }
    }
}

impl Event {
    pub fn normal(about: Target, reason: &'static str, message: impl Into<String>) -> Self {
        Self { about, type_: EventType::Normal, reason, message: message.into() }
    }

    pub fn warning(about: Target, reason: &'static str, message: impl Into<String>) -> Self {
        Self { type_: EventType::Warning, ..Self::normal(about, reason, message) }
    }
}

#[cfg(test)]
mod tests {
    use refit_api::cluster::Machine;

    use super::*;

    fn machine() -> Machine {
        let mut machine = Machine::default();
        machine.metadata.name = Some("m1".to_owned());
        machine.metadata.namespace = Some("ns".to_owned());
        machine.metadata.uid = Some("u1".to_owned());
        machine
    }

    #[test]
    fn a_patch_carries_what_it_was_made_for() {
        let mut patch = Patch::object(Target::of(&machine()), json!({ "metadata": { "labels": { "a": "b" } } }));
        patch.resource_version = Some("7".to_owned());
        let expected = json!({ "metadata": { "labels": { "a": "b" }, "uid": "u1", "resourceVersion": "7" } });
        assert_eq!(patch.body(), expected);
    }

    #[test]
    fn an_object_is_named_alike_whether_typed_or_json() {
        let machine = machine();
        let value = serde_json::to_value(&machine).expect("a Machine must encode");
        assert_eq!(Target::of_value(&value), Target::of(&machine));
    }
}
