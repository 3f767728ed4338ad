//! Sets of strings that are closed when we write and open when we read.

/// Defines an enum of known strings with one variant more, for whatever else a peer sends.
///
/// The schema lists the known ones only.
macro_rules! open_enum {
    ($(#[$doc:meta])* $Name:ident { $($(#[$variant_doc:meta])* $Variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Name {
            $($(#[$variant_doc])* $Variant,)+
            /// Anything else that a peer sent, the empty string included.
            Unknown(String),
        }

        impl $Name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$Variant => $text,)+
                    Self::Unknown(text) => text,
                }
            }
        }

        /// What an absent field means: the empty string.
        impl Default for $Name {
            fn default() -> Self {
                Self::Unknown(String::new())
            }
        }

        impl From<String> for $Name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$Variant,)+
                    _ => Self::Unknown(text),
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }

        impl schemars::JsonSchema for $Name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($text),+] })
            }
        }
    };
}
pub(super) use open_enum;
