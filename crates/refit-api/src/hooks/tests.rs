//! The payloads on the wire.

mod decoding;
mod encoding;
mod properties;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Decodes a payload; an error is the path of the field that is wrong, and why.
fn decode<P: DeserializeOwned>(sent: &Value) -> Result<P, (String, String)> {
    serde_path_to_error::deserialize(sent).map_err(|error| (error.path().to_string(), error.inner().to_string()))
}
