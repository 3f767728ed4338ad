//! Formats of strings.
//!
//! The real server knows a few more (credit cards, colours, book numbers); those are accepted unchecked here.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::field_error::{ErrorKind, FieldError};
use crate::schema::{Kind, Schema, pattern};

/// The error of a string that is not in its format.
pub(super) fn check(schema: &Schema, text: &str, field: &str, path: &str) -> Option<FieldError> {
    if !matches!(schema.kind, None | Some(Kind::String)) || schema.int_or_string {
        return None;
    }
    let format = schema.format.as_deref()?;
    if follows(format, text) {
        return None;
    }
    let detail = format!("{path} in body must be of type {format}: {text:?}");
    Some(FieldError::new(ErrorKind::TypeInvalid, field, Some(text.into()), detail))
}

fn follows(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => is_date_time(text),
        "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        "byte" => STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uuid" => pattern::matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text),
        "mac" => pattern::matches("^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$", text),
        "hostname" => pattern::matches(HOST, text) && text.len() <= 255,
        "email" => pattern::matches(r"^[^@\s]+@[^@\s]+$", text),
        "uri" => pattern::matches("^([a-zA-Z][a-zA-Z0-9+.-]*:|/)", text),
        "duration" => pattern::matches(DURATION, text),
        _ => true,
    }
}

const HOST: &str = r"^([a-zA-Z0-9_]|[a-zA-Z0-9_][a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])(\.([a-zA-Z0-9_]|[a-zA-Z0-9_][a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_]))*\.?$";
const DURATION: &str =
    r"^[-+]?(0|([0-9]*(\.[0-9]*)?\s?(ns|us|µs|μs|ms|s|m|h|d|w|hours?|minutes?|seconds?|days?|weeks?))+)$";

fn is_date_time(text: &str) -> bool {
    const SHAPE: &str =
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})$";
    pattern::matches(SHAPE, text) && text.to_uppercase().parse::<jiff::Timestamp>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(length) = length.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && length <= 32) || (address.parse::<Ipv6Addr>().is_ok() && length <= 128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_follow_their_formats_or_do_not() {
        let cases = [
            ("date-time", "2026-11-16T02:00:00Z", "2026-11-16"),
            ("date-time", "2026-11-16T02:00:00.5+01:00", "2026-13-16T02:00:00Z"),
            ("date", "2026-02-28", "2026-02-30"),
            ("byte", "aGk=", "aGk"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("uuid", "00000000-0000-0000-0000-000000000000", "0"),
            ("duration", "1h30m", "soon"),
            ("hostname", "a.example", "a..b"),
        ];
        for (format, good, bad) in cases {
            assert!(follows(format, good), "{format} {good}");
            assert!(!follows(format, bad), "{format} {bad}");
        }
        assert!(follows("password", "anything") && follows("creditcard", "anything"));
    }
}
