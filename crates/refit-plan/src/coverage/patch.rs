//! Applying the patches of extensions to copies of objects.
//!
//! Upstream applies them with a Go library that is more lenient than the RFCs. An extension must get the same verdict
//! here as there, unless leniency would make a claim of something that its author did not mean.
//!
//! | the patch | upstream | here |
//! |---|---|---|
//! | JSON patch: `[]` or `null` | no change | the same |
//! | JSON patch without a document | error | the same |
//! | merge patch without a document, or `{}` | no change | the same |
//! | no type, or an unknown one | error | the same |
//! | an operation that does not apply, even outside of what counts | error | the same |
//! | `add` beneath something that is not there | error, parents are not made | the same |
//! | negative index, `-1` for the last item (for `add`: behind it) | accepted | the same |
//! | `test` for `null` of a field that is not there | succeeds | the same |
//! | merge patch: `null` members of objects in a list | removed, unless the list replaces an object | the same |
//! | removes all of the subtree that counts | the removal is ignored | the same |
//! | changes something outside of that subtree | ignored | the same |
//! | removes `kind`, or makes something else of the object | error | the same |
//! | Machine, MachineSet: a wrong type in a field that counts | error | the same |
//! | Machine, MachineSet: an unknown field | ignored | the same |
//! | Machine, MachineSet: a field that does not count | taken over, then not compared | ignored: the next extension is to see what is |
//! | a path without `/` in front: `spec/version` | the first name is dropped, `version` is patched | refused: never what was meant |
//! | `~` followed by neither `0` nor `1`; `+1` or `01` as an index | taken as it is | refused: no JSON pointer |
//! | an empty name in a path: `/spec/` | sometimes the object itself | refused: no field has that name |
//! | `copy` or `move` of, or onto, the whole object | an error, or a field without a name | refused: nobody means that |
//! | `test` without a value | tests for `null` | refused: no operation of the RFC |
//! | `move` into itself | error, or a move into the neighbour in a list | refused: never what was meant |
//! | `test` for a `null` that the same patch added | fails | succeeds: upstream forgets that it is there |
//! | size, depth, number of operations | no limit | limited, see below |
//!
//! # Limits
//! A document has at most [`MAX_BYTES`](refit_api::decode::MAX_BYTES) and [`MAX_DEPTH`](refit_api::decode::MAX_DEPTH),
//! a list at most [`MAX_OPERATIONS`], all `copy` and `move` together at most [`MAX_COPIED_BYTES`]: the result is at most
//! the object and both of these. Values are bounded in depth wherever a patch puts them.

mod error;
mod extent;
mod json;
mod merge;
#[cfg(test)]
mod tests;

use refit_api::decode;
use refit_api::hooks::{Patch, PatchType, RawObject};
use serde_json::{Map, Value};

pub use error::{OperationProblem, PatchError, PatchProblem};

/// The most operations in one patch. All fields of the 200 files that a KubeadmConfig can have take 1600.
pub const MAX_OPERATIONS: usize = 4096;

/// The most bytes that `copy` and `move` handle in one patch: no more than a whole document could have brought.
pub const MAX_COPIED_BYTES: usize = decode::MAX_BYTES;

/// The object with what the patch makes of the given subtree, as in `spec`. Everything else stays as it was.
pub fn apply(patch: &Patch, object: &RawObject, subtree: &[&str]) -> Result<RawObject, PatchProblem> {
    let mut patched = object.as_value().clone();
    match patch.patch_type() {
        PatchType::JsonPatch => json::apply(patch.document(), &mut patched)?,
        PatchType::JsonMergePatch => merge::apply(patch.document(), &mut patched)?,
        PatchType::Unknown(name) if name.is_empty() => return Err(PatchProblem::NoType),
        PatchType::Unknown(name) => return Err(PatchProblem::UnknownType(name.clone())),
    }
    check_object(&patched)?;
    take_over(object, subtree, patched)
}

/// Follows the names of fields into a value.
pub(super) fn at_path<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn check_object(patched: &Value) -> Result<(), PatchProblem> {
    let kind = patched.as_object().ok_or(PatchProblem::NotAnObject)?.get("kind").and_then(Value::as_str);
    if kind.is_none_or(str::is_empty) { Err(PatchProblem::NoKind) } else { Ok(()) }
}

fn take_over(object: &RawObject, subtree: &[&str], patched: Value) -> Result<RawObject, PatchProblem> {
    let Some(taken) = at_path(&patched, subtree) else { return Ok(object.clone()) };
    let mut result = object.as_value().clone();
    *place_for(&mut result, subtree)? = taken.clone();
    RawObject::try_from(result).map_err(|_| PatchProblem::NotAnObject)
}

/// The field at the end of the path; it and the objects above it are made where they are not there.
fn place_for<'a>(value: &'a mut Value, path: &[&str]) -> Result<&'a mut Value, PatchProblem> {
    path.iter().try_fold(value, |value, name| {
        let fields: &mut Map<String, Value> = value.as_object_mut().ok_or(PatchProblem::NoPlace)?;
        Ok(fields.entry(*name).or_insert_with(|| Value::Object(Map::new())))
    })
}
