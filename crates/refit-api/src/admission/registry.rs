//! Admission for callers that hold JSON and learn the kind at run time: the embedded API server, a webhook server.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Admission, Verdict};
use crate::bootstrap::{KubeadmConfig, KubeadmConfigTemplate};
use crate::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use crate::controlplane::KubeadmControlPlane;
use crate::decode::{self, DecodeError};
use crate::resource::Definition;
use crate::rollout::MachineRollout;
use crate::runtime::ExtensionConfig;

/// The admission of one kind, on JSON.
pub struct Registered {
    pub definition: Definition,
    set_defaults: fn(Value, Option<&Value>) -> Result<Value, DecodeError>,
    validate: fn(&Value, Option<&Value>) -> Result<Verdict, DecodeError>,
}

/// Every kind that has admission.
pub const ALL: &[Registered] = &[
    registered::<Cluster>(),
    registered::<ExtensionConfig>(),
    registered::<KubeadmConfig>(),
    registered::<KubeadmConfigTemplate>(),
    registered::<KubeadmControlPlane>(),
    registered::<Machine>(),
    registered::<MachineDeployment>(),
    registered::<MachineHealthCheck>(),
    registered::<MachineRollout>(),
    registered::<MachineSet>(),
];

/// The admission of a kind in the version that we have, if there is one.
pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Registered> {
    let is_it = |known: &&Registered| {
        let definition = &known.definition;
        (definition.group, definition.version, definition.kind) == (group, version, kind)
    };
    ALL.iter().find(is_it)
}

impl Registered {
    /// The object with its defaults; see [`Admission::set_defaults`]. An object that does not decode is left to the
    /// schema to refuse, which names everything that is wrong with it: the error here names the first.
    pub fn set_defaults(&self, object: Value, old: Option<&Value>) -> Result<Value, DecodeError> {
        (self.set_defaults)(object, old)
    }

    /// The verdict on the object; see [`Admission::validate`].
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Result<Verdict, DecodeError> {
        (self.validate)(object, old)
    }
}

const fn registered<K: Admission>() -> Registered {
    Registered { definition: K::DEFINITION, set_defaults: set_defaults::<K>, validate: validate::<K> }
}

fn set_defaults<K: Admission>(object: Value, old: Option<&Value>) -> Result<Value, DecodeError> {
    let mut object: K = decode::from_value(object)?;
    object.set_defaults(decode_old(old)?.as_ref());
    Ok(serde_json::to_value(object).expect("a resource must encode"))
}

fn validate<K: Admission>(object: &Value, old: Option<&Value>) -> Result<Verdict, DecodeError> {
    let object: K = decode::from_value(object.clone())?;
    Ok(object.validate(decode_old(old)?.as_ref()))
}

fn decode_old<K: DeserializeOwned>(old: Option<&Value>) -> Result<Option<K>, DecodeError> {
    old.map(|old| decode::from_value(old.clone())).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployments() -> &'static Registered {
        find("cluster.x-k8s.io", "v1beta2", "MachineDeployment").expect("MachineDeployments must be registered")
    }

    fn deployment(cluster: &str) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": { "name": "md" },
            "spec": {
                "clusterName": cluster,
                "template": { "spec": {
                    "clusterName": cluster,
                    "version": "1.34.0",
                    "bootstrap": { "dataSecretName": "s" },
                    "infrastructureRef": { "apiGroup": "x.io", "kind": "T", "name": "t" },
                } },
            },
        })
    }

    #[test]
    fn every_kind_with_a_crd_is_registered() {
        let registered: Vec<&str> = ALL.iter().map(|known| known.definition.plural).collect();
        let crds = crate::crd::all();
        let plurals: Vec<&str> = crds.iter().filter_map(|crd| crd["spec"]["names"]["plural"].as_str()).collect();
        assert_eq!(registered, plurals);
    }

    #[test]
    fn another_version_of_a_kind_is_not_found() {
        assert!(find("cluster.x-k8s.io", "v1beta1", "MachineDeployment").is_none());
    }

    #[test]
    fn defaults_are_set_before_the_schema_is_looked_at() {
        let defaulted = deployments().set_defaults(deployment("c"), None).expect("it must decode");
        assert_eq!(defaulted["spec"]["template"]["spec"]["version"], "v1.34.0");
        assert_eq!(defaulted["spec"]["rollout"]["strategy"]["type"], "RollingUpdate");
        let verdict = deployments().validate(&defaulted, None).expect("it must decode");
        assert!(verdict.is_accepted(), "{verdict:?}");
    }

    #[test]
    fn the_stored_object_counts_on_an_update() {
        let default = |object| deployments().set_defaults(object, None).expect("it must decode");
        let (old, new) = (default(deployment("c")), default(deployment("other")));
        let verdict = deployments().validate(&new, Some(&old)).expect("it must decode");
        let fields: Vec<&str> = verdict.errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["spec.clusterName"]);
    }

    #[test]
    fn an_object_that_does_not_decode_is_an_error_with_the_field() {
        let mut object = deployment("c");
        object["spec"]["replicas"] = "three".into();
        let error = deployments().set_defaults(object, None).expect_err("it must not decode");
        assert!(error.to_string().contains("spec.replicas"), "{error}");
    }
}
