//! CustomResourceDefinitions, made from the types.

use serde_json::{Map, Value, json};

use crate::bootstrap::{KubeadmConfig, KubeadmConfigTemplate};
use crate::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use crate::controlplane::KubeadmControlPlane;
use crate::resource::{Column, CustomKind, Definition, Scope};
use crate::rollout::MachineRollout;
use crate::runtime::ExtensionConfig;
use crate::schema;
use crate::vocabulary::labels;

/// The CRDs of all kinds of this crate.
pub fn all() -> Vec<Value> {
    vec![
        of::<Cluster>(),
        of::<ExtensionConfig>(),
        of::<KubeadmConfig>(),
        of::<KubeadmConfigTemplate>(),
        of::<KubeadmControlPlane>(),
        of::<Machine>(),
        of::<MachineDeployment>(),
        of::<MachineHealthCheck>(),
        of::<MachineRollout>(),
        of::<MachineSet>(),
    ]
}

/// The CRD of one kind.
pub fn of<K: CustomKind>() -> Value {
    let definition = K::DEFINITION;
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata(&definition),
        "spec": {
            "group": definition.group,
            "names": names(&definition),
            "scope": match definition.scope {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            "versions": [{
                "name": definition.version,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": definition.columns.iter().map(column).collect::<Vec<_>>(),
                "subresources": subresources(&definition),
                "schema": { "openAPIV3Schema": root_schema::<K>() },
            }],
        },
    })
}

/// The kinds of Cluster API carry the label by which its controllers find out which version serves which contract.
fn metadata(definition: &Definition) -> Value {
    let mut metadata = json!({ "name": format!("{}.{}", definition.plural, definition.group) });
    if definition.group.ends_with("cluster.x-k8s.io") {
        metadata["labels"] = json!({ labels::CONTRACT_V1BETA2: definition.version });
    }
    metadata
}

fn names(definition: &Definition) -> Value {
    let mut names = json!({
        "kind": definition.kind,
        "listKind": format!("{}List", definition.kind),
        "plural": definition.plural,
        "singular": definition.kind.to_ascii_lowercase(),
        "categories": ["cluster-api"],
    });
    if !definition.short_names.is_empty() {
        names["shortNames"] = definition.short_names.into();
    }
    names
}

fn column(column: &Column) -> Value {
    let mut value = json!({
        "name": column.name,
        "type": column.type_,
        "jsonPath": column.json_path,
        "description": column.description,
    });
    if column.priority != 0 {
        value["priority"] = column.priority.into();
    }
    value
}

fn subresources(definition: &Definition) -> Value {
    let mut subresources = Map::new();
    if definition.has_status {
        subresources.insert("status".to_owned(), json!({}));
    }
    if definition.has_scale {
        subresources.insert(
            "scale".to_owned(),
            json!({
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            }),
        );
    }
    subresources.into()
}

fn root_schema<K: CustomKind>() -> Value {
    let mut root = schema::into_structural(K::object_schema(&mut schema::generator()));
    root["properties"]["apiVersion"] = json!({ "type": "string" });
    root["properties"]["kind"] = json!({ "type": "string" });
    root["properties"]["metadata"] = json!({ "type": "object" });
    root
}
