//! Daemon sets and disruption budgets.

use jiff::Timestamp;
use serde_json::Value;

use super::{AGE, NAME, Printer, Row, created, labels, list, name, none_if_empty, number, of_type, str, text};

pub static DAEMON_SETS: Printer = Printer {
    columns: &[
        NAME,
        of_type("Desired", "integer"),
        of_type("Current", "integer"),
        of_type("Ready", "integer"),
        of_type("Up-to-date", "integer"),
        of_type("Available", "integer"),
        text("Node Selector"),
        AGE,
        text("Containers").wide(),
        text("Images").wide(),
        text("Selector").wide(),
    ],
    row: daemon_set,
};

pub static DISRUPTION_BUDGETS: Printer = Printer {
    columns: &[NAME, text("Min Available"), text("Max Unavailable"), of_type("Allowed Disruptions", "integer"), AGE],
    row: |budget, now| {
        Row::new([
            name(budget),
            int_or_string(&budget["spec"]["minAvailable"]),
            int_or_string(&budget["spec"]["maxUnavailable"]),
            number(&budget["status"]["disruptionsAllowed"]).into(),
            created(budget, now),
        ])
    },
};

fn daemon_set(set: &Value, now: Timestamp) -> Row {
    let (status, template) = (&set["status"], &set["spec"]["template"]["spec"]);
    Row::new([
        name(set),
        number(&status["desiredNumberScheduled"]).into(),
        number(&status["currentNumberScheduled"]).into(),
        number(&status["numberReady"]).into(),
        number(&status["updatedNumberScheduled"]).into(),
        number(&status["numberAvailable"]).into(),
        labels(&template["nodeSelector"]).into(),
        created(set, now),
        containers(template, "name").into(),
        containers(template, "image").into(),
        selector(&set["spec"]["selector"]).into(),
    ])
}

fn containers(template: &Value, field: &str) -> String {
    list(&template["containers"]).iter().map(|container| str(&container[field])).collect::<Vec<_>>().join(",")
}

fn int_or_string(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// A label selector as one line, sorted by key.
fn selector(selector: &Value) -> String {
    let exact = selector["matchLabels"].as_object().into_iter().flatten();
    let exact = exact.map(|(key, value)| (key.as_str(), format!("{key}={}", str(value))));
    let expressions = list(&selector["matchExpressions"]).iter();
    let mut all: Vec<(&str, String)> =
        exact.chain(expressions.map(|expression| (str(&expression["key"]), requirement(expression)))).collect();
    all.sort_by_key(|(key, _)| *key);
    none_if_empty(all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

fn requirement(expression: &Value) -> String {
    let key = str(&expression["key"]);
    let mut values: Vec<&str> = list(&expression["values"]).iter().map(str).collect();
    values.sort_unstable();
    match str(&expression["operator"]) {
        "In" => format!("{key} in ({})", values.join(",")),
        "NotIn" => format!("{key} notin ({})", values.join(",")),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    }
}
