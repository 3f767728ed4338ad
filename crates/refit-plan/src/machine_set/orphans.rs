//! Objects of providers that no Machine refers to: what is left of a creation that was interrupted.
//!
//! Upstream deletes them. Here a creation goes on with them as long as Machines are missing: nothing that is already
//! there is thrown away, and a Machine that exists but was not listed yet does not lose its host.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::cluster::{ContractVersionedObjectReference, Machine, MachineSet};
use refit_api::contract::kind_from_template;
use refit_api::owners;
use refit_api::vocabulary::annotations::CLONED_FROM_NAME;
use serde_json::Value;

use super::clone::{has_machine, owners_of};
use crate::effect::{Delete, Effect};
use crate::ownership;
use crate::reading::{Listed, Unreadable};

/// What could be listed of a MachineSet's kinds of objects, by its selector.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderObjects {
    pub infrastructure: Listed<Value>,
    /// Nothing where the user brought the bootstrap data.
    pub bootstrap: Option<Listed<Value>>,
}

/// A Machine whose creation was interrupted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unfinished {
    pub name: String,
    pub has_infrastructure: bool,
    pub has_bootstrap: bool,
}

/// What is to become of orphans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Orphans {
    /// Creations to go on with, by name. At most as many as Machines are missing.
    pub unfinished: Vec<Unfinished>,
    /// The rest goes.
    pub delete: Vec<Effect>,
}

/// Sorts out the orphans of a MachineSet that lacks `missing` Machines.
///
/// `machines` are all of its Machines: the caller has read them. Where a list of objects could not be read, nothing
/// is known about orphans, and nothing is deleted or created.
pub fn orphans(
    set: &MachineSet,
    machines: &[&Machine],
    objects: &ProviderObjects,
    missing: usize,
) -> Result<Orphans, Unreadable> {
    let spec = &set.spec.template.spec;
    let infrastructure = objects.infrastructure.all().map_err(Clone::clone)?;
    let bootstrap = match &objects.bootstrap {
        Some(listed) => listed.all().map_err(Clone::clone)?,
        None => &[],
    };
    let hosts = machines.iter().map(|machine| &machine.spec.infrastructure_ref);
    let hosts = Kind::new(set, Some(&spec.infrastructure_ref), infrastructure, hosts);
    let configs = machines.iter().filter_map(|machine| machine.spec.bootstrap.config_ref.as_ref());
    let configs = Kind::new(set, spec.bootstrap.config_ref.as_ref(), bootstrap, configs);

    let taken: BTreeSet<&str> = machines.iter().map(|machine| crate::fleet::name(machine)).collect();
    let mut unfinished: BTreeMap<&str, Unfinished> = BTreeMap::new();
    // An object of the same name that is going would be taken for the one that is missing.
    let going: BTreeSet<&str> = infrastructure.iter().chain(bootstrap).filter(|it| is_going(it)).map(name).collect();
    let is_free = |name: &&str| !taken.contains(name) && !going.contains(name);
    for name in hosts.usable().filter(is_free) {
        entry(&mut unfinished, name).has_infrastructure = true;
    }
    for name in configs.usable().filter(is_free) {
        entry(&mut unfinished, name).has_bootstrap = true;
    }
    let unfinished: Vec<Unfinished> = unfinished.into_values().take(missing).collect();
    let kept: BTreeSet<&str> = unfinished.iter().map(|unfinished| unfinished.name.as_str()).collect();
    let delete = hosts.deletions(&kept).chain(configs.deletions(&kept)).collect();
    Ok(Orphans { unfinished, delete })
}

fn entry<'a, 'b>(unfinished: &'a mut BTreeMap<&'b str, Unfinished>, name: &'b str) -> &'a mut Unfinished {
    unfinished.entry(name).or_insert_with(|| Unfinished { name: name.to_owned(), ..Unfinished::default() })
}

/// The orphans of one kind.
struct Kind<'a> {
    template: Option<&'a ContractVersionedObjectReference>,
    orphans: Vec<&'a Value>,
}

impl<'a> Kind<'a> {
    fn new(
        set: &MachineSet,
        template: Option<&'a ContractVersionedObjectReference>,
        objects: &'a [Value],
        referenced: impl Iterator<Item = &'a ContractVersionedObjectReference>,
    ) -> Self {
        let referenced: BTreeSet<&str> = referenced.map(|reference| reference.name.as_str()).collect();
        let is_orphan = |object: &&Value| !referenced.contains(name(object)) && is_only_of(object, set);
        Self { template, orphans: objects.iter().filter(is_orphan).collect() }
    }

    /// The names of those that a Machine of today's template can be finished with.
    fn usable(&self) -> impl Iterator<Item = &'a str> {
        self.orphans.iter().filter(|orphan| self.is_usable(orphan)).map(|orphan| name(orphan))
    }

    fn is_usable(&self, orphan: &Value) -> bool {
        let from = &orphan["metadata"]["annotations"][CLONED_FROM_NAME];
        let is_of = |template: &ContractVersionedObjectReference| {
            orphan["kind"] == kind_from_template(&template.kind) && from == template.name.as_str()
        };
        !is_going(orphan) && self.template.is_some_and(is_of)
    }

    fn deletions(&self, kept: &BTreeSet<&str>) -> impl Iterator<Item = Effect> {
        let is_surplus =
            |orphan: &&&Value| !(is_going(orphan) || kept.contains(name(orphan)) && self.is_usable(orphan));
        self.orphans.iter().filter(is_surplus).map(|orphan| Effect::Delete(Delete::value_as_seen(orphan)))
    }
}

/// Whether the MachineSet owns the object and no Machine does. A Machine that is moving to another MachineSet is not in
/// the list of this one, but it owns its objects.
fn is_only_of(object: &Value, set: &MachineSet) -> bool {
    let references = owners_of(object);
    let has_uid = object.pointer("/metadata/uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty());
    let is_owner = ownership::owner(set).is_ok_and(|owner| {
        owners::contains(&references, &owner) && references.iter().any(|reference| reference.uid == owner.uid)
    });
    has_uid && is_owner && !has_machine(&references)
}

fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

fn name(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
