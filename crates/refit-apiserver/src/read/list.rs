//! Lists, whole or in pages.

use std::num::{IntErrorKind, ParseIntError};

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::selector::Selector;
use super::view::Page;
use crate::body::{self, Encoding};
use crate::budget::Budget;
use crate::field_error::{FieldError, FieldErrors};
use crate::request::{Query, Verb};
use crate::status::Status;
use crate::store::{ListError, Record, Revision, Snapshot};
use crate::write::options;

/// How a list is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// 0: no limit.
    pub limit: usize,
    /// Where the page before ended.
    pub position: Option<Position>,
    /// The state of exactly this version.
    pub exact: Option<Revision>,
    /// A state that is at least as new.
    pub at_least: Option<Revision>,
}

/// Where a page ended: the name behind which the next begins, and the version that all pages show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    #[serde(rename = "v")]
    format: String,
    #[serde(rename = "rv")]
    pub revision: u64,
    pub namespace: String,
    pub name: String,
}

/// Tokens are read as the real server reads them: bits that are left over do not matter.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

const FORMAT: &str = "meta.k8s.io/v1";

impl ListOptions {
    pub fn parse(query: &Query) -> Result<Self, Status> {
        let token = query.get("continue").unwrap_or_default();
        let version = query.get("resourceVersion").unwrap_or_default();
        let matching = query.get("resourceVersionMatch").unwrap_or_default();
        let limit = integer(query, "limit")?.unwrap_or(0);
        integer(query, "timeoutSeconds")?;
        let mut errors = match_errors(version, matching, token);
        if query.get("sendInitialEvents").is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if !errors.is_empty() {
            return Err(options::invalid(Verb::List, &errors));
        }
        let limit = usize::try_from(limit).unwrap_or(0);
        let position = if token.is_empty() { None } else { Some(Position::decode(token)?) };
        let version = match (version, token) {
            ("" | "0", _) => None,
            (_, token) if !token.is_empty() => {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            (version, _) => {
                let parsed = parse_version(version);
                Some(parsed.map_err(|error| Status::bad_request(format!("invalid resource version: {error}")))?)
            }
        };
        let is_exact = matching == "Exact" || (matching.is_empty() && limit > 0);
        let (exact, at_least) = if is_exact { (version, None) } else { (None, version) };
        Ok(Self { limit, position, exact, at_least })
    }
}

/// A parameter that must be a whole number.
pub fn integer(query: &Query, name: &str) -> Result<Option<i64>, Status> {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let parsed = text.parse().map_err(|error: ParseIntError| {
        Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {}", go_reason(&error)))
    });
    parsed.map(Some)
}

/// A version of the store. `Err` says what is wrong with it.
pub fn parse_version(text: &str) -> Result<Revision, FieldError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let reason = match text.parse() {
        Ok(revision) if is_number => return Ok(Revision(revision)),
        Err(error) if is_number => go_reason(&error),
        _ => "invalid syntax",
    };
    let detail = format!("strconv.ParseUint: parsing {text:?}: {reason}");
    Err(FieldError::invalid("resourceVersion", text, detail))
}

fn go_reason(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

fn match_errors(version: &str, matching: &str, token: &str) -> FieldErrors {
    const FIELD: &str = "resourceVersionMatch";
    if matching.is_empty() {
        return FieldErrors::default();
    }
    let mut errors = FieldErrors::default();
    if version.is_empty() {
        let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        errors.push(FieldError::forbidden(FIELD, detail));
    }
    if !token.is_empty() {
        let detail = "resourceVersionMatch is forbidden when continue is provided";
        errors.push(FieldError::forbidden(FIELD, detail));
    }
    if !matches!(matching, "Exact" | "NotOlderThan") {
        errors.push(FieldError::not_supported(FIELD, matching, &["Exact", "NotOlderThan", ""]));
    }
    if matching == "Exact" && version == "0" {
        let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        errors.push(FieldError::forbidden(FIELD, detail));
    }
    errors
}

impl Position {
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(json!(self).to_string())
    }

    fn decode(token: &str) -> Result<Self, Status> {
        let invalid =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = LENIENT.decode(token).map_err(|_| invalid("illegal base64 data"))?;
        let value = body::parse(Encoding::Json, &bytes, &Budget::small()).map_err(|error| invalid(&error))?.value;
        let format = value["v"].as_str().unwrap_or_default().to_owned();
        let position = serde_json::from_value(value).ok().filter(|position: &Self| position.format == FORMAT);
        position.ok_or_else(|| invalid(&format!("server does not recognize this encoded version {format}")))
    }
}

/// One page of what a scope holds: the selected objects up to the limit, and how to go on.
pub fn page(snapshot: Snapshot, selector: &Selector, limit: usize) -> (Vec<Record>, Page) {
    let Snapshot { revision, records } = snapshot;
    let mut selected: Vec<Record> = Vec::new();
    let mut seen = 0;
    for record in &records {
        seen += 1;
        if selector.is_everything() || selector.matches(&record.value()) {
            selected.push(record.clone());
        }
        if limit > 0 && selected.len() == limit {
            break;
        }
    }
    let left = records.len() - seen;
    let last = selected.last().filter(|_| left > 0);
    let token = last.map(|record| {
        let key = record.key();
        let (namespace, name) = (key.namespace().to_owned(), key.name().to_owned());
        Position { format: FORMAT.to_owned(), revision: revision.0, namespace, name }.encode()
    });
    let remaining = (token.is_some() && selector.is_everything()).then_some(left);
    (selected, Page { token, remaining })
}

/// Why a list cannot be made, as clients are told.
pub fn refusal(error: ListError, asked: Revision, is_page: bool) -> Status {
    match error {
        ListError::TooOld { oldest } if is_page => Status::expired(format!(
            "The provided continue parameter is too old to display a consistent list result: version {asked} is gone, the oldest is {oldest}. Start a new list without the continue parameter"
        )),
        ListError::TooOld { oldest } => Status::expired(format!("too old resource version: {asked} ({oldest})")),
        ListError::TooNew { current } => too_new(asked, current),
    }
}

/// A version that is not there yet.
pub fn too_new(asked: Revision, current: Revision) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
    Status::new(StatusCode::GATEWAY_TIMEOUT, Some("Timeout"), message)
        .with("causes", cause)
        .with("retryAfterSeconds", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: Result<ListOptions, &str>) {
        let found = ListOptions::parse(&Query::parse(query)).map_err(|status| status.message);
        match expected {
            Ok(expected) => assert_eq!(found, Ok(expected), "{query}"),
            Err(part) => assert!(found.as_ref().is_err_and(|message| message.contains(part)), "{query}: {found:?}"),
        }
    }

    #[test]
    fn versions_are_exact_or_a_lower_bound() {
        let options = ListOptions::default();
        check("", Ok(options.clone()));
        check("resourceVersion=0&limit=-1", Ok(options.clone()));
        check("resourceVersion=7", Ok(ListOptions { at_least: Some(Revision(7)), ..options.clone() }));
        check("resourceVersion=7&limit=2", Ok(ListOptions { limit: 2, exact: Some(Revision(7)), ..options.clone() }));
        check("resourceVersion=7&resourceVersionMatch=Exact", Ok(ListOptions { exact: Some(Revision(7)), ..options }));
    }

    #[test]
    fn contradictions_are_refused() {
        check("resourceVersionMatch=Exact", Err("forbidden unless resourceVersion is provided"));
        check("resourceVersionMatch=x&resourceVersion=1", Err("Unsupported value: \"x\""));
        check("resourceVersion=abc", Err("invalid syntax"));
        check("continue=x", Err("continue key is not valid"));
        let token =
            Position { format: FORMAT.to_owned(), revision: 5, namespace: "n".to_owned(), name: "a".to_owned() };
        check(&format!("continue={}&resourceVersion=5", token.encode()), Err("not allowed when using continue"));
        assert_eq!(Position::decode(&token.encode()).ok(), Some(token));
    }
}
