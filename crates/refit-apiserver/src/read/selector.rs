//! Selectors of lists and watches: by labels, and by the few fields that a resource lets be asked for.

mod field;
mod label;

use serde_json::Value;

use crate::request::Query;
use crate::resource::Resource;
use crate::status::Status;

pub use field::FieldSelector;
pub use label::LabelSelector;

/// Which objects a list or watch is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// From the parameters of a request.
    pub fn parse(query: &Query, resource: &Resource) -> Result<Self, Status> {
        let labels =
            LabelSelector::parse(query.get("labelSelector").unwrap_or_default()).map_err(Status::bad_request)?;
        let fields =
            FieldSelector::parse(query.get("fieldSelector").unwrap_or_default()).map_err(Status::bad_request)?;
        fields.check(resource).map_err(Status::bad_request)?;
        Ok(Self { labels, fields: fields.stored(resource) })
    }

    /// Whether every object is selected: then it need not be decoded.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }

    /// The only name that can match, where the selector names one.
    pub fn name(&self) -> Option<&str> {
        self.fields.exact("metadata.name")
    }
}
