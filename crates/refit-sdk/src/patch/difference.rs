//! The operations that make one object of another.

use std::collections::BTreeSet;

use refit_api::hooks::{JsonPointer, PatchOperation};
use serde_json::{Map, Value};

/// The operations, in the order of the names. Each is as deep as it can be; a list is replaced as a whole.
pub(super) fn operations(before: &Value, after: &Value) -> Vec<PatchOperation> {
    let mut walk = Walk { path: Vec::new(), operations: Vec::new() };
    walk.value(before, after);
    walk.operations
}

struct Walk<'a> {
    path: Vec<&'a str>,
    operations: Vec<PatchOperation>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, before: &'a Value, after: &'a Value) {
        match (before, after) {
            _ if before == after => {}
            (Value::Object(before), Value::Object(after)) if has_paths(before, after) => self.block(before, after),
            _ => self.operations.push(PatchOperation::Replace { path: self.pointer(), value: after.clone() }),
        }
    }

    fn block(&mut self, before: &'a Map<String, Value>, after: &'a Map<String, Value>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            self.path.push(name);
            match (before.get(name), after.get(name)) {
                (Some(before), Some(after)) => self.value(before, after),
                (Some(_), None) => self.operations.push(PatchOperation::Remove { path: self.pointer() }),
                (None, Some(after)) => {
                    self.operations.push(PatchOperation::Add { path: self.pointer(), value: after.clone() });
                }
                (None, None) => {}
            }
            self.path.pop();
        }
    }

    fn pointer(&self) -> JsonPointer {
        JsonPointer::new(&self.path)
    }
}

/// Whether each difference has a path: engines disagree about a name that is empty.
fn has_paths(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    before.get("") == after.get("")
}
