//! Lists as text, piece by piece as their clients read them.
//!
//! A list holds its objects, which are shared with the store, and never more of its text than one piece.

mod yaml;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::view::{Page, View};
use crate::body::Encoding;
use crate::budget::{Budget, DECISION_TIME, PIECE_BYTES, PIECE_OBJECTS, piece_bytes};
use crate::resource::Resource;
use crate::store::{Record, Revision};
use crate::table::Printer;

pub use yaml::whole as whole_yaml;

/// A list on its way to a client.
pub struct ListText {
    view: View,
    encoding: Encoding,
    resource: Arc<Resource>,
    now: Timestamp,
    frame: Frame,
    records: Vec<Record>,
    /// The first object that the client does not have yet.
    next: usize,
    is_done: bool,
}

/// What stands around the objects of a list.
struct Frame {
    before: Value,
    /// The member that the objects are in.
    name: &'static str,
    after: Value,
}

impl ListText {
    pub fn new(
        (view, encoding): (View, Encoding),
        resource: &Arc<Resource>,
        records: Vec<Record>,
        (revision, page): (Revision, &Page),
        now: Timestamp,
    ) -> Self {
        let frame = Frame::new(view, resource, &page.metadata(resource, revision));
        Self { view, encoding, resource: resource.clone(), now, frame, records, next: 0, is_done: false }
    }

    pub fn media_type(&self) -> &'static str {
        match self.encoding {
            Encoding::Yaml => "application/yaml",
            _ => "application/json",
        }
    }

    /// What the list takes up until it is read: its objects, which others may change or delete meanwhile, and two of the
    /// largest pieces, one that is sent and one that is made.
    pub fn held_bytes(&self) -> usize {
        let largest = self.records.iter().map(|record| record.json().len()).max().unwrap_or(0);
        text_bytes(&self.records) + 2 * piece_bytes(largest.max(PIECE_BYTES))
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the next piece is the last.
    pub fn is_last(&self) -> bool {
        self.end() == self.records.len()
    }

    /// Whether the next piece is one large object that has to be decoded, which takes long.
    pub fn is_large(&self) -> bool {
        let next = &self.records[self.next..self.end()];
        let is_plain = |record| self.encoding == Encoding::Json && self.view.is_plain(&self.resource, record);
        text_bytes(next) > PIECE_BYTES && !next.iter().all(is_plain)
    }

    /// What the next piece may be made with, if it may take so many steps.
    pub fn budget(&self, steps: u64) -> Budget {
        let bytes = piece_bytes(text_bytes(&self.records[self.next..self.end()]));
        Budget::new(bytes as u64, steps, DECISION_TIME)
    }

    /// The next piece, and whether the budget sufficed for all of it.
    pub fn piece(&self, budget: &Budget) -> (Vec<u8>, bool) {
        let end = self.end();
        let printer = Printer::new(&self.resource);
        let shown = self.records[self.next..end].iter();
        let shown = shown.map(|record| self.view.item((&self.resource, &printer), record, self.now, budget));
        let mut text = Vec::with_capacity(PIECE_BYTES);
        if self.next == 0 {
            self.open(&mut text);
        }
        for (index, item) in shown.enumerate() {
            match self.encoding {
                Encoding::Yaml => text.extend(yaml::item(self.frame.name, &item)),
                _ if self.next + index == 0 => text.extend_from_slice(&item),
                _ => {
                    text.push(b',');
                    text.extend_from_slice(&item);
                }
            }
        }
        if end == self.records.len() {
            self.close(&mut text);
        }
        (text, budget.refusal().is_ok())
    }

    /// Goes on behind the piece that was made last.
    pub fn advance(&mut self) {
        self.next = self.end();
        self.is_done = self.next == self.records.len();
    }

    /// Where the next piece ends: at so much text, or so many objects.
    fn end(&self) -> usize {
        let mut bytes = 0;
        let left = self.records[self.next..].iter().take(PIECE_OBJECTS);
        let taken = left.take_while(|record| {
            let is_first = bytes == 0;
            bytes += record.json().len();
            is_first || bytes <= PIECE_BYTES
        });
        self.next + taken.count()
    }

    fn open(&self, text: &mut Vec<u8>) {
        let Frame { before, name, .. } = &self.frame;
        match self.encoding {
            Encoding::Yaml => {
                text.extend(yaml::whole(before));
                text.extend(
                    if self.records.is_empty() { format!("{name}: []\n") } else { format!("{name}:\n") }.bytes(),
                );
            }
            _ => {
                let before = before.to_string();
                text.extend_from_slice(&before.as_bytes()[..before.len() - 1]);
                text.extend_from_slice(format!(",\"{name}\":[").as_bytes());
            }
        }
    }

    fn close(&self, text: &mut Vec<u8>) {
        let after = self.frame.after.as_object().filter(|after| !after.is_empty());
        match (self.encoding, after) {
            (Encoding::Yaml, Some(_)) => text.extend(yaml::whole(&self.frame.after)),
            (Encoding::Yaml, None) => {}
            (_, Some(_)) => {
                text.extend_from_slice(b"],");
                text.extend_from_slice(&self.frame.after.to_string().as_bytes()[1..]);
                text.push(b'\n');
            }
            (_, None) => text.extend_from_slice(b"]}\n"),
        }
    }
}

impl Frame {
    /// Members stand in the order of their names, as everywhere.
    fn new(view: View, resource: &Resource, metadata: &Value) -> Self {
        let around = |api_version: &str, kind: &str| Self {
            before: json!({"apiVersion": api_version}),
            name: "items",
            after: json!({"kind": kind, "metadata": metadata}),
        };
        match view {
            View::Full => around(&resource.api_version(), &resource.list_kind),
            View::Metadata(version) => around(version.api_version(), "PartialObjectMetadataList"),
            View::Table(..) => Self { before: view.table_head(resource, metadata), name: "rows", after: json!({}) },
        }
    }
}

fn text_bytes(records: &[Record]) -> usize {
    records.iter().map(|record| record.json().len()).sum()
}

#[cfg(test)]
mod tests;
