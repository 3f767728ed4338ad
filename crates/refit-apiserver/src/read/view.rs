//! How objects are shown: in full, their metadata only, or as rows of a table.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::accept::{self, MetaVersion};
use super::bare;
use crate::body::Encoding;
use crate::budget::Budget;
use crate::request::Request;
use crate::resource::{Resource, event};
use crate::schema::{prune, set_defaults};
use crate::status::Status;
use crate::store::{Record, Revision};
use crate::table::{IncludeObject, Printer};

const SERVED: &str = "application/json, application/yaml";
const SERVED_TO_WATCHES: &str = "application/json;stream=watch";

/// What a client wants to see of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Full,
    /// `PartialObjectMetadata`: kind and metadata.
    Metadata(MetaVersion),
    /// Rows of cells, and how much of each object goes with its row.
    Table(MetaVersion, IncludeObject),
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
        let mut forms = served_wishes.map(|wish| wish.form);
        let found = forms.find_map(|form| form.of_objects().map(|kind| (kind, form.meta_version())));
        let (kind, version) = found.ok_or_else(|| accept::not_acceptable(served))?;
        let view = match kind {
            "" => Self::Full,
            "Table" => Self::Table(version, include_object(request)?),
            _ => Self::Metadata(version),
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
            Self::Metadata(version) => metadata_only(&current(resource, record), version).to_string().into(),
            Self::Table(..) => self.table_of(resource, &current(resource, record), now, true).to_string().into(),
        }
    }

    /// What a watch sends of one object. Only the first table of a watch defines its columns.
    pub fn event(self, resource: &Resource, record: &Record, now: Timestamp, is_first: bool) -> Bytes {
        match self {
            Self::Table(..) => self.table_of(resource, &current(resource, record), now, is_first).to_string().into(),
            Self::Full | Self::Metadata(_) => self.object(resource, record, now),
        }
    }

    /// What a bookmark sends: an object that has nothing but this metadata.
    pub fn bookmark(self, resource: &Resource, metadata: &Value, now: Timestamp, is_first: bool) -> Value {
        let object = json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        match self {
            Self::Full => object,
            Self::Metadata(version) => metadata_only(&object, version),
            Self::Table(..) => self.table_of(resource, &object, now, is_first),
        }
    }

    /// Whether an object is shown as it is stored.
    pub fn is_plain(self, resource: &Resource, record: &Record) -> bool {
        self == Self::Full && is_current(resource, record)
    }

    /// The text of one object as it stands in a list.
    pub fn item(
        self,
        (resource, printer): (&Resource, &Printer<'_>),
        record: &Record,
        now: Timestamp,
        budget: &Budget,
    ) -> Bytes {
        match self {
            Self::Full if !resource.is_custom() => bare::without_type(&Self::full(resource, record)).into(),
            Self::Full | Self::Metadata(_) => self.object(resource, record, now),
            Self::Table(..) => self.row(printer, current(resource, record), now, budget).to_string().into(),
        }
    }

    /// An answer to a write: the text of the object that was written, in this view.
    pub fn written(self, resource: &Resource, text: &[u8], now: Timestamp) -> Option<Bytes> {
        let object: Value = serde_json::from_slice(text).ok().filter(|object: &Value| object["kind"] != "Status")?;
        match self {
            Self::Full => None,
            Self::Metadata(version) => Some(metadata_only(&object, version).to_string().into()),
            Self::Table(..) => Some(self.table_of(resource, &object, now, true).to_string().into()),
        }
    }

    /// The table of one object.
    fn table_of(self, resource: &Resource, object: &Value, now: Timestamp, has_columns: bool) -> Value {
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        let mut table = self.table_head(resource, &metadata);
        if !has_columns {
            table["columnDefinitions"] = Value::Null;
        }
        let row = self.row(&Printer::new(resource), object.clone(), now, &Budget::default());
        table["rows"] = vec![row].into();
        table
    }

    fn row(self, printer: &Printer<'_>, object: Value, now: Timestamp, budget: &Budget) -> Value {
        let row = printer.row(&object, now, budget);
        row.to_json(self.row_object(object))
    }

    /// A table without its rows.
    pub fn table_head(self, resource: &Resource, metadata: &Value) -> Value {
        let version = match self {
            Self::Table(version, _) | Self::Metadata(version) => version,
            Self::Full => MetaVersion::V1,
        };
        json!({
            "kind": "Table",
            "apiVersion": version.api_version(),
            "metadata": metadata,
            "columnDefinitions": Printer::new(resource).columns(),
        })
    }

    fn row_object(self, object: Value) -> Option<Value> {
        match self {
            Self::Table(_, IncludeObject::None) => None,
            Self::Full | Self::Table(_, IncludeObject::Object) => Some(object),
            Self::Metadata(version) | Self::Table(version, IncludeObject::Metadata) => {
                Some(metadata_only(&object, version))
            }
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
    pub fn metadata(&self, resource: &Resource, revision: Revision) -> Value {
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
            set_defaults(&resource.schema, &mut object, &Budget::default());
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

fn metadata_only(object: &Value, version: MetaVersion) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": object["metadata"]})
}

#[cfg(test)]
mod tests;
