//! How ownership moves when an object changes.

use std::sync::LazyLock;

use super::compare::Comparison;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::managed::{Managed, Owned, OwnedFields, Owner};
use super::reconcile;
use super::types::Type;

/// A change to an object, and who makes it.
pub struct Change<'a> {
    /// The owner that loses nothing by it; none for a write whose owner is found out afterwards.
    pub by: Option<&'a Owner>,
    pub comparison: &'a Comparison,
    /// Whether the fields of others may change.
    pub force: bool,
}

impl Change<'_> {
    /// Takes from all others what changed or went. Refuses if it may not.
    pub fn settle(&self, managed: &mut Managed) -> Result<(), Conflicts> {
        let taken = self.comparison.modified.union(&self.comparison.added);
        if !self.force && !taken.is_empty() {
            self.refuse_conflicts(managed, &taken)?;
        }
        for (owner, owned) in &mut managed.0 {
            if self.by == Some(owner) {
                continue;
            }
            for gone in [&taken, &self.comparison.removed] {
                if !gone.is_empty() {
                    owned.fields = owned.fields.difference(gone).into();
                }
            }
        }
        managed.0.retain(|_, owned| !owned.fields.is_empty());
        Ok(())
    }

    fn refuse_conflicts(&self, managed: &Managed, taken: &FieldSet) -> Result<(), Conflicts> {
        let others = managed.0.iter().filter(|(owner, _)| self.by != Some(owner));
        let in_the_way = others.map(|(owner, owned)| (owner.clone(), owned.fields.intersection(taken)));
        let conflicts = Conflicts(in_the_way.filter(|(_, fields)| !fields.is_empty()).collect());
        if conflicts.0.is_empty() { Ok(()) } else { Err(conflicts) }
    }
}

/// Gives an applier its new fields, and returns its last ones.
pub fn hand_over(managed: &mut Managed, owner: &Owner, api_version: &str, fields: FieldSet) -> Option<OwnedFields> {
    let last = managed.0.remove(owner);
    let time = last.as_ref().and_then(|last| last.time);
    let owned = Owned { fields: fields.into(), api_version: api_version.to_owned(), time };
    managed.0.insert(owner.clone(), owned);
    last.map(|last| last.fields)
}

/// What anybody owns.
pub fn all(managed: &Managed) -> FieldSet {
    managed.0.values().fold(FieldSet::default(), |all, owned| all.union(&owned.fields))
}

/// Takes from an applier what nobody owns, and forgets it if that was all. `last` are the fields that it had before.
pub fn strip(managed: &mut Managed, owner: &Owner, last: Option<OwnedFields>) {
    let Some(owned) = managed.0.get_mut(owner) else { return };
    owned.fields = owned.fields.difference(&NEVER_OWNED).into();
    if owned.fields.is_empty() {
        managed.0.remove(owner);
    } else if let Some(last) = last.filter(|last| *last == owned.fields) {
        owned.fields = last;
    }
}

/// Brings all owners in line with the schema.
pub fn reconcile(managed: &mut Managed, of: Type<'_>) {
    for owned in managed.0.values_mut() {
        if let Some(fields) = reconcile::reconcile(&owned.fields, of) {
            owned.fields = fields.into();
        }
    }
}

/// The names of an object and what the server alone writes.
pub static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "clusterName"],
        &["metadata", "creationTimestamp"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "resourceVersion"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
    ])
});
