//! What a watch tells, and objects that cannot be decoded.

use kube::Resource;
use kube::core::ObjectMeta;
use refit_api::decode;
use refit_plan::reading::Unreadable;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::ObjectKey;

/// What a watch tells of one kind.
#[derive(Debug, Clone)]
pub enum Event<K> {
    /// A list begins. It was asked for then, and is at least as new.
    Init { asked: Instant },
    /// An object of the list.
    InitApply(Item<K>),
    /// The list is complete, and is what there was at this version.
    InitDone { version: String },
    /// An object was made or changed.
    Apply(Item<K>),
    /// An object is gone. This is its last state, at the version of its deletion.
    Delete(Item<K>),
    /// Everything up to this version has been told.
    Bookmark { version: String },
    /// What happens is not heard any more: it will be told later, or there will be another list.
    Lost,
    /// What happens is heard again.
    Resumed,
}

/// An object, or what is known of one that is not as its kind should be.
pub type Item<K> = Result<K, Box<Undecodable>>;

/// An object that cannot be decoded. What it says is not known; that it is there, is.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecodable {
    pub key: ObjectKey,
    pub uid: Option<String>,
    pub version: String,
    /// Nothing where not even that can be decoded: then it may belong to anybody in its namespace.
    pub metadata: Option<ObjectMeta>,
    /// The kind, the field and what is wrong with it.
    pub why: String,
}

impl Undecodable {
    fn of<K: DeserializeOwned>(text: &str, error: &serde_json::Error) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let said = |name: &str| value["metadata"][name].as_str().map(str::to_owned);
        // Decoded again for the path of the field.
        let why =
            decode::from_value_ref::<K>(&value).err().map_or_else(|| error.to_string(), |error| error.to_string());
        Self {
            key: ObjectKey::new(said("namespace").unwrap_or_default(), said("name").unwrap_or_default()),
            uid: said("uid"),
            version: said("resourceVersion").unwrap_or_default(),
            metadata: ObjectMeta::deserialize(&value["metadata"]).ok(),
            why,
        }
    }

    /// Whether it is in the namespace, and what is known of it does not rule out that it is meant.
    pub fn may_be(&self, namespace: &str, is_meant: impl FnOnce(&ObjectMeta) -> bool) -> bool {
        self.key.namespace == namespace && self.metadata.as_ref().is_none_or(is_meant)
    }

    /// As decisions know it.
    pub fn unreadable(&self, what: &str) -> Unreadable {
        Unreadable { what: what.to_owned(), why: format!("{} cannot be decoded: {}", self.key, self.why) }
    }
}

/// Decodes an object.
pub(super) fn item<K: DeserializeOwned>(text: &str) -> Item<K> {
    serde_json::from_str(text).map_err(|error| Box::new(Undecodable::of::<K>(text, &error)))
}

/// The version of an object.
pub(super) fn item_version<K: Resource>(item: &Item<K>) -> &str {
    match item {
        Ok(object) => object.meta().resource_version.as_deref().unwrap_or_default(),
        Err(undecodable) => &undecodable.version,
    }
}

/// One page of a list.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

/// One page of a list, decoded.
pub(super) struct Listed<K> {
    pub items: Vec<Item<K>>,
    pub version: String,
    /// With what to ask for the next page, if there is one.
    pub token: Option<String>,
}

impl<K: DeserializeOwned> Listed<K> {
    pub fn of(text: &str) -> serde_json::Result<Self> {
        let Page { metadata, items } = serde_json::from_str(text)?;
        let items = items.into_iter().map(|object| item(object.get())).collect();
        let token = metadata.token.filter(|token| !token.is_empty());
        Ok(Self { items, version: metadata.resource_version, token })
    }
}

/// One line of a watch.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: LineKind,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum LineKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// One line of a watch, decoded.
pub(super) enum Told<K> {
    Object(Item<K>),
    Deleted(Item<K>),
    Bookmark { version: String, ends_initial: bool },
    Error(Box<kube::core::Status>),
}

#[derive(Deserialize)]
struct Mark {
    metadata: ObjectMeta,
}

/// By this a server says that everything there was has been told.
const INITIAL_END: &str = "k8s.io/initial-events-end";

impl<K: DeserializeOwned> Told<K> {
    pub fn of(text: &str) -> serde_json::Result<Self> {
        let Line { kind, object } = serde_json::from_str(text)?;
        Ok(match kind {
            LineKind::Added | LineKind::Modified => Self::Object(item(object.get())),
            LineKind::Deleted => Self::Deleted(item(object.get())),
            LineKind::Bookmark => {
                let Mark { metadata } = serde_json::from_str(object.get())?;
                let ends_initial = metadata.annotations.is_some_and(|own| own.contains_key(INITIAL_END));
                Self::Bookmark { version: metadata.resource_version.unwrap_or_default(), ends_initial }
            }
            LineKind::Error => Self::Error(serde_json::from_str(object.get())?),
        })
    }
}

#[cfg(test)]
mod tests {
    use refit_api::cluster::Machine;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_cannot_be_decoded_is_named_with_its_field_and_the_others_are_decoded() {
        let machine = |name: &str, cluster: Value| {
            json!({
                "metadata": { "name": name, "namespace": "default", "uid": name, "resourceVersion": "7" },
                "spec": {
                    "clusterName": cluster,
                    "bootstrap": { "dataSecretName": "data" },
                    "infrastructureRef": { "apiGroup": "infra.io", "kind": "Host", "name": name },
                },
            })
        };
        let list = json!({
            "metadata": { "resourceVersion": "9" },
            "items": [machine("a", json!("c")), machine("b", json!(5)), machine("c", json!("c"))],
        });
        let listed = Listed::<Machine>::of(&list.to_string()).expect("the list must be readable");
        assert_eq!((listed.version.as_str(), listed.items.len()), ("9", 3));
        assert!(listed.items[0].is_ok() && listed.items[2].is_ok());
        let undecodable = listed.items[1].as_ref().expect_err("it must not be decodable");
        assert_eq!(undecodable.key, ObjectKey::new("default", "b"));
        assert_eq!((undecodable.uid.as_deref(), undecodable.version.as_str()), (Some("b"), "7"));
        assert!(undecodable.why.contains("spec.clusterName"), "{}", undecodable.why);
    }

    #[test]
    fn lines_may_have_their_parts_in_any_order() {
        for text in [
            r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}"#,
            r#"{"object":{"metadata":{"resourceVersion":"5"}},"type":"BOOKMARK"}"#,
        ] {
            let told = Told::<Machine>::of(text).expect("it must be readable");
            assert!(matches!(told, Told::Bookmark { version, ends_initial: false } if version == "5"));
        }
    }
}
