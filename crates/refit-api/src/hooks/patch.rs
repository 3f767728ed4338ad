//! The claims of an extension: patches that turn "current" into what it can make of it.

mod operation;

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use operation::{JsonPointer, JsonPointerError, PatchOperation};

use super::null;
use super::open_enum::open_enum;
use crate::schema;

/// Base64 as Go reads it: the standard alphabet, padding required, unused bits of the last character ignored.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// What an extension can change of one object.
///
/// A patch is never written to the cluster. It is compared: what it makes of "current" is what the extension promises.
///
/// There is no empty patch; an object without a claim has no patch. The ones that are made here are well formed. One
/// that was decoded is what the peer sent: it can have an unknown type, or no document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "What an extension can change of one object. The patch is applied to a copy of `current` and \
    compared with `desired`; it is never written to the cluster. An object without a patch is not claimed."
)]
pub struct Patch {
    /// How the document is to be read.
    patch_type: PatchType,
    /// The document, in base64 with the standard alphabet and padding. Never empty: an empty list is `W10=`.
    #[serde(serialize_with = "encode_base64")]
    #[schemars(with = "schema::Bytes")]
    patch: Vec<u8>,
}

open_enum! {
    /// How the document of a patch is to be read.
    PatchType {
        /// A list of operations, RFC 6902.
        JsonPatch = "JSONPatch",
        /// An object to be merged, RFC 7386.
        JsonMergePatch = "JSONMergePatch",
    }
}

impl Patch {
    /// A patch of operations, applied in order. An empty list is a claim of nothing, and well formed.
    pub fn json(operations: &[PatchOperation]) -> Self {
        let operations: Value = operations.iter().map(PatchOperation::to_value).collect();
        Self { patch_type: PatchType::JsonPatch, patch: operations.to_string().into_bytes() }
    }

    /// A patch that is merged into the object: `null` removes a field, a list replaces the whole list.
    pub fn merge(changes: &serde_json::Map<String, Value>) -> Self {
        let changes = Value::from(changes.clone());
        Self { patch_type: PatchType::JsonMergePatch, patch: changes.to_string().into_bytes() }
    }

    pub fn patch_type(&self) -> &PatchType {
        &self.patch_type
    }

    /// The document: JSON, if the peer sent JSON.
    pub fn document(&self) -> &[u8] {
        &self.patch
    }

    /// Reads a field that may be absent, `null` or `{}`: all of them claim nothing.
    pub(super) fn deserialize_defined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let sent: SentPatch = null::as_object(deserializer)?;
        let is_defined = !sent.patch_type.as_str().is_empty() || !sent.patch.is_empty();
        Ok(is_defined.then_some(Self { patch_type: sent.patch_type, patch: sent.patch }))
    }
}

/// A patch as peers can send it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentPatch {
    #[serde(deserialize_with = "null::as_default")]
    patch_type: PatchType,
    #[serde(deserialize_with = "decode_base64")]
    patch: Vec<u8>,
}

fn encode_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64.encode(bytes))
}

/// Line breaks between the characters are skipped, as Go does: some encoders wrap their lines.
fn decode_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text: String = null::as_default(deserializer)?;
    let text = text.replace(['\r', '\n'], "");
    BASE64.decode(text).map_err(|error| serde::de::Error::custom(format!("invalid standard base64: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "Patch::deserialize_defined")]
        patch: Option<Patch>,
    }

    fn decode(patch: Value) -> Result<Option<Patch>, String> {
        let holder = json!({ "patch": patch });
        let decoded: Result<Holder, _> = serde_path_to_error::deserialize(&holder);
        decoded.map(|holder| holder.patch).map_err(|error| error.path().to_string())
    }

    #[test]
    fn the_document_is_padded_standard_base64() {
        let path = JsonPointer::new(["spec", "version"]);
        let patch = Patch::json(&[PatchOperation::Replace { path, value: json!("v1.34.1") }]);
        let encoded = json!({
            "patchType": "JSONPatch",
            "patch": "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3ZlcnNpb24iLCJ2YWx1ZSI6InYxLjM0LjEifV0=",
        });
        assert_eq!(serde_json::to_value(&patch).expect("a patch must encode"), encoded);
        assert_eq!(decode(encoded), Ok(Some(patch)));
    }

    #[test]
    fn a_made_patch_always_has_a_document() {
        assert_eq!(Patch::json(&[]).document(), b"[]");
        assert_eq!(Patch::merge(&serde_json::Map::new()).document(), b"{}");
    }

    #[test]
    fn a_document_that_is_no_standard_base64_is_an_error_at_its_field() {
        // `-_-_` is URL-safe for the bytes of `+/+/`; `W10` lacks its padding.
        for wrong in [json!("-_-_"), json!("W10"), json!("W10==="), json!("W 10="), json!("[]"), json!("=W10")] {
            assert_eq!(decode(json!({ "patchType": "JSONPatch", "patch": wrong })), Err("patch.patch".to_owned()));
        }
        for raw in [json!([]), json!([{ "op": "remove", "path": "/spec" }]), json!({ "spec": {} }), json!(5)] {
            assert_eq!(decode(json!({ "patchType": "JSONPatch", "patch": raw })), Err("patch.patch".to_owned()));
        }
    }

    #[test]
    fn base64_that_go_reads_is_read() {
        let bytes = |patch: Value| decode(json!({ "patch": patch })).map(|patch| patch.map(|patch| patch.patch));
        assert_eq!(bytes(json!("+/+/")), Ok(Some(vec![0xfb, 0xff, 0xbf])));
        assert_eq!(bytes(json!("W1\r\n0=\n")), Ok(Some(b"[]".to_vec())));
        assert_eq!(bytes(json!("W11=")), Ok(Some(b"[]".to_vec())));
    }

    #[test]
    fn an_undefined_patch_is_no_claim() {
        for undefined in [json!(null), json!({}), json!({ "patchType": "", "patch": "" }), json!({ "patch": null })] {
            assert_eq!(decode(undefined), Ok(None));
        }
    }

    #[test]
    fn what_a_peer_should_not_send_is_kept_for_the_caller() {
        let check = |sent: Value, patch_type: &str, document: &[u8]| {
            let patch = decode(sent).expect("the patch must decode").expect("the patch must be defined");
            assert_eq!((patch.patch_type().as_str(), patch.document()), (patch_type, document));
        };
        check(json!({ "patchType": "JSONPatch" }), "JSONPatch", b"");
        check(json!({ "patch": "W10=" }), "", b"[]");
        check(json!({ "patchType": "jsonpatch", "patch": "W10=" }), "jsonpatch", b"[]");
    }
}
