//! Writes and answers in a form that can be sent to two servers and compared, and the real server.

use std::fmt;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_peers::ControlPlane;
use serde_json::{Value, json};

/// A write of one object by one manager.
#[derive(Debug, Clone)]
pub struct Write {
    pub manager: String,
    pub name: String,
    /// `status`, or empty.
    pub subresource: &'static str,
    pub verb: Verb,
    pub body: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verb {
    Create,
    /// A PUT of what the server has now, with this in place of its spec, labels and status.
    Replace(Owners),
    MergePatch,
    Apply {
        force: bool,
    },
}

/// What a PUT says about owners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Owners {
    /// What the server said.
    AsRead,
    Absent,
    /// `[{}]`, which takes all fields from everybody.
    Cleared,
    /// All but the first by name.
    WithoutOne,
    /// Something that cannot be read, which is ignored.
    Broken,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {} {}", self.manager, self.verb, self.subresource, self.body)
    }
}

/// What a server says to a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The object without what differs between servers, its owners sorted, their times as true or false.
    Stored(Value),
    /// The lines of the message are sorted, as Go lists several errors in any order.
    Refused { code: u16, reason: String, message: Vec<String>, causes: Vec<String> },
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(object) => object.fmt(f),
            Self::Refused { code, reason, message, causes } => write!(f, "{code} {reason} {message:?} {causes:?}"),
        }
    }
}

impl Answer {
    pub fn new(code: u16, mut body: Value) -> Self {
        if code < 300 {
            normalize(&mut body);
            whole_numbers(&mut body);
            return Self::Stored(body);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut message: Vec<String> = text(&body["message"]).lines().map(str::to_owned).collect();
        message.sort();
        let causes = body["details"]["causes"].as_array().into_iter().flatten();
        let mut causes: Vec<String> = causes.map(ToString::to_string).collect();
        causes.sort();
        Self::Refused { code, reason: text(&body["reason"]), message, causes }
    }

    /// Whether the object broke a rule of validation, which the pure functions know nothing of.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Refused { code: 422, .. })
    }
}

fn normalize(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for name in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace"] {
        metadata.remove(name);
    }
    if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
        for entry in entries.iter_mut() {
            entry["time"] = entry.get("time").is_some().into();
        }
        entries.sort_by_key(owner_key);
    }
}

/// Writes `2.0` as `2`, as Go does.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0) {
                *value = json!(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The real kube-apiserver.
pub struct Real {
    client: Client,
    collection: String,
}

impl Real {
    pub async fn connect(plane: &ControlPlane, collection: &str) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.expect("the kubeconfig must be complete")).expect("a client must start");
        Self { client, collection: collection.to_owned() }
    }

    /// Creates a CustomResourceDefinition and waits until objects of it can be listed.
    pub async fn install(&self, crd: &Value) {
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, body) = self.request(Method::POST, crds, "application/json", crd).await;
        assert_eq!(code, 201, "{body}");
        while self.request(Method::GET, &self.collection, "application/json", &Value::Null).await.0 != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    pub async fn send(&self, write: &Write) -> Answer {
        let Write { manager, name, subresource, verb, body } = write;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let object = format!("{}/{name}{slash}{subresource}", self.collection);
        let with = |path: &str, more: &str| format!("{path}?fieldManager={manager}{more}");
        let (code, body) = match verb {
            Verb::Create => self.request(Method::POST, &with(&self.collection, ""), "application/json", body).await,
            Verb::Replace(owners) => {
                let (code, live) = self.request(Method::GET, &object, "application/json", &Value::Null).await;
                if code != 200 {
                    return Answer::new(code, live);
                }
                let body = replaced(&live, body, *owners);
                self.request(Method::PUT, &with(&object, ""), "application/json", &body).await
            }
            Verb::MergePatch => {
                self.request(Method::PATCH, &with(&object, ""), "application/merge-patch+json", body).await
            }
            Verb::Apply { force } => {
                let path = with(&object, &format!("&force={force}"));
                self.request(Method::PATCH, &path, "application/apply-patch+yaml", body).await
            }
        };
        Answer::new(code, body)
    }

    pub async fn request(&self, method: Method, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("Content-Type", content_type);
        let request = request.body(Body::from(body)).expect("a request must be well formed");
        let response = self.client.send(request).await.expect("the server must answer");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("the answer must arrive").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
}

/// The live object with another spec, labels and status.
pub fn replaced(live: &Value, body: &Value, owners: Owners) -> Value {
    let mut object = live.clone();
    for part in ["spec", "status"] {
        object[part] = body[part].clone();
    }
    let parts = object.as_object_mut().expect("an object must be an object");
    parts.retain(|_, value| !value.is_null());
    object["metadata"]["labels"] = body["metadata"]["labels"].clone();
    object["metadata"]["managedFields"] = owners_of(&live["metadata"]["managedFields"], owners);
    let metadata = object["metadata"].as_object_mut().expect("metadata must be an object");
    metadata.retain(|_, value| !value.is_null());
    object
}

fn owners_of(live: &Value, owners: Owners) -> Value {
    match owners {
        Owners::AsRead => live.clone(),
        Owners::Absent => Value::Null,
        Owners::Cleared => json!([{}]),
        Owners::WithoutOne => {
            let mut entries = live.as_array().cloned().unwrap_or_default();
            entries.sort_by_key(owner_key);
            entries.drain(..1.min(entries.len()));
            Value::Array(entries)
        }
        Owners::Broken => json!([{"manager": "x", "operation": "Guess", "apiVersion": "v1", "fieldsType": "FieldsV1"}]),
    }
}

fn owner_key(entry: &Value) -> String {
    format!("{} {} {}", entry["operation"], entry["manager"], entry["subresource"])
}
