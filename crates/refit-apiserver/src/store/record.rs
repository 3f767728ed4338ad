//! One object at one version, shared by everybody who reads it.

use std::{
    fmt,
    sync::{Arc, Mutex, Weak},
};

use bytes::Bytes;
use serde_json::Value;

use super::{
    Key, Revision,
    decoded::{Decoded, decoded_bytes, lock},
    encoded::fill,
};

/// One object at one version. Cloning shares it.
///
/// The store fills in `metadata.resourceVersion`, in the text and in the decoded value; values without a `metadata`
/// object show no version.
#[derive(Clone)]
pub struct Record(Arc<Inner>);

struct Inner {
    key: Key,
    revision: Revision,
    text: Bytes,
    /// Where the version's digits are in the text.
    gap: Option<u32>,
    /// A decoded Machine takes 27 KB, its text 3 KB: only the recently used values are kept.
    value: Mutex<Weak<Value>>,
    recent: Arc<Decoded>,
}

impl Record {
    pub(super) fn new(
        key: Key,
        revision: Revision,
        (text, gap): (Bytes, Option<u32>),
        recent: &Arc<Decoded>,
        value: Option<Arc<Value>>,
    ) -> Self {
        let weak = value.as_ref().map_or_else(Weak::new, Arc::downgrade);
        if let Some(value) = value {
            recent.keep(value, decoded_bytes(&text));
        }
        Self(Arc::new(Inner { key, revision, text, gap, value: Mutex::new(weak), recent: recent.clone() }))
    }

    /// Where the object lives.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The version of the write that made it so.
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// The object as JSON text, ready to be sent.
    pub fn json(&self) -> &Bytes {
        &self.0.text
    }

    /// The object decoded. Shared while anybody holds it and for a while after; decoded anew otherwise.
    pub fn value(&self) -> Arc<Value> {
        let mut known = lock(&self.0.value);
        if let Some(value) = known.upgrade() {
            return value;
        }
        let value = Arc::new(serde_json::from_slice(&self.0.text).expect("stored JSON must decode"));
        *known = Arc::downgrade(&value);
        self.0.recent.keep(value.clone(), decoded_bytes(&self.0.text));
        value
    }

    /// The same object at another version: what a deletion leaves behind, or what leaves a selector.
    pub fn at(&self, revision: Revision) -> Self {
        let text = fill(&self.text_without_version(), self.0.gap, revision);
        Self::new(self.0.key.clone(), revision, (text, self.0.gap), &self.0.recent, None)
    }

    pub(super) fn gap(&self) -> Option<u32> {
        self.0.gap
    }

    /// What is kept on disk, where the version stands beside the text.
    pub(super) fn text_without_version(&self) -> Vec<u8> {
        let mut text = self.0.text.to_vec();
        if let Some(gap) = self.0.gap {
            let gap = gap as usize;
            text.drain(gap..gap + self.0.revision.to_string().len());
        }
        text
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        a.revision == b.revision && a.key == b.key && a.text == b.text
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}@{}", self.0.key, self.0.revision)
    }
}
