//! Answers in a form in which two servers can be compared: versions, uids and times become relations.

use std::collections::BTreeSet;

use http::header::{CONTENT_TYPE, RETRY_AFTER, WARNING};
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::ends::Raw;

/// What an end has made up in a case, in the order in which it was first said.
#[derive(Debug, Default)]
pub struct Dictionary {
    uids: Vec<String>,
    versions: Vec<String>,
}

const TIMES: [&str; 5] = ["creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime", "eventTime"];

/// Shorter ones are the clients' own inventions, and could be part of any message.
const UID_LENGTH: usize = 36;

impl Dictionary {
    /// The answer with everything that must be equal on both ends.
    pub fn translate(&mut self, ask: &Ask, raw: &Raw) -> Value {
        let text = without_suffixes(&String::from_utf8_lossy(&ask.body), &String::from_utf8_lossy(&raw.body));
        let mut bodies: Vec<Value> = Vec::new();
        for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            match value {
                Ok(value) => bodies.push(value),
                Err(_) => bodies = vec![text.clone().into()],
            }
        }
        // When bookmarks come is each server's own affair, save for the one that ends the initial events.
        bodies.retain(|body| body["type"] != "BOOKMARK" || body["object"]["metadata"].get("annotations").is_some());
        bodies.iter_mut().for_each(|body| self.value(body));
        bodies.iter_mut().for_each(|body| self.status(body));
        let header = |name| raw.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut warnings: Vec<&str> =
            raw.headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok()).collect();
        warnings.sort_unstable();
        json!({
            "code": raw.code,
            "content type": header(CONTENT_TYPE),
            "is indented": text.contains("\n  "),
            "retry after": header(RETRY_AFTER),
            "warnings": warnings,
            "body": bodies,
        })
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => self.object(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>) {
        let is_list = members.get("items").is_some_and(Value::is_array);
        let is_bookmark = members.get("type").is_some_and(|kind| kind == "BOOKMARK");
        if let Some(metadata) = members.get_mut("metadata").filter(|_| is_list) {
            list_metadata(metadata);
        }
        if let Some(object) = members.get_mut("object").filter(|_| is_bookmark) {
            list_metadata(&mut object["metadata"]);
        }
        for (name, value) in members {
            match (name.as_str(), &mut *value) {
                ("uid", Value::String(uid)) => *value = place(&mut self.uids, uid, "uid").into(),
                ("resourceVersion", Value::String(version)) if version.parse::<u64>().is_ok() => {
                    *value = place(&mut self.versions, version, "version").into();
                }
                ("managedFields", Value::Array(entries)) => {
                    entries.iter_mut().for_each(|entry| self.value(entry));
                    entries.sort_by_key(|entry| {
                        ["operation", "manager", "subresource", "apiVersion"].map(|name| entry[name].to_string())
                    });
                }
                (name, Value::String(_)) if TIMES.contains(&name) => *value = "a time".into(),
                _ => self.value(value),
            }
        }
    }

    /// A cause that quotes an object in its message, with the object as any other: members sorted, versions numbered.
    fn quote(&mut self, cause: &mut Value) {
        const BEFORE: &str = "Invalid value: ";
        if cause["field"] != "patch" {
            return;
        }
        let text = cause["message"].as_str().unwrap_or_default().strip_prefix(BEFORE).unwrap_or_default().to_owned();
        let mut parts = serde_json::Deserializer::from_str(&text).into_iter::<String>();
        let Some(Ok(quoted)) = parts.next() else { return };
        let rest = text[parts.byte_offset()..].to_owned();
        if let Ok(mut object) = serde_json::from_str(&quoted) {
            self.value(&mut object);
            cause["message"] = format!("{BEFORE}{object}{rest}").into();
        }
    }

    /// Makes a Status comparable: Go lists several errors in any order.
    fn status(&mut self, body: &mut Value) {
        if body["type"] == "ERROR" {
            return self.status(&mut body["object"]);
        }
        if body["kind"] != "Status" {
            return;
        }
        let mut message = body["message"].as_str().unwrap_or_default().to_owned();
        if let Some(causes) = body["details"]["causes"].as_array_mut() {
            let said = |cause: &Value| {
                let text = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", text("field"), text("message"))
            };
            let mut parts: Vec<String> = causes.iter().map(said).collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
            message = parts.iter().fold(message, |message, part| message.replace(part.as_str(), "…"));
            causes.iter_mut().for_each(|cause| self.quote(cause));
            causes.sort_by_key(ToString::to_string);
        }
        let mut lines: Vec<&str> = message.lines().collect();
        let first = 1.min(lines.len());
        lines[first..].sort_unstable();
        body["message"] = self.without_numbers(&lines.join("\n")).into();
        if let Some(causes) = body["details"]["causes"].as_array_mut() {
            for cause in causes {
                if let Some(text) = cause["message"].as_str() {
                    cause["message"] = self.without_numbers(text).into();
                }
            }
        }
    }

    /// A message without the versions and uids in it.
    fn without_numbers(&self, message: &str) -> String {
        let text = self
            .uids
            .iter()
            .filter(|uid| uid.len() == UID_LENGTH)
            .fold(message.to_owned(), |text, uid| text.replace(uid.as_str(), "UID"));
        let speaks_of_versions = ["resource version", "ResourceVersion", "recondition", ", current: "];
        if !speaks_of_versions.iter().any(|part| text.contains(part)) {
            return text;
        }
        let mut out = String::new();
        for character in text.chars() {
            match character {
                '0'..='9' if out.ends_with('N') => {}
                '0'..='9' => out.push('N'),
                other => out.push(other),
            }
        }
        out
    }
}

/// An answer in which generated names have no random end.
fn without_suffixes(request: &str, answer: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(request) else { return answer.to_owned() };
    let prefix = body["metadata"]["generateName"].as_str().unwrap_or_default();
    if prefix.is_empty() {
        return answer.to_owned();
    }
    let prefix = &prefix[..prefix.len().min(58)];
    let mut parts = answer.split(prefix);
    let first = parts.next().unwrap_or_default().to_owned();
    let is_random =
        |text: &str| text.len() == 5 && text.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
    parts.fold(first, |text, part| match part.get(..5) {
        Some(suffix) if is_random(suffix) => format!("{text}{prefix}?????{}", &part[5..]),
        _ => format!("{text}{prefix}{part}"),
    })
}

fn list_metadata(metadata: &mut Value) {
    for name in ["resourceVersion", "continue"] {
        if metadata.get(name).is_some_and(|value| value != "") {
            metadata[name] = "some".into();
        }
    }
}

fn place(known: &mut Vec<String>, value: &str, what: &str) -> String {
    let position = known.iter().position(|other| other == value).unwrap_or_else(|| {
        known.push(value.to_owned());
        known.len() - 1
    });
    format!("{what} {position}")
}

/// The paths at which two values differ, with both sides.
pub fn differences(path: &str, embedded: &Value, real: &Value, found: &mut Vec<String>) {
    match (embedded, real) {
        (Value::Object(left), Value::Object(right)) => {
            for name in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                let (left, right) = (left.get(name), right.get(name));
                match (left, right) {
                    (Some(left), Some(right)) => differences(&format!("{path}.{name}"), left, right, found),
                    _ => found.push(format!("{path}.{name}: embedded {} real {}", shown(left), shown(right))),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{index}]"), left, right, found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(format!("{path}:\n      embedded {left}\n      real     {right}")),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}
