//! What is served: a resource in one version, with its schema and subresources.

pub mod built_in;
pub mod catalog;
pub mod custom;
pub mod event;
mod meta;

use std::sync::{Arc, LazyLock};

use crate::apply::{self, Endpoint, FieldSet};
use crate::schema::{Rules, Schema};
use crate::status::Qualified;
use crate::store::Revision;

pub use crate::apply::Origin;
pub use catalog::Catalog;
pub use meta::object_meta;

/// One resource in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub is_namespaced: bool,
    pub origin: Origin,
    /// The schema of the whole object, metadata included.
    pub schema: Arc<Schema>,
    /// The compiled rules of the schema.
    pub rules: Arc<Rules>,
    /// Who may own which field, for each part that is written by itself.
    pub endpoints: Arc<Endpoints>,
    /// Whether `/status` is served: then status is written there and nowhere else.
    pub has_status: bool,
    pub scale: Option<Scale>,
    pub columns: Vec<Column>,
    /// Fields besides name and namespace that a field selector may ask for, as in `spec.nodeName`.
    pub selectable_fields: Vec<String>,
    /// Whether objects are stored in this version. One of a resource's versions is.
    pub is_stored: bool,
    /// The version of the store in which the definition was last written: older objects may lack its defaults.
    pub since: Revision,
    /// Whether its definition is being deleted: then no objects are made any more.
    pub is_terminating: bool,
    /// Deprecated versions answer with this warning.
    pub deprecation_warning: Option<String>,
}

/// The scale subresource: where its three numbers and its selector are in the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// As in `.spec.replicas`.
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// A column that `kubectl get` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// `string`, `integer`, `date`, …
    pub kind: String,
    pub format: String,
    pub description: String,
    /// 0 is always shown, higher ones with `-o wide`.
    pub priority: i64,
    pub json_path: String,
}

/// Where the objects of a resource are written.
#[derive(Debug)]
pub struct Endpoints {
    main: Endpoint,
    status: Endpoint,
    /// `finalize`, which namespaces have.
    finalize: Option<Endpoint>,
}

/// The schema of metadata, as those see it who may own its fields.
static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| apply::object_meta(built_in::definitions()));

impl Endpoints {
    /// Those of a resource in one version.
    fn new(schema: &Schema, api_version: &str, kind: &str, has_status: bool, origin: Origin) -> Self {
        let status_reset = match origin {
            Origin::Custom => Endpoint::status_reset(),
            Origin::BuiltIn => FieldSet::of_fields(&[&["spec"]]),
        };
        let schema = apply::graft(schema, &OBJECT_META);
        let endpoint = |subresource: &str, reset| Endpoint {
            schema: schema.clone(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            subresource: subresource.to_owned(),
            reset,
            origin,
        };
        let is_namespace = api_version == "v1" && kind == "Namespace";
        Self {
            main: endpoint("", Endpoint::main_reset(has_status)),
            status: endpoint("status", status_reset),
            finalize: is_namespace.then(|| endpoint("finalize", Endpoint::main_reset(has_status))),
        }
    }
}

impl Resource {
    /// Where a write to the object, or to a part of it, goes.
    pub fn endpoint(&self, subresource: Option<&str>) -> &Endpoint {
        match (subresource, &self.endpoints.finalize) {
            (Some("status"), _) => &self.endpoints.status,
            (Some("finalize"), Some(finalize)) => finalize,
            _ => &self.endpoints.main,
        }
    }

    /// As in `v1` or `cluster.x-k8s.io/v1beta2`.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Under which name its objects are stored, whatever the version: `group/plural`.
    pub fn storage_name(&self) -> String {
        if event::is_converted(self) {
            return "/events".to_owned();
        }
        format!("{}/{}", self.group, self.plural)
    }

    /// The plural with the group, as messages say it.
    pub fn qualified_plural(&self) -> Qualified<'_> {
        Qualified { group: &self.group, name: &self.plural }
    }

    /// The kind with the group, as some messages say it.
    pub fn qualified_kind(&self) -> Qualified<'_> {
        Qualified { group: &self.group, name: &self.kind }
    }

    pub fn is_custom(&self) -> bool {
        self.origin == Origin::Custom
    }

    /// Whether it is this built-in resource.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}
