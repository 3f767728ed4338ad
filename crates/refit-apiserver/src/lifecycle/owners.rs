//! Whether an object stays, by what its owners are.

use serde_json::Value;

use crate::metadata::metadata_mut;
use crate::write::delete::Propagation;

/// One owner that an object names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerRef<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    pub uid: &'a str,
    /// Whether the owner waits for this object when it is deleted in the foreground.
    pub blocks: bool,
}

/// How an owner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is there, or cannot be looked up, which must not cost the object its life.
    Solid,
    /// No such object is there.
    Absent,
    /// It is being deleted and waits for the objects that it owns.
    Waiting,
}

/// What becomes of an object that has owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// It stays with its other owners, and no longer names these.
    Drop(Vec<String>),
    Delete(Propagation),
}

/// The owners of an object.
pub fn owner_refs(object: &Value) -> impl Iterator<Item = OwnerRef<'_>> {
    let refs = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    refs.map(|owner| {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let blocks = owner["blockOwnerDeletion"] == true;
        OwnerRef { group, version, kind: text("kind"), name: text("name"), uid: text("uid"), blocks }
    })
}

/// Whether an object keeps an owner that is deleted in the foreground.
pub fn blocks(object: &Value, uid: &str) -> bool {
    owner_refs(object).any(|owner| owner.uid == uid && owner.blocks)
}

/// Decides about an object that is not being deleted, by its owners and by what it wants for its own dependents.
pub fn judge(owners: &[(OwnerRef<'_>, Standing)], own: Option<Propagation>, has_dependents: bool) -> Verdict {
    let of = |standing: Standing| owners.iter().filter(move |(_, found)| *found == standing);
    let is_waited_for = of(Standing::Waiting).next().is_some();
    if owners.is_empty() {
        return Verdict::Keep;
    }
    if of(Standing::Solid).next().is_some() {
        let gone: Vec<String> =
            of(Standing::Absent).chain(of(Standing::Waiting)).map(|(owner, _)| owner.uid.to_owned()).collect();
        return if gone.is_empty() { Verdict::Keep } else { Verdict::Drop(gone) };
    }
    if is_waited_for && has_dependents {
        return Verdict::Delete(Propagation::Foreground);
    }
    Verdict::Delete(own.unwrap_or(Propagation::Background))
}

/// Takes owners away from an object.
pub fn drop_owners(object: &mut Value, uids: &[String]) {
    let Some(metadata) = metadata_mut(object) else { return };
    if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
        owners.retain(|owner| !uids.iter().any(|uid| owner["uid"] == **uid));
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        }
    }
}

/// Lets an object keep none of its owners: needed where objects own each other in a circle.
pub fn unblock(object: &mut Value) {
    for owner in object["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
        if owner["blockOwnerDeletion"] == true {
            owner["blockOwnerDeletion"] = false.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(standings: &[Standing], own: Option<Propagation>, has_dependents: bool, expected: Verdict) {
        let uids = ["0", "1", "2"];
        let owner =
            |index: usize| OwnerRef { group: "", version: "v1", kind: "K", name: "n", uid: uids[index], blocks: false };
        let owners: Vec<_> = standings.iter().enumerate().map(|(index, found)| (owner(index), *found)).collect();
        assert_eq!(judge(&owners, own, has_dependents), expected, "{standings:?}");
    }

    #[test]
    fn an_object_goes_when_no_owner_is_left() {
        use Standing::{Absent, Solid, Waiting};
        check(&[], None, false, Verdict::Keep);
        check(&[Solid], None, false, Verdict::Keep);
        check(&[Absent, Absent], None, true, Verdict::Delete(Propagation::Background));
        check(&[Absent, Solid, Waiting], None, false, Verdict::Drop(vec!["0".into(), "2".into()]));
        check(&[Waiting], None, true, Verdict::Delete(Propagation::Foreground));
        check(&[Waiting, Absent], None, false, Verdict::Delete(Propagation::Background));
        check(&[Absent], Some(Propagation::Orphan), true, Verdict::Delete(Propagation::Orphan));
    }

    #[test]
    fn dropped_owners_leave_the_others_alone() {
        let mut object =
            json!({"metadata": {"ownerReferences": [{"uid": "a", "blockOwnerDeletion": true}, {"uid": "b"}]}});
        unblock(&mut object);
        assert!(!blocks(&object, "a"));
        drop_owners(&mut object, &["a".to_owned()]);
        assert_eq!(object["metadata"]["ownerReferences"], json!([{"uid": "b"}]));
        drop_owners(&mut object, &["b".to_owned()]);
        assert_eq!(object, json!({"metadata": {}}));
    }
}
