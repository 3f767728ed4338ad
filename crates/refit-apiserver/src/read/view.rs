//! How objects are shown: in full, their metadata only, or as rows of a table.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::accept::{self, Form};
use super::bare;
use crate::body::Encoding;
use crate::request::Request;
use crate::resource::{Resource, event};
use crate::schema::{prune, set_defaults};
use crate::status::Status;
use crate::store::{Record, Revision};
use crate::table::{IncludeObject, Printer};

const META_VERSION: &str = "meta.k8s.io/v1";
const SERVED: &str = "application/json, application/yaml";
const SERVED_TO_WATCHES: &str = "application/json;stream=watch";

/// What a client wants to see of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Full,
    /// `PartialObjectMetadata`: kind and metadata.
    Metadata,
    /// Rows of cells, and how much of each object goes with its row.
    Table(IncludeObject),
}

impl View {
    /// The view of one object. Refuses where nothing that the client accepts is served.
    pub fn of_object(request: &Request) -> Result<Self, Status> {
        match Self::negotiate(request, SERVED, |_| true)? {
            (_, "PartialObjectMetadataList") => Err(mismatch("PartialObjectMetadataList", "is not a list")),
            (view, _) => Ok(view),
        }
    }

    /// The view of a list.
    pub fn of_list(request: &Request) -> Result<Self, Status> {
        match Self::negotiate(request, SERVED, |_| true)? {
            (_, "PartialObjectMetadata") => Err(mismatch("PartialObjectMetadata", "is a list")),
            (view, _) => Ok(view),
        }
    }

    /// The view of a watch, which is served as JSON only.
    pub fn of_watch(request: &Request) -> Result<Self, Status> {
        let (view, _) = Self::negotiate(request, SERVED_TO_WATCHES, |encoding| encoding == Encoding::Json)?;
        Ok(view)
    }

    /// The view of the first wish that can be met, with the kind that it named.
    fn negotiate<'a>(
        request: &'a Request,
        served: &str,
        is_served: impl Fn(Encoding) -> bool,
    ) -> Result<(Self, &'a str), Status> {
        let wishes = accept::wishes(request);
        let served_wishes = wishes.iter().filter(|wish| is_served(wish.encoding));
        let kind = served_wishes.map(|wish| wish.form).find_map(Form::of_objects);
        let kind = kind.ok_or_else(|| accept::not_acceptable(served))?;
        let view = match kind {
            "" => Self::Full,
            "Table" => Self::Table(include_object(request)?),
            _ => Self::Metadata,
        };
        Ok((view, kind))
    }

    /// The text of one object in full.
    pub fn full(resource: &Resource, record: &Record) -> Bytes {
        match is_current(resource, record) {
            true => record.json().clone(),
            false => current(resource, record).to_string().into(),
        }
    }

    /// The text of one object.
    pub fn object(self, resource: &Resource, record: &Record, now: Timestamp) -> Bytes {
        match self {
            Self::Full => Self::full(resource, record),
            Self::Metadata => metadata_only(&current(resource, record)).to_string().into(),
            Self::Table(_) => self.table_of(resource, &current(resource, record), now, true).to_string().into(),
        }
    }

    /// What a watch sends of one object. Only the first table of a watch defines its columns.
    pub fn event(self, resource: &Resource, record: &Record, now: Timestamp, is_first: bool) -> Bytes {
        match self {
            Self::Table(_) => self.table_of(resource, &current(resource, record), now, is_first).to_string().into(),
            Self::Full | Self::Metadata => self.object(resource, record, now),
        }
    }

    /// What a bookmark sends: an object that has nothing but this metadata.
    pub fn bookmark(self, resource: &Resource, metadata: &Value, now: Timestamp, is_first: bool) -> Value {
        let object = json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        match self {
            Self::Full => object,
            Self::Metadata => metadata_only(&object),
            Self::Table(_) => self.table_of(resource, &object, now, is_first),
        }
    }

    /// The text of a list.
    pub fn list(
        self,
        resource: &Resource,
        records: &[Record],
        (revision, page): (Revision, &Page),
        now: Timestamp,
    ) -> Bytes {
        let metadata = page.metadata(resource, revision);
        let (api_version, kind) = match self {
            Self::Full => (resource.api_version(), resource.list_kind.as_str()),
            Self::Metadata => (META_VERSION.to_owned(), "PartialObjectMetadataList"),
            Self::Table(_) => {
                let rows = records.iter().map(|record| current(resource, record));
                return self.table(resource, rows, &metadata, (now, true)).to_string().into();
            }
        };
        let mut text =
            BytesMut::with_capacity(256 + records.iter().map(|record| record.json().len() + 1).sum::<usize>());
        text.put_slice(format!("{{\"apiVersion\":{},\"items\":[", json!(api_version)).as_bytes());
        for (index, record) in records.iter().enumerate() {
            if index > 0 {
                text.put_u8(b',');
            }
            let object = self.object(resource, record, now);
            match self {
                Self::Full if !resource.is_custom() => text.put_slice(&bare::without_type(&object)),
                _ => text.put(object),
            }
        }
        text.put_slice(format!("],\"kind\":{},\"metadata\":{metadata}}}\n", json!(kind)).as_bytes());
        text.freeze()
    }

    /// An answer to a write: the text of the object that was written, in this view.
    pub fn written(self, resource: &Resource, text: &[u8], now: Timestamp) -> Option<Bytes> {
        let object: Value = serde_json::from_slice(text).ok().filter(|object: &Value| object["kind"] != "Status")?;
        match self {
            Self::Full => None,
            Self::Metadata => Some(metadata_only(&object).to_string().into()),
            Self::Table(_) => Some(self.table_of(resource, &object, now, true).to_string().into()),
        }
    }

    /// The table of one object.
    fn table_of(self, resource: &Resource, object: &Value, now: Timestamp, has_columns: bool) -> Value {
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        self.table(resource, [object.clone()].into_iter(), &metadata, (now, has_columns))
    }

    fn table(
        self,
        resource: &Resource,
        objects: impl Iterator<Item = Value>,
        metadata: &Value,
        (now, has_columns): (Timestamp, bool),
    ) -> Value {
        let printer = Printer::new(resource);
        let columns = if has_columns { printer.columns() } else { Value::Null };
        let rows: Value = objects
            .map(|object| {
                let row = printer.row(&object, now);
                row.to_json(self.row_object(object))
            })
            .collect();
        json!({
            "kind": "Table",
            "apiVersion": META_VERSION,
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows,
        })
    }

    fn row_object(self, object: Value) -> Option<Value> {
        match self {
            Self::Table(IncludeObject::None) => None,
            Self::Full | Self::Table(IncludeObject::Object) => Some(object),
            Self::Metadata | Self::Table(IncludeObject::Metadata) => Some(metadata_only(&object)),
        }
    }
}

fn include_object(request: &Request) -> Result<IncludeObject, Status> {
    let asked = request.query.get("includeObject");
    IncludeObject::parse(asked).ok_or_else(|| {
        let asked = asked.unwrap_or_default();
        Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {asked:?}: must be 'Metadata', 'Object', 'None', or empty"
        ))
    })
}

fn mismatch(kind: &str, what: &str) -> Status {
    let message = format!("you requested {kind}, but the requested object {what}");
    Status::new(StatusCode::NOT_ACCEPTABLE, Some("NotAcceptable"), message)
}

/// What follows a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Asks for the next page.
    pub token: Option<String>,
    pub remaining: Option<usize>,
}

impl Page {
    /// The metadata of a list at a version.
    fn metadata(&self, resource: &Resource, revision: Revision) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        // The real server writes an empty token for custom resources.
        let none = resource.is_custom().then_some("");
        if let Some(token) = self.token.as_deref().or(none) {
            metadata["continue"] = token.into();
        }
        if let Some(count) = self.remaining {
            metadata["remainingItemCount"] = count.into();
        }
        metadata
    }
}

/// Whether the stored text is what the resource would show today: it was written in this version, after the schema
/// came to be what it is.
fn is_current(resource: &Resource, record: &Record) -> bool {
    let start = format!("{{\"apiVersion\":{}", json!(resource.api_version()));
    record.revision() >= resource.since && record.json().starts_with(start.as_bytes())
}

/// An object as the resource shows it today: in its version, with its defaults, without what it does not know.
pub fn current(resource: &Resource, record: &Record) -> Value {
    if event::is_converted(resource) {
        return event::from_core((*record.value()).clone());
    }
    let mut object = (*record.value()).clone();
    if !is_current(resource, record) {
        object["apiVersion"] = resource.api_version().into();
        if resource.is_custom() {
            prune(&resource.schema, &mut object);
            set_defaults(&resource.schema, &mut object);
        }
    }
    object
}

/// What a write through the resource changes: the stored object in the form of the resource.
pub fn live(resource: &Resource, record: &Record) -> Arc<Value> {
    let is_current = !event::is_converted(resource) && is_current(resource, record);
    if is_current { record.value() } else { Arc::new(current(resource, record)) }
}

/// The form in which an object of the resource is stored.
pub fn to_stored(resource: &Resource, object: Value) -> Value {
    if event::is_converted(resource) { event::to_core(object) } else { object }
}

fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": object["metadata"]})
}

#[cfg(test)]
mod tests;
