//! What a create, update or patch does to ownership.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::compare::compare;
use super::managed::{Managed, Owned, Owner, Requested};
use super::ownership::{self, Change};
use super::typed::{self, Duplicates};
use super::{Endpoint, Writer};

/// Writes down who owns what in an object to store, as `metadata.managedFields` of it. Without a live object it is
/// being created.
///
/// The writer comes to own what it added or changed, and others lose it. What the object itself says about ownership
/// counts, except on subresources. An object that nobody owns stays so until it is applied to. An object that does not
/// fit its schema ends without owners; validation refuses it later.
pub fn update(endpoint: &Endpoint, live: Option<&Value>, new: &mut Value, writer: &Writer<'_>) {
    let requested = take_managed(new);
    let mut managed = initial(endpoint, live, requested.as_ref());
    if managed.0.is_empty() && live.is_some() {
        return;
    }
    let live = live.map_or_else(|| Cow::Owned(endpoint.before(new)), without_managed);
    let of = endpoint.root();
    let fits = |object| typed::check(object, of, Duplicates::Allowed).is_ok();
    if !fits(&live) || !fits(new) {
        return;
    }
    ownership::reconcile(&mut managed, of);
    record(endpoint, &live, new, &mut managed, writer);
    set_managed(new, managed);
}

/// Gives the writer what it added or changed.
pub(super) fn record(endpoint: &Endpoint, live: &Value, new: &Value, managed: &mut Managed, writer: &Writer<'_>) {
    let mut comparison = compare(live, new, endpoint.root());
    comparison.exclude(&endpoint.reset);
    let change = Change { by: None, comparison: &comparison, force: true };
    let settled = change.settle(managed);
    debug_assert!(settled.is_ok(), "a forced change must not conflict");
    let taken = comparison.modified.union(&comparison.added).difference(&ownership::NEVER_OWNED);
    if !taken.is_empty() {
        let owner = Owner::updater(writer.manager, &endpoint.api_version, &endpoint.subresource);
        let entry = managed.0.entry(owner);
        let owned = entry.or_insert_with(|| Owned {
            fields: Default::default(),
            api_version: endpoint.api_version.clone(),
            time: None,
        });
        owned.fields = owned.fields.union(&taken).into();
        owned.time = Some(writer.now);
    }
    managed.cap_updaters();
}

/// The owners that a write starts from.
fn initial(endpoint: &Endpoint, live: Option<&Value>, requested: Option<&Value>) -> Managed {
    let current = || {
        let entries = live.and_then(|live| live.pointer("/metadata/managedFields"));
        Managed::decode_stored(entries).unwrap_or_default()
    };
    if !endpoint.subresource.is_empty() {
        return current();
    }
    match Managed::requested(requested, endpoint.origin) {
        Requested::Unchanged => current(),
        Requested::Cleared => Managed::default(),
        Requested::Owners(managed) => managed,
    }
}

/// The object without its owners.
pub(super) fn without_managed(object: &Value) -> Cow<'_, Value> {
    if object.pointer("/metadata/managedFields").is_none() {
        return Cow::Borrowed(object);
    }
    let Some(members) = object.as_object() else { return Cow::Borrowed(object) };
    let mut copy = Map::new();
    for (name, value) in members {
        let value = match value {
            Value::Object(metadata) if name == "metadata" => {
                let others = metadata.iter().filter(|(name, _)| *name != "managedFields");
                others.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            value => value.clone(),
        };
        copy.insert(name.clone(), value);
    }
    Cow::Owned(Value::Object(copy))
}

pub(super) fn set_managed(object: &mut Value, managed: Managed) {
    take_managed(object);
    let (Some(entries), Some(members)) = (managed.into_json(), object.as_object_mut()) else { return };
    let metadata = members.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

fn take_managed(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}
