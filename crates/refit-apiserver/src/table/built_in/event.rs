//! Events, in the form of the core group and in that of `events.k8s.io`.

use jiff::Timestamp;
use serde_json::Value;

use super::{NAME, Printer, Row, age, name, number, or, str, string, text};

pub static EVENTS: Printer = Printer {
    columns: &[
        text("Last Seen"),
        text("Type"),
        text("Reason"),
        text("Object"),
        text("Subobject").wide(),
        text("Source").wide(),
        text("Message"),
        text("First Seen").wide(),
        text("Count").wide(),
        NAME.wide(),
    ],
    row,
};

fn row(event: &Value, now: Timestamp) -> Row {
    let about = either(event, "involvedObject", "regarding");
    let first_seen = first_seen(event, now);
    Row::new([
        last_seen(event, &first_seen, now).into(),
        string(&event["type"]),
        string(&event["reason"]),
        target(about).into(),
        string(&about["fieldPath"]),
        source(event).into(),
        str(either(event, "message", "note")).trim().into(),
        first_seen.into(),
        times(event).into(),
        name(event),
    ])
}

/// A field by its name in one of the two forms.
fn either<'a>(event: &'a Value, core: &str, new: &str) -> &'a Value {
    event.get(core).unwrap_or(&event[new])
}

fn first_seen(event: &Value, now: Timestamp) -> String {
    match either(event, "firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => age::since(&event["eventTime"], now),
        time => age::since(time, now),
    }
}

fn last_seen(event: &Value, first_seen: &str, now: Timestamp) -> String {
    match either(event, "lastTimestamp", "deprecatedLastTimestamp") {
        _ if event["series"].is_object() => age::since(&event["series"]["lastObservedTime"], now),
        Value::Null => first_seen.to_owned(),
        time => age::since(time, now),
    }
}

/// How often it happened; once where nothing is said.
fn times(event: &Value) -> i64 {
    match number(either(event, "count", "deprecatedCount")) {
        _ if event["series"].is_object() => number(&event["series"]["count"]),
        0 => 1,
        count => count,
    }
}

fn target(about: &Value) -> String {
    let kind = str(&about["kind"]).to_lowercase();
    match str(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let component = or(&source["component"], str(either(event, "reportingComponent", "reportingController")));
    match or(&source["host"], str(&event["reportingInstance"])) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
