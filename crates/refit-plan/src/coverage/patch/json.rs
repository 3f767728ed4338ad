//! JSON patches, RFC 6902. The `json-patch` crate applies the operations; what is different upstream is done before.

use json_patch::jsonptr::{Pointer, PointerBuf, Token};
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, PatchErrorKind, PatchOperation, RemoveOperation, ReplaceOperation,
    TestOperation,
};
use refit_api::decode;
use serde_json::Value;

use super::extent::Extent;
use super::{MAX_COPIED_BYTES, MAX_OPERATIONS, OperationProblem, PatchProblem};

/// Applies the operations of the document in order. The object is in no particular state after an error.
pub(super) fn apply(document: &[u8], object: &mut Value) -> Result<(), PatchProblem> {
    let mut run = Run { object, copied: 0 };
    for (index, operation) in operations(document)?.into_iter().enumerate() {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        run.apply(operation).map_err(|problem| PatchProblem::Operation { index, path, problem })?;
    }
    Ok(())
}

fn operations(document: &[u8]) -> Result<Vec<Value>, PatchProblem> {
    if document.is_empty() {
        return Err(PatchProblem::NoDocument);
    }
    match decode::from_json::<Value>(document).map_err(|error| PatchProblem::Document(error.into()))? {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) if operations.len() > MAX_OPERATIONS => {
            Err(PatchProblem::TooManyOperations { found: operations.len() })
        }
        Value::Array(operations) => Ok(operations),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Err(PatchProblem::NotAList),
    }
}

/// The object on its way through the operations.
struct Run<'a> {
    object: &'a mut Value,
    /// What `copy` and `move` have handled so far.
    copied: usize,
}

/// Whether a path leads to something that is there, or to a place where something is put.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Existing,
    Insertion,
}

impl Run<'_> {
    fn apply(&mut self, operation: Value) -> Result<(), OperationProblem> {
        let malformed = |error: serde_json::Error| OperationProblem::Malformed(error.to_string());
        match serde_json::from_value(operation).map_err(malformed)? {
            PatchOperation::Add(AddOperation { path, value }) => self.add(&path, value),
            PatchOperation::Remove(RemoveOperation { path }) => self.remove(&path),
            PatchOperation::Replace(ReplaceOperation { path, value }) => self.replace(&path, value),
            PatchOperation::Move(MoveOperation { from, path }) => self.move_value(&from, &path),
            PatchOperation::Copy(CopyOperation { from, path }) => self.copy(&from, &path),
            PatchOperation::Test(TestOperation { path, value }) => self.test(&path, value),
        }
    }

    fn add(&mut self, path: &Pointer, value: Value) -> Result<(), OperationProblem> {
        check_value(path, &value)?;
        let path = self.resolve(path, Target::Insertion)?;
        self.run(PatchOperation::Add(AddOperation { path, value }))
    }

    fn replace(&mut self, path: &Pointer, value: Value) -> Result<(), OperationProblem> {
        check_value(path, &value)?;
        let path = self.resolve(path, Target::Existing)?;
        self.run(PatchOperation::Replace(ReplaceOperation { path, value }))
    }

    fn remove(&mut self, path: &Pointer) -> Result<(), OperationProblem> {
        if path.is_root() {
            return Err(OperationProblem::WholeObject);
        }
        let path = self.resolve(path, Target::Existing)?;
        self.run(PatchOperation::Remove(RemoveOperation { path }))
    }

    fn copy(&mut self, from: &Pointer, path: &Pointer) -> Result<(), OperationProblem> {
        check_parts(from, path)?;
        let from = self.resolve(from, Target::Existing)?;
        let value = self.taken_from(&from)?;
        self.add(path, value)
    }

    /// The path is looked up when the value is gone from where it was, as the RFC says.
    fn move_value(&mut self, from: &Pointer, path: &Pointer) -> Result<(), OperationProblem> {
        check_parts(from, path)?;
        let from = self.resolve(from, Target::Existing)?;
        if is_beneath(&self.resolve(path, Target::Insertion)?, &from) {
            return Err(OperationProblem::IntoItself);
        }
        let value = self.taken_from(&from)?;
        self.remove(&from)?;
        self.add(path, value)
    }

    fn test(&mut self, path: &Pointer, value: Value) -> Result<(), OperationProblem> {
        let path = self.resolve(path, Target::Existing)?;
        if value.is_null() && self.lacks_field(&path) {
            return Ok(());
        }
        self.run(PatchOperation::Test(TestOperation { path, value }))
    }

    /// A copy of what is there, as long as not too much was copied.
    fn taken_from(&mut self, from: &Pointer) -> Result<Value, OperationProblem> {
        let value = self.object.pointer(from.as_str()).ok_or(OperationProblem::FromNotFound)?;
        self.copied = self.copied.saturating_add(Extent::of(value).bytes);
        if self.copied > MAX_COPIED_BYTES { Err(OperationProblem::TooMuchCopied) } else { Ok(value.clone()) }
    }

    /// Whether the path leads to a field that is not there, of an object that is.
    fn lacks_field(&self, path: &Pointer) -> bool {
        let Some((parent, name)) = path.split_back() else { return false };
        let parent = self.object.pointer(parent.as_str()).and_then(Value::as_object);
        parent.is_some_and(|fields| !fields.contains_key(name.decoded().as_ref()))
    }

    /// The path with indices that count from the end replaced by those that count from the start.
    fn resolve(&self, path: &Pointer, target: Target) -> Result<PointerBuf, OperationProblem> {
        let last = path.count();
        let mut place = Some(&*self.object);
        let mut resolved = PointerBuf::new();
        for (number, token) in path.tokens().enumerate() {
            let name = token.decoded();
            if name.is_empty() {
                return Err(OperationProblem::EmptyName);
            }
            let puts = target == Target::Insertion && number + 1 == last;
            let index = place.and_then(|place| from_the_end(place, &name, puts));
            let name = index.map_or(name.into_owned(), |index| index.to_string());
            place = place.and_then(|place| child(place, &name));
            resolved.push_back(Token::new(name));
        }
        Ok(resolved)
    }

    fn run(&mut self, operation: PatchOperation) -> Result<(), OperationProblem> {
        json_patch::patch_unsafe(self.object, &[operation]).map_err(|error| match error.kind {
            PatchErrorKind::TestFailed => OperationProblem::TestFailed,
            PatchErrorKind::InvalidFromPointer => OperationProblem::FromNotFound,
            PatchErrorKind::CannotMoveInsideItself => OperationProblem::IntoItself,
            // The enum may grow; whatever else there is, the operation did not find what it needs.
            _ => OperationProblem::NotFound,
        })
    }
}

/// Refuses to copy or move the whole object, and to put something in its place in that way.
fn check_parts(from: &Pointer, path: &Pointer) -> Result<(), OperationProblem> {
    if from.is_root() || path.is_root() { Err(OperationProblem::WholeObject) } else { Ok(()) }
}

/// Refuses a value that would be nested too deeply where it goes, and one that an object cannot become.
fn check_value(path: &Pointer, value: &Value) -> Result<(), OperationProblem> {
    if path.is_root() && !value.is_object() {
        return Err(OperationProblem::NotAnObject);
    }
    let is_too_deep = path.count() + Extent::of(value).depth > decode::MAX_DEPTH;
    if is_too_deep { Err(OperationProblem::TooDeep) } else { Ok(()) }
}

fn is_beneath(path: &Pointer, above: &Pointer) -> bool {
    path.count() > above.count() && above.tokens().zip(path.tokens()).all(|(above, path)| above == path)
}

/// The index that a negative one stands for. With `puts`, the place behind the last item is one more to count from.
fn from_the_end(list: &Value, index: &str, puts: bool) -> Option<usize> {
    let digits = index.strip_prefix('-').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let length = list.as_array()?.len() + usize::from(puts);
    length.checked_sub(digits.parse().ok().filter(|back| *back > 0)?)
}

fn child<'a>(parent: &'a Value, name: &str) -> Option<&'a Value> {
    match parent {
        Value::Object(fields) => fields.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
