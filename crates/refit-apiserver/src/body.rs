//! Bodies of requests: JSON, YAML or Protobuf to one value, with the fields that were written twice.

mod protobuf;
mod strict;

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use crate::budget::{self, Budget};
use crate::request::Request;
use crate::status::Status;

pub use strict::Parsed;

/// The media types that clients send objects in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Yaml,
    /// Of built-in kinds only, and only in requests.
    Protobuf,
}

/// The media type of a request without its parameters, in lower case; empty where there is none.
pub fn media_type(request: &Request) -> String {
    let header = request.header(CONTENT_TYPE).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// How the body of a create or an update is written. JSON where nothing is said.
pub fn encoding(request: &Request) -> Result<Encoding, Status> {
    match media_type(request).as_str() {
        "" | "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        protobuf::MEDIA_TYPE => Ok(Encoding::Protobuf),
        _ => {
            let detail = "the body of the request was in an unknown format - accepted media types include";
            let message = format!("{detail}: application/json, application/yaml, application/vnd.kubernetes.protobuf");
            Err(unsupported_media_type(message))
        }
    }
}

/// The refusal of a media type.
pub fn unsupported_media_type(message: impl Into<String>) -> Status {
    Status::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Some("UnsupportedMediaType"), message)
}

/// Reads a value. `Err` says what is wrong with the text.
pub fn parse(encoding: Encoding, body: &[u8], budget: &Budget) -> Result<Parsed, String> {
    match encoding {
        Encoding::Json => strict::json(body, budget),
        Encoding::Yaml => match strict::json(body, budget) {
            // Most clients write JSON, which is YAML, too.
            Ok(parsed) if parsed.duplicates.is_empty() => Ok(parsed),
            Err(error) if budget.refusal().is_err() => Err(error),
            Ok(_) | Err(_) => within(yaml(body)?, budget),
        },
        Encoding::Protobuf => {
            let value = protobuf::parse(body)?;
            within(Parsed { value, duplicates: Vec::new(), repeated: Vec::new() }, budget)
        }
    }
}

/// Charges for a value that a parser with bounds of its own has made.
fn within(parsed: Parsed, budget: &Budget) -> Result<Parsed, String> {
    let charged = budget::check(&parsed.value, budget);
    charged.map(|_| parsed).map_err(|exceeded| format!("the object is too large: {exceeded}"))
}

/// The last of two fields of the same name counts.
fn yaml(body: &[u8]) -> Result<Parsed, String> {
    let text = std::str::from_utf8(body).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    let parsed: Result<Value, _> =
        serde_saphyr::from_str_with_options(text, serde_saphyr::options! { budget: yaml_budget() });
    let error = match parsed {
        Ok(value) => return Ok(Parsed { value, duplicates: Vec::new(), repeated: Vec::new() }),
        Err(error) => said(&error.to_string()),
    };
    let first = error.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let Some(repeated) = repetition(first) else { return Err(format!("yaml: {first}")) };
    let lenient = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        budget: yaml_budget(),
    };
    let value = serde_saphyr::from_str_with_options(text, lenient).map_err(|_| format!("yaml: {first}"))?;
    Ok(Parsed { value, duplicates: Vec::new(), repeated: vec![repeated] })
}

/// The parser's own bounds, with ours for how deep a value may nest.
fn yaml_budget() -> Option<serde_saphyr::Budget> {
    serde_saphyr::budget! { max_depth: budget::MAX_YAML_DEPTH }
}

/// An error in words. The parser names its bounds as its code does.
fn said(error: &str) -> String {
    let Some((_, breach)) = error.split_once("budget breached: ") else { return error.to_owned() };
    match breach.starts_with("Depth") {
        true => format!("exceeded max depth of {}", budget::MAX_YAML_DEPTH),
        false => "the document has too many nodes, aliases or anchors to be read; send it as JSON".to_owned(),
    }
}

/// The sentence about a field that is there twice, from the parser's: `line 5 column 3: duplicate mapping key: size, …`.
fn repetition(error: &str) -> Option<String> {
    let (place, rest) = error.split_once(": duplicate mapping key: ")?;
    let (line, _) = place.split_once(" column ")?;
    let (key, _) = rest.rsplit_once(", set ").unwrap_or((rest, ""));
    Some(format!("{line}: key {key:?} already set in map"))
}
