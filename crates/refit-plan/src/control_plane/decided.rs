//! What extensions have said of the changes of a rollout, on record on the control plane, where the next process finds it.
//!
//! A replacement needs an answer that has lasted, and a change that was accepted in place does not become a replacement by
//! itself. So a machine is replaced only for what is on record.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::vocabulary::refit::annotations::DECIDED;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::observed::Observed;
use crate::coverage::ContentHash;
use crate::effect::{Patch, Target};

/// How many changes are on record at a time. The machines of a control plane mostly change in the same way.
const MAX_CHANGES: usize = 32;

/// What is on record for the rollout to what is wanted now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// A hash of what is wanted. For anything else nothing is decided.
    to: String,
    /// By the hash of the change.
    changes: BTreeMap<String, Decided>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Decided {
    /// Extensions covered the change, and a machine was handed over for it.
    InPlace,
    /// These extensions have left it uncovered, and since when.
    Uncovered { extensions: String, since: Timestamp },
}

impl Record {
    /// What is on record. What cannot be read, or is about something else, is none.
    pub fn of(observed: &Observed) -> Self {
        let to = wanted(observed).to_string();
        let found = observed.annotation(DECIDED).and_then(|text| serde_json::from_str::<Self>(text).ok());
        found.filter(|record| record.to == to).unwrap_or(Self { to, changes: BTreeMap::new() })
    }

    pub fn get(&self, change: &ContentHash) -> Option<&Decided> {
        self.changes.get(change.as_str())
    }

    /// Since when these extensions have left the change uncovered, as far as that is on record.
    pub fn uncovered_since(&self, change: &ContentHash, registered: &ContentHash) -> Option<Timestamp> {
        match self.get(change) {
            Some(Decided::Uncovered { extensions, since }) if extensions == registered.as_str() => Some(*since),
            Some(Decided::Uncovered { .. } | Decided::InPlace) | None => None,
        }
    }

    /// The write that puts this on record. Of too many, the others are forgotten: their time begins anew.
    pub fn with(mut self, observed: &Observed, change: &ContentHash, decided: Decided) -> Patch {
        if self.changes.len() >= MAX_CHANGES {
            self.changes.clear();
        }
        self.changes.insert(change.to_string(), decided);
        let text = serde_json::to_string(&self).expect("a record must encode");
        let merge = json!({ "metadata": { "annotations": { DECIDED: text } } });
        let resource_version = observed.control_plane.metadata.resource_version.clone();
        Patch { resource_version, ..Patch::object(Target::of(&observed.control_plane), merge) }
    }
}

impl Decided {
    /// From now on. Milliseconds are fine enough.
    pub fn uncovered_by(registered: &ContentHash, now: Timestamp) -> Self {
        let since = Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
        Self::Uncovered { extensions: registered.to_string(), since }
    }
}

/// Everything that machines are changed for.
fn wanted(observed: &Observed) -> ContentHash {
    let spec = &observed.control_plane.spec;
    let template = &spec.machine_template.spec.infrastructure_ref;
    ContentHash::of(&json!([spec.version, spec.kubeadm_config_spec, template]))
}
