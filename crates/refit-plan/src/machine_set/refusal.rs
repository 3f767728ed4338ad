//! A dry run that the API server refused: what that means for the machine, and how it is remembered.
//!
//! A refusal is *for good* only where it is known that this host cannot take this change and that a new one could: the
//! provider's validation names a field that the change touches, and takes the very same template for a new object. Whatever
//! else is refused is somebody's policy, a fault of ours or of the moment. It is said, and tried again.

use jiff::Timestamp;
use refit_api::cluster::Machine;
use refit_api::vocabulary::refit::annotations::MOVE_REFUSED;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::coverage::{MAX_WORDS, shortened};
use crate::effect::{Effect, Patch, Target, Write};
use crate::fleet;

/// The status of an answer that says which fields are wrong.
const UNPROCESSABLE: u16 = 422;

/// Why the API server would not take a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer, such as 422.
    pub code: u16,
    /// The server's own words.
    pub words: String,
    /// The fields that it names, as in `spec.disks[0].size`.
    pub fields: Vec<String>,
    /// Whether it would create a new object from the template of the new MachineSet.
    pub takes_new_object: bool,
}

/// What stands on a Machine that does not move because the API server would refuse what comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveRefusal {
    /// The MachineSet that the Machine was to move to.
    pub to: String,
    /// When it was refused first. It has been tried again since.
    pub since: String,
    /// Only another host can become what is wanted.
    pub for_good: bool,
    /// The object, and the server's words.
    pub words: String,
}

impl Refusal {
    /// Whether this object can never take this write, while a new one could.
    pub fn is_for_good(&self, write: &Write, existing: Option<&Value>) -> bool {
        let (Write::Apply(apply), Some(existing)) = (write, existing) else { return false };
        self.code == UNPROCESSABLE
            && self.takes_new_object
            && !self.fields.is_empty()
            && self.fields.iter().all(|field| is_touched(field, &apply.intent, existing))
    }
}

impl MoveRefusal {
    /// What stands on the Machine. What cannot be read is not there: the dry run is made again.
    pub fn of(machine: &Machine) -> Option<Self> {
        let text = machine.metadata.annotations.as_ref()?.get(MOVE_REFUSED)?;
        serde_json::from_str(text).ok()
    }

    /// The same, if it is about this MachineSet.
    pub fn of_move_to(machine: &Machine, to: &str) -> Option<Self> {
        Self::of(machine).filter(|refusal| refusal.to == to)
    }

    /// Since when; nothing where that cannot be read.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.parse().ok()
    }

    /// What to write on the Machine, if that does not stand there already. A refusal that goes on keeps its time.
    pub fn note(machine: &Machine, to: &str, now: Timestamp, for_good: bool, words: &str) -> Option<Effect> {
        let words = shortened(words.to_owned(), MAX_WORDS);
        let before = Self::of_move_to(machine, to).filter(|before| before.for_good == for_good);
        if before.as_ref().is_some_and(|before| before.words == words && before.since().is_some()) {
            return None;
        }
        let since = before.filter(|before| before.since().is_some()).map_or_else(|| now.to_string(), |it| it.since);
        let refusal = Self { to: to.to_owned(), since, for_good, words };
        let text = serde_json::to_string(&refusal).expect("a refusal must encode");
        Some(annotate(machine, json!(text)))
    }

    /// What to write on the Machine when nothing is refused any more.
    pub fn forget(machine: &Machine) -> Option<Effect> {
        fleet::has_annotation(machine, MOVE_REFUSED).then(|| annotate(machine, Value::Null))
    }
}

fn annotate(machine: &Machine, value: Value) -> Effect {
    let merge = json!({ "metadata": { "annotations": { MOVE_REFUSED: value } } });
    Effect::Patch(Patch::object(Target::of(machine), merge))
}

/// Whether the write changes something at or below this field of the spec.
fn is_touched(field: &str, wanted: &Value, existing: &Value) -> bool {
    let segments: Vec<&str> = field.split(['.', '[', ']']).filter(|segment| !segment.is_empty()).collect();
    if segments.first() != Some(&"spec") {
        return false;
    }
    let at = |object: &'_ Value| segments.iter().try_fold(object.clone(), |value, segment| child(&value, segment));
    at(wanted).is_some_and(|wanted| differs(&wanted, at(existing).as_ref()))
}

fn child(value: &Value, segment: &str) -> Option<Value> {
    match value {
        Value::Object(fields) => fields.get(segment.trim_matches('"')).cloned(),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?).cloned(),
        _ => None,
    }
}

/// Whether the write asks for something that is not there. Fields that it does not name stay.
fn differs(wanted: &Value, existing: Option<&Value>) -> bool {
    match (wanted, existing) {
        (Value::Object(wanted), Some(Value::Object(existing))) => {
            wanted.iter().any(|(name, value)| differs(value, existing.get(name)))
        }
        (wanted, existing) => existing != Some(wanted),
    }
}

#[cfg(test)]
mod tests;
