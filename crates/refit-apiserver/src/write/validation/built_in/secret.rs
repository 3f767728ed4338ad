//! Secrets: what their types demand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{MAX_DATA_BYTES, decoded_bytes, immutable, key_errors, members};
use crate::body::{self, Encoding};
use crate::budget::Budget;
use crate::field_error::{FieldError, FieldErrors};

const ACCOUNT: &str = "kubernetes.io/service-account.name";
/// Messages do not repeat what is secret.
const REDACTED: &str = "<secret contents redacted>";

pub(super) fn errors(new: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = immutable(new, old, &["data"]);
    if old.is_some_and(|old| old["type"] != new["type"]) {
        errors.push(FieldError::invalid("type", &new["type"], "field is immutable"));
    }
    errors.extend(members(&new["data"]).flat_map(|(key, _)| key_errors("data", key)));
    if decoded_bytes(&new["data"]) > MAX_DATA_BYTES {
        errors.push(FieldError::too_long("data", MAX_DATA_BYTES as u64));
    }
    errors.merge(type_errors(new));
    errors
}

fn type_errors(secret: &Value) -> FieldErrors {
    let missing = |keys: &[&str]| -> FieldErrors {
        let missing = keys.iter().filter(|key| secret["data"].get(**key).is_none());
        missing.map(|key| FieldError::required(format!("data[{key}]"), "")).collect()
    };
    match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => missing(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => missing(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" if missing(&["username"]).len() + missing(&["password"]).len() == 2 => {
            missing(&["username", "password"])
        }
        "kubernetes.io/dockercfg" => docker(secret, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => docker(secret, ".dockerconfigjson"),
        "kubernetes.io/service-account-token" if secret["metadata"]["annotations"].get(ACCOUNT).is_none() => {
            FieldError::required(format!("metadata.annotations[{ACCOUNT}]"), "").into()
        }
        _ => FieldErrors::default(),
    }
}

/// The key must be there, and hold JSON.
fn docker(secret: &Value, key: &str) -> FieldErrors {
    let field = format!("data[{key}]");
    let Some(text) = secret["data"][key].as_str() else { return FieldError::required(field, "").into() };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let error = body::parse(Encoding::Json, &bytes, &Budget::small()).err();
    error.map(|error| FieldError::invalid(field, REDACTED, error)).into_iter().collect()
}
