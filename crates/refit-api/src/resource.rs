//! What makes a Rust type a Kubernetes resource: its root object and what its CRD says beside the schema.

use kube::Resource;
use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

/// A kind that has a CRD: the Rust type of its objects, and the facts of the CRD that are not in the schema.
pub trait CustomKind: Resource<DynamicType = ()> + Clone + serde::Serialize + DeserializeOwned + 'static {
    const DEFINITION: Definition;

    /// The schema of a whole object: `spec`, and `status` where the kind has one. Not yet structural; see [`crate::crd`].
    fn object_schema(generator: &mut SchemaGenerator) -> Schema;
}

/// What a CRD says about its kind beside the schema.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    pub kind: &'static str,
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub scope: Scope,
    /// Whether writes to `status` go through their own subresource.
    pub has_status: bool,
    /// Whether `kubectl scale` works: `.spec.replicas`, `.status.replicas` and `.status.selector` are there.
    pub has_scale: bool,
    /// The columns of `kubectl get`, in order.
    pub columns: &'static [Column],
}

impl Definition {
    /// What most kinds have in common; `kind` and `scope` are filled in by the macro `resource!`.
    pub const BASE: Self = Self {
        kind: "",
        group: "",
        version: "",
        plural: "",
        short_names: &[],
        scope: Scope::Namespaced,
        has_status: true,
        has_scale: false,
        columns: &[],
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// The JSON path to the status of a condition.
#[macro_export]
macro_rules! condition {
    ($type:literal) => {
        concat!(".status.conditions[?(@.type==\"", $type, "\")].status")
    };
}
pub use condition;

/// One column of `kubectl get`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub type_: &'static str,
    pub json_path: &'static str,
    /// Above zero: shown with `-o wide` only.
    pub priority: i32,
    pub description: &'static str,
}

impl Column {
    pub const fn string(name: &'static str, json_path: &'static str, description: &'static str) -> Self {
        Self { name, type_: "string", json_path, priority: 0, description }
    }

    pub const fn integer(name: &'static str, json_path: &'static str, description: &'static str) -> Self {
        Self { type_: "integer", ..Self::string(name, json_path, description) }
    }

    pub const fn boolean(name: &'static str, json_path: &'static str, description: &'static str) -> Self {
        Self { type_: "boolean", ..Self::string(name, json_path, description) }
    }

    /// Shown with `-o wide` only.
    pub const fn wide(self) -> Self {
        Self { priority: 10, ..self }
    }

    /// The column that all kinds have: when the object was created.
    pub const fn age() -> Self {
        Self { type_: "date", ..Self::string("Age", ".metadata.creationTimestamp", "Time since creation") }
    }

    /// The Cluster of a kind that names it in a label only.
    pub const fn cluster_label() -> Self {
        let json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']";
        Self::string("Cluster", json_path, "The Cluster it belongs to")
    }

    /// The column that every kind that can be paused has.
    pub const fn paused() -> Self {
        Self::string("Paused", condition!("Paused"), "Whether reconciliation is paused").wide()
    }
}

/// True for the value that a missing field decodes to. Such a field is left out again: upstream's CRDs refuse `{}`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Defines the root object of a kind: `metadata`, the given parts, and the traits that make it a resource.
///
/// `apiVersion` and `kind` are not fields. They are written on encoding; on decoding they may be absent, and are
/// refused when they name something else. A `required` part must be there on decoding; an `optional` one is
/// its default when absent, and is left out when it is its default.
///
/// A crate that uses it depends on `kube`, `schemars`, `serde` and `serde_json`.
#[macro_export]
macro_rules! resource {
    (
        $(#[doc = $doc:literal])+
        $Kind:ident in $Scope:ident {
            $(required { $required:ident: $Required:ty })?
            $(optional { $($optional:ident: $Optional:ty),+ })?
        }
        $definition:expr
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $Kind {
            pub metadata: kube::core::ObjectMeta,
            $(pub $required: $Required,)?
            $($(pub $optional: $Optional,)+)?
        }

        const _: () = {
            use $crate::resource::{CustomKind, Scope, is_default};

            impl CustomKind for $Kind {
                const DEFINITION: $crate::resource::Definition = {
                    let definition = $definition;
                    $crate::resource::Definition { kind: stringify!($Kind), scope: Scope::$Scope, ..definition }
                };

                fn object_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    let mut properties = serde_json::Map::new();
                    let required: [&str; _] = [$(stringify!($required))?];
                    $(
                        properties.insert(
                            stringify!($required).to_owned(),
                            generator.subschema_for::<$Required>().to_value(),
                        );
                    )?
                    $($(
                        properties.insert(
                            stringify!($optional).to_owned(),
                            generator.subschema_for::<$Optional>().to_value(),
                        );
                    )+)?
                    schemars::json_schema!({
                        "type": "object",
                        "description": concat!($($doc, "\n"),+).trim(),
                        "properties": properties,
                        "required": required,
                    })
                }
            }

            impl kube::Resource for $Kind {
                type DynamicType = ();
                type Scope = $crate::resource::scope::$Scope;

                fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                    Self::DEFINITION.kind.into()
                }

                fn group(_: &()) -> std::borrow::Cow<'_, str> {
                    Self::DEFINITION.group.into()
                }

                fn version(_: &()) -> std::borrow::Cow<'_, str> {
                    Self::DEFINITION.version.into()
                }

                fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                    Self::DEFINITION.plural.into()
                }

                fn meta(&self) -> &kube::core::ObjectMeta {
                    &self.metadata
                }

                fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                    &mut self.metadata
                }
            }

            impl serde::Serialize for $Kind {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    #[derive(serde::Serialize)]
                    #[serde(rename_all = "camelCase")]
                    struct Object<'a> {
                        api_version: std::borrow::Cow<'a, str>,
                        kind: &'a str,
                        metadata: &'a kube::core::ObjectMeta,
                        $($required: &'a $Required,)?
                        $($(
                            #[serde(skip_serializing_if = "Option::is_none")]
                            $optional: Option<&'a $Optional>,
                        )+)?
                    }

                    Object {
                        api_version: <Self as kube::Resource>::api_version(&()),
                        kind: Self::DEFINITION.kind,
                        metadata: &self.metadata,
                        $($required: &self.$required,)?
                        $($($optional: Some(&self.$optional).filter(|part| !is_default(*part)),)+)?
                    }
                    .serialize(serializer)
                }
            }

            impl<'de> serde::Deserialize<'de> for $Kind {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    #[derive(serde::Deserialize)]
                    #[serde(rename_all = "camelCase")]
                    struct Object {
                        api_version: Option<String>,
                        kind: Option<String>,
                        #[serde(default)]
                        metadata: kube::core::ObjectMeta,
                        $($required: $Required,)?
                        $($(
                            #[serde(default)]
                            $optional: $Optional,
                        )+)?
                    }

                    let object = Object::deserialize(deserializer)?;
                    $crate::resource::expect_type::<$Kind>(object.api_version, object.kind)
                        .map_err(serde::de::Error::custom)?;
                    Ok(Self {
                        metadata: object.metadata,
                        $($required: object.$required,)?
                        $($($optional: object.$optional,)+)?
                    })
                }
            }
        };
    };
}
pub use resource;

/// The scopes of [`kube::Resource`] under the names that the macro `resource!` uses.
#[doc(hidden)]
pub mod scope {
    pub use kube::core::{ClusterResourceScope as Cluster, NamespaceResourceScope as Namespaced};
}

/// Refuses an object of another kind. An absent `apiVersion` or `kind` is fine: Go leaves them out of nested objects.
#[doc(hidden)]
pub fn expect_type<K: CustomKind>(api_version: Option<String>, kind: Option<String>) -> Result<(), String> {
    let expected = (K::api_version(&()), K::DEFINITION.kind);
    let found = (api_version.filter(|v| !v.is_empty()), kind.filter(|k| !k.is_empty()));
    let differs =
        found.0.as_ref().is_some_and(|v| *v != expected.0) || found.1.as_ref().is_some_and(|k| k != expected.1);
    if !differs {
        return Ok(());
    }
    let or_none = |part: Option<String>| part.unwrap_or_else(|| "(none)".to_owned());
    Err(format!(
        "expected kind {} of {}, found kind {} of {}",
        expected.1,
        expected.0,
        or_none(found.1),
        or_none(found.0)
    ))
}
