//! Events, which two groups serve under different field names. They are stored as core events.

use serde_json::{Value, json};

use super::Resource;

/// The fields of `events.k8s.io` beside those of the core group; the rest is called the same.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// The group whose events are stored as core events.
const GROUP: &str = "events.k8s.io";

/// Whether objects of the resource are stored as those of another.
pub fn is_converted(resource: &Resource) -> bool {
    resource.is(GROUP, "events")
}

/// From the form of `events.k8s.io` to what is stored.
pub fn to_core(mut event: Value) -> Value {
    rename(&mut event, NAMES.iter().copied());
    event["apiVersion"] = "v1".into();
    fill_in_zeros(&mut event);
    event
}

/// Fields that Go writes even where nobody set them. `kubectl get events --sort-by=.lastTimestamp` needs them.
pub fn fill_in_zeros(core: &mut Value) {
    let Some(fields) = core.as_object_mut() else { return };
    for name in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        fields.entry(name).or_insert(Value::Null);
    }
    for name in ["involvedObject", "source"] {
        fields.entry(name).or_insert_with(|| json!({}));
    }
    for name in ["reportingComponent", "reportingInstance"] {
        fields.entry(name).or_insert_with(|| "".into());
    }
}

/// From what is stored to the form of `events.k8s.io`.
pub fn from_core(mut event: Value) -> Value {
    fill_in_zeros(&mut event);
    rename(&mut event, NAMES.iter().map(|(new, core)| (*core, *new)));
    event["apiVersion"] = "events.k8s.io/v1".into();
    if let Some(fields) = event.as_object_mut() {
        // This form leaves them out where they are empty.
        fields.retain(|name, value| !(name.starts_with("reporting") && value == ""));
    }
    event
}

/// The stored name of a field that a selector asks for.
pub fn stored_field(field: &str) -> String {
    let (first, rest) = field.split_once('.').map_or((field, None), |(first, rest)| (first, Some(rest)));
    let core = NAMES.iter().find(|(new, _)| *new == first).map_or(first, |(_, core)| core);
    rest.map_or_else(|| core.to_owned(), |rest| format!("{core}.{rest}"))
}

fn rename<'a>(event: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(fields) = event.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_same_in_both_groups() {
        let new = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "reason": "r", "note": "n",
            "regarding": {"kind": "Pod"}, "reportingController": "c", "deprecatedCount": 2,
            "eventTime": null, "deprecatedSource": {}, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        });
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "reason": "r", "message": "n",
            "involvedObject": {"kind": "Pod"}, "reportingComponent": "c", "reportingInstance": "", "count": 2,
            "eventTime": null, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
        });
        assert_eq!(to_core(new.clone()), core);
        assert_eq!(from_core(core), new);
        assert_eq!(stored_field("regarding.kind"), "involvedObject.kind");
        assert_eq!(stored_field("reason"), "reason");
    }
}
