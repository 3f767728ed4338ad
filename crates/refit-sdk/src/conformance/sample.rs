//! The machine that an extension is asked about.

use refit_api::hooks::{API_VERSION, Hook};
use serde_json::{Value, json};

/// A machine as it is and as it should be. It is one that does not exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    current: Objects,
    desired: Objects,
}

#[derive(Debug, Clone, PartialEq)]
struct Objects {
    machine: Value,
    infrastructure: Value,
    bootstrap: Option<Value>,
}

/// Why a document is no sample.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sample has no object {0}")]
pub struct SampleError(&'static str);

impl Default for Sample {
    fn default() -> Self {
        Self { current: objects("v1.34.0", "4Gi", "old"), desired: objects("v1.34.1", "8Gi", "new") }
    }
}

impl Sample {
    /// Reads `current` and `desired`, each with `machine`, `infrastructureMachine` and maybe `bootstrapConfig`.
    pub fn from_value(document: &Value) -> Result<Self, SampleError> {
        let side = |side: &'static str| {
            let object = |name, error| {
                document[side].get(name).filter(|object| object.is_object()).cloned().ok_or(SampleError(error))
            };
            Ok(Objects {
                machine: object("machine", "machine")?,
                infrastructure: object("infrastructureMachine", "infrastructureMachine")?,
                bootstrap: document[side].get("bootstrapConfig").filter(|object| object.is_object()).cloned(),
            })
        };
        Ok(Self { current: side("current")?, desired: side("desired")? })
    }

    /// The request of this hook.
    pub(super) fn request(&self, hook: Hook) -> Value {
        let mut request = json!({ "apiVersion": API_VERSION, "kind": hook.request_kind(), "settings": {} });
        request["desired"] = self.desired.named(hook);
        if hook != Hook::UpdateMachine {
            request["current"] = self.current.named(hook);
        }
        request
    }

    /// The same machine, which is already what it should be.
    pub(super) fn settled(&self) -> Self {
        Self { current: self.desired.clone(), desired: self.desired.clone() }
    }

    pub(super) fn without_bootstrap(mut self) -> Self {
        self.current.bootstrap = None;
        self.desired.bootstrap = None;
        self
    }

    /// The same machine of providers that nobody knows.
    pub(super) fn of_unknown_kinds(mut self) -> Self {
        for side in [&mut self.current, &mut self.desired] {
            for object in [Some(&mut side.infrastructure), side.bootstrap.as_mut()].into_iter().flatten() {
                object["apiVersion"] = json!("unheard-of.example.com/v9");
                object["kind"] = json!("UnheardOf");
            }
        }
        self
    }

    /// The same machine under another name, so that its update is another one.
    pub(super) fn called(mut self, name: &str) -> Self {
        for side in [&mut self.current, &mut self.desired] {
            side.machine["metadata"]["name"] = json!(name);
        }
        self
    }
}

impl Objects {
    fn named(&self, hook: Hook) -> Value {
        let mut objects = serde_json::Map::new();
        let in_set = hook == Hook::CanUpdateMachineSet;
        let mut put = |name: &str, template: &str, object: &Value| {
            let (name, object) = if in_set { (template, in_template(object)) } else { (name, object.clone()) };
            objects.insert(name.to_owned(), object);
        };
        put("machine", "machineSet", &self.machine);
        put("infrastructureMachine", "infrastructureMachineTemplate", &self.infrastructure);
        if let Some(bootstrap) = &self.bootstrap {
            put("bootstrapConfig", "bootstrapConfigTemplate", bootstrap);
        }
        objects.into()
    }
}

/// The MachineSet, or the template, that makes such objects.
fn in_template(object: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default();
    let is_machine = kind == "Machine";
    let mut made = object.clone();
    made["kind"] = json!(if is_machine { "MachineSet".to_owned() } else { format!("{kind}Template") });
    made["spec"] = json!({ "template": { "spec": object["spec"] } });
    if is_machine {
        made["spec"]["clusterName"] = object["spec"]["clusterName"].clone();
        made["spec"]["selector"] = json!({});
    }
    made
}

fn objects(version: &str, memory: &str, content: &str) -> Objects {
    let metadata = json!({ "name": "refit-conformance", "namespace": "refit-conformance" });
    Objects {
        machine: json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata,
            "spec": {
                "clusterName": "refit-conformance", "version": version, "providerID": "none://refit-conformance",
                "bootstrap": { "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "refit-conformance" } },
                "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimMachine", "name": "refit-conformance" },
            },
        }),
        infrastructure: json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "SimMachine", "metadata": metadata,
            "spec": { "memory": memory, "cpus": 2 },
        }),
        bootstrap: Some(json!({
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": metadata,
            "spec": { "files": [{ "path": "/etc/sample", "content": content }] },
        })),
    }
}
