//! The core kinds that Cluster API touches.
//!
//! Their schemas are a generated file: names, types and list types of the fields, as the real server publishes them.
//! What that server's strategies and admission add to pods, services and nodes is not here.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::{Endpoints, Origin, Resource};
use crate::schema::{Definitions, parse};
use crate::store::Revision;

/// A row of the table below.
struct Row {
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    is_namespaced: bool,
    has_status: bool,
    selectable_fields: &'static [&'static str],
    definition: &'static str,
}

const CORE: &str = "";
const APPS: &str = "apps";
const COORDINATION: &str = "coordination.k8s.io";
const EVENTS: &str = "events.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const POLICY: &str = "policy";
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// A resource without short names, categories, status and selectable fields.
const fn plain(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    is_namespaced: bool,
    definition: &'static str,
) -> Row {
    Row {
        group,
        plural,
        kind,
        short_names: &[],
        categories: &[],
        is_namespaced,
        has_status: false,
        selectable_fields: &[],
        definition,
    }
}

impl Row {
    const fn short(mut self, short_names: &'static [&'static str]) -> Self {
        self.short_names = short_names;
        self
    }

    const fn in_categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    const fn with_status(mut self) -> Self {
        self.has_status = true;
        self
    }

    const fn selectable(mut self, fields: &'static [&'static str]) -> Self {
        self.selectable_fields = fields;
        self
    }
}

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const REGARDING_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];
const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

/// Every built-in resource; all are served as `v1`.
const TABLE: &[Row] = &[
    plain(CORE, "configmaps", "ConfigMap", true, "io.k8s.api.core.v1.ConfigMap").short(&["cm"]),
    plain(CORE, "events", "Event", true, "io.k8s.api.core.v1.Event").short(&["ev"]).selectable(EVENT_FIELDS),
    plain(CORE, "namespaces", "Namespace", false, "io.k8s.api.core.v1.Namespace")
        .short(&["ns"])
        .with_status()
        .selectable(&["status.phase"]),
    plain(CORE, "nodes", "Node", false, "io.k8s.api.core.v1.Node")
        .short(&["no"])
        .with_status()
        .selectable(&["spec.unschedulable"]),
    plain(CORE, "persistentvolumeclaims", "PersistentVolumeClaim", true, "io.k8s.api.core.v1.PersistentVolumeClaim")
        .short(&["pvc"])
        .with_status(),
    plain(CORE, "persistentvolumes", "PersistentVolume", false, "io.k8s.api.core.v1.PersistentVolume")
        .short(&["pv"])
        .with_status(),
    plain(CORE, "pods", "Pod", true, "io.k8s.api.core.v1.Pod")
        .short(&["po"])
        .in_categories(&["all"])
        .with_status()
        .selectable(POD_FIELDS),
    plain(CORE, "secrets", "Secret", true, "io.k8s.api.core.v1.Secret").selectable(&["type"]),
    plain(CORE, "serviceaccounts", "ServiceAccount", true, "io.k8s.api.core.v1.ServiceAccount").short(&["sa"]),
    plain(CORE, "services", "Service", true, "io.k8s.api.core.v1.Service")
        .short(&["svc"])
        .in_categories(&["all"])
        .with_status()
        .selectable(&["spec.clusterIP", "spec.type"]),
    plain(APPS, "daemonsets", "DaemonSet", true, "io.k8s.api.apps.v1.DaemonSet")
        .short(&["ds"])
        .in_categories(&["all"])
        .with_status(),
    plain(COORDINATION, "leases", "Lease", true, "io.k8s.api.coordination.v1.Lease"),
    plain(EVENTS, "events", "Event", true, "io.k8s.api.events.v1.Event").short(&["ev"]).selectable(REGARDING_FIELDS),
    plain(
        EXTENSIONS,
        "customresourcedefinitions",
        "CustomResourceDefinition",
        false,
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    )
    .short(&["crd", "crds"])
    .in_categories(&["api-extensions"])
    .with_status(),
    plain(POLICY, "poddisruptionbudgets", "PodDisruptionBudget", true, "io.k8s.api.policy.v1.PodDisruptionBudget")
        .short(&["pdb"])
        .with_status(),
    plain(RBAC, "clusterrolebindings", "ClusterRoleBinding", false, "io.k8s.api.rbac.v1.ClusterRoleBinding"),
    plain(RBAC, "clusterroles", "ClusterRole", false, "io.k8s.api.rbac.v1.ClusterRole"),
    plain(RBAC, "rolebindings", "RoleBinding", true, "io.k8s.api.rbac.v1.RoleBinding"),
    plain(RBAC, "roles", "Role", true, "io.k8s.api.rbac.v1.Role"),
    plain(STORAGE, "volumeattachments", "VolumeAttachment", false, "io.k8s.api.storage.v1.VolumeAttachment")
        .with_status(),
];

/// Kinds that are sent but not stored: by kind, with their definitions.
const SENT: [(&str, &str); 5] = [
    ("DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
    ("Eviction", "io.k8s.api.policy.v1.Eviction"),
    ("Scale", "io.k8s.api.autoscaling.v1.Scale"),
    ("SelfSubjectAccessReview", "io.k8s.api.authorization.v1.SelfSubjectAccessReview"),
    ("SelfSubjectRulesReview", "io.k8s.api.authorization.v1.SelfSubjectRulesReview"),
];

static DEFINITIONS: LazyLock<Definitions> =
    LazyLock::new(|| serde_json::from_str(definitions_text()).expect("the generated schemas must be JSON"));

static ALL: LazyLock<Vec<Arc<Resource>>> = LazyLock::new(|| TABLE.iter().map(|row| Arc::new(resource(row))).collect());

/// Every built-in resource.
pub fn all() -> &'static [Arc<Resource>] {
    &ALL
}

/// Kinds that a `PUT` makes where there is none of the name. Others have to be created first.
pub fn is_made_by_update(resource: &Resource) -> bool {
    let is_any = |group: &str, plurals: &[&str]| resource.group == group && plurals.contains(&resource.plural.as_str());
    !resource.is_custom()
        && (is_any(CORE, &["events", "services"])
            || is_any(EVENTS, &["events"])
            || is_any(COORDINATION, &["leases"])
            || is_any(RBAC, &["clusterrolebindings", "clusterroles", "rolebindings", "roles"]))
}

/// Kinds whose updates must name the version that they change. Custom resources must, too.
pub fn must_name_version(resource: &Resource) -> bool {
    let kinds = [
        (COORDINATION, "leases"),
        (EXTENSIONS, "customresourcedefinitions"),
        (POLICY, "poddisruptionbudgets"),
        (STORAGE, "volumeattachments"),
    ];
    kinds.iter().any(|(group, plural)| resource.is(group, plural))
}

/// The schemas of built-in kinds and of what they consist of, by their names in OpenAPI.
pub fn definitions() -> &'static Definitions {
    &DEFINITIONS
}

/// The generated file that they come from.
pub fn definitions_text() -> &'static str {
    include_str!("built_in/schemas.json")
}

/// Which of them are kinds that are stored or sent; the others are parts of these.
pub fn definition_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.definition).chain(SENT.map(|(_, definition)| definition))
}

/// The name of a kind's schema among them.
pub fn definition_of(api_version: &str, kind: &str) -> Option<&'static str> {
    let group = api_version.strip_suffix("v1")?.trim_end_matches('/');
    let stored = TABLE.iter().find(|row| row.group == group && row.kind == kind).map(|row| row.definition);
    stored.or_else(|| SENT.into_iter().find(|(sent, _)| *sent == kind).map(|(_, definition)| definition))
}

/// Where the real server publishes them.
pub fn openapi_paths() -> BTreeSet<String> {
    let path = |row: &Row| match row.group {
        "" => "/openapi/v3/api/v1".to_owned(),
        group => format!("/openapi/v3/apis/{group}/v1"),
    };
    let reviews = "/openapi/v3/apis/authorization.k8s.io/v1".to_owned();
    TABLE.iter().map(path).chain([reviews]).collect()
}

/// The name of a resource's schema among them.
pub fn definition_name(group: &str, plural: &str) -> Option<&'static str> {
    TABLE.iter().find(|row| row.group == group && row.plural == plural).map(|row| row.definition)
}

fn resource(row: &Row) -> Resource {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let schema = parse(&definitions()[row.definition], definitions());
    let api_version = if row.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", row.group) };
    let endpoints = Endpoints::new(&schema, &api_version, row.kind, row.has_status, Origin::BuiltIn);
    Resource {
        group: row.group.to_owned(),
        version: "v1".to_owned(),
        plural: row.plural.to_owned(),
        singular: row.kind.to_lowercase(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        short_names: owned(row.short_names),
        categories: owned(row.categories),
        is_namespaced: row.is_namespaced,
        origin: Origin::BuiltIn,
        schema: Arc::new(schema),
        endpoints: Arc::new(endpoints),
        rules: Arc::default(),
        has_status: row.has_status,
        scale: None,
        columns: Vec::new(),
        selectable_fields: owned(row.selectable_fields),
        is_stored: true,
        since: Revision::FIRST,
        is_terminating: false,
        deprecation_warning: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_schema_with_metadata() {
        assert_eq!(all().len(), TABLE.len());
        for resource in all() {
            let metadata = resource.schema.properties.get("metadata").expect("there must be metadata");
            assert!(metadata.properties.contains_key("ownerReferences"), "{}", resource.plural);
        }
    }
}
