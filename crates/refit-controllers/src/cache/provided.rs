//! Objects of providers, as decisions read them.

use std::borrow::Cow;
use std::sync::Arc;

use kube::Resource;
use kube::core::{ApiResource, ObjectMeta};
use refit_plan::reading::Read;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// An object of a provider: JSON that is read once, when it arrives, and shared by every decision that looks at it.
#[derive(Debug, Clone)]
pub struct Provided {
    /// Without `managedFields`, which are large and are in the JSON already.
    metadata: ObjectMeta,
    read: Arc<Read<Value>>,
}

impl Provided {
    /// The object with its kind, which the items of a list may lack.
    pub fn of_kind(self, resource: &ApiResource) -> Self {
        let Read::Found(value) = &*self.read else { return self };
        if value["apiVersion"] == resource.api_version.as_str() && value["kind"] == resource.kind.as_str() {
            return self;
        }
        let mut value = value.clone();
        value["apiVersion"] = json!(resource.api_version);
        value["kind"] = json!(resource.kind);
        Self { read: Arc::new(Read::Found(value)), ..self }
    }

    /// The object, found.
    pub fn read(&self) -> Arc<Read<Value>> {
        Arc::clone(&self.read)
    }

    /// The whole object as JSON.
    pub fn value(&self) -> &Value {
        match &*self.read {
            Read::Found(value) => value,
            Read::Missing | Read::Unreadable(_) => &Value::Null,
        }
    }
}

impl<'de> Deserialize<'de> for Provided {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let mut metadata = match value.get("metadata") {
            Some(metadata) => ObjectMeta::deserialize(metadata).map_err(serde::de::Error::custom)?,
            None => ObjectMeta::default(),
        };
        metadata.managed_fields = None;
        Ok(Self { metadata, read: Arc::new(Read::Found(value)) })
    }
}

impl Resource for Provided {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn api_version(kind: &ApiResource) -> Cow<'_, str> {
        kind.api_version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_a_list_gets_its_kind_and_keeps_the_rest() {
        let resource = super::super::api_resource("x.io/v1", "Host");
        let item = json!({ "metadata": { "name": "h", "managedFields": [{ "manager": "m" }] }, "spec": { "cpus": 2 } });
        let found = Provided::deserialize(&item).expect("it must be readable").of_kind(&resource);
        let mut expected = item.clone();
        expected["apiVersion"] = json!("x.io/v1");
        expected["kind"] = json!("Host");
        assert_eq!(*found.value(), expected);
        assert_eq!(*found.read(), Read::Found(expected));
        assert_eq!((found.meta().name.as_deref(), found.meta().managed_fields.as_ref()), (Some("h"), None));
    }
}
