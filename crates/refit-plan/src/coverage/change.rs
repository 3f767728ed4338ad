//! Changed fields as people read them: a path, and a value where it is short and no secret.

use refit_api::admission::FieldPath;
use refit_api::hooks::CanonicalName;
use refit_api::rollout::{self, ChangedObject};
use serde_json::Value;

use super::difference::{Difference, Segment};

/// How many changes are listed; the rest is counted. As many as a MachineRollout has room for.
pub const MAX_CHANGES: usize = 512;

/// A value is shown if its text is shorter than this many characters. Versions and sizes are; contents are not.
const SHORT: usize = 64;

/// The longest path that is shown, in characters. As long as a MachineRollout has room for.
const MAX_PATH: usize = 1024;

/// What the value of a field is never shown beneath, wherever it stands: names of fields that can hold a secret.
///
/// Objects are any provider's, so names are all there is to go by. Hiding too much costs a reader a look at the object.
/// Commands and environment variables are here because people put tokens into them.
const SECRET_FIELDS: [&str; 12] = [
    "additionalconfig",
    "args",
    "bootcommands",
    "cabundle",
    "content",
    "data",
    "discovery",
    "env",
    "extraenvs",
    "postkubeadmcommands",
    "prekubeadmcommands",
    "users",
];

/// The same for names that have one of these words in them, as `tlsBootstrapToken` and `certificateAuthorityData` do.
const SECRET_WORDS: [&str; 14] = [
    "apikey",
    "authoritydata",
    "certificatedata",
    "credential",
    "customdata",
    "keydata",
    "kubeconfig",
    "passphrase",
    "passw",
    "privatekey",
    "secret",
    "sshkey",
    "token",
    "userdata",
];

/// A field that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// Which of a machine's objects it is in.
    pub object: ChangedObject,
    /// The path of the field in that object.
    pub path: FieldPath,
    /// What it was.
    pub before: FieldValue,
    /// What it is to become.
    pub after: FieldValue,
}

/// A value of a field, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// The field is not there.
    Absent,
    /// The field is there. Its value is long, has parts, or may be a secret.
    Hidden,
    /// The field is there, with this value.
    Text(String),
}

/// The changes of the objects of a machine, in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The first [`MAX_CHANGES`] of them.
    pub listed: Vec<FieldChange>,
    /// How many there are beside those.
    pub more: usize,
}

impl FieldChange {
    /// A change of a field at the end of `base` and then of the path of the difference.
    pub(super) fn new(object: ChangedObject, base: &[&str], difference: &Difference<'_>) -> Self {
        let base = base.iter().copied().map(Segment::Key);
        let path: Vec<Segment<'_>> = base.chain(difference.path.iter().copied()).collect();
        let is_secret = path.iter().any(may_hold_secret);
        let value = |value: Option<&Value>| FieldValue::of(value, is_secret);
        Self { object, path: render(&path), before: value(difference.before), after: value(difference.after) }
    }

    /// The change as a MachineRollout lists it, with the extension that covers it.
    pub fn to_status(&self, covered_by: Option<&CanonicalName>) -> rollout::FieldChange {
        rollout::FieldChange {
            object: self.object,
            path: self.path.to_string(),
            from: self.before.text().map(str::to_owned),
            to: self.after.text().map(str::to_owned),
            covered_by: covered_by.map(ToString::to_string),
        }
    }
}

impl FieldValue {
    fn of(value: Option<&Value>, is_secret: bool) -> Self {
        let text = match value {
            None => return Self::Absent,
            Some(Value::Array(_) | Value::Object(_)) => return Self::Hidden,
            Some(Value::String(text)) => text.clone(),
            Some(scalar @ (Value::Null | Value::Bool(_) | Value::Number(_))) => scalar.to_string(),
        };
        if is_secret || text.chars().count() >= SHORT { Self::Hidden } else { Self::Text(text) }
    }

    /// The value, if it is shown.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Hidden => None,
        }
    }
}

/// Whether a path is that of a field, or of a part of it.
pub(super) fn is_beneath(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The fields, the first few by name.
    pub(super) fn names(&self) -> String {
        const SHOWN: usize = 3;
        let shown: Vec<String> = self.listed.iter().take(SHOWN).map(|change| change.path.to_string()).collect();
        match self.count().saturating_sub(shown.len()) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// Whether a change of the same field, or of what it is in, or of a part of it is listed.
    pub(super) fn touches(&self, other: &FieldChange) -> bool {
        let other_path = other.path.to_string();
        let is_near = |change: &FieldChange| {
            let path = change.path.to_string();
            change.object == other.object && (is_beneath(&path, &other_path) || is_beneath(&other_path, &path))
        };
        self.listed.iter().any(is_near)
    }

    /// How many changes there are, listed or not.
    pub fn count(&self) -> usize {
        self.listed.len() + self.more
    }

    /// Adds a change, or counts it when the list is full.
    pub(super) fn push(&mut self, change: impl FnOnce() -> FieldChange) {
        if self.listed.len() < MAX_CHANGES {
            self.listed.push(change());
        } else {
            self.more += 1;
        }
    }
}

fn may_hold_secret(segment: &Segment<'_>) -> bool {
    let Segment::Key(key) = segment else { return false };
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SECRET_FIELDS.contains(&key.as_str()) || SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// The path as in `spec.files[2].owner`. A key that is no plain name stands in brackets, as in `labels[a.io/b]`.
fn render(path: &[Segment<'_>]) -> FieldPath {
    let mut rendered = String::new();
    for segment in path {
        match segment {
            Segment::Index(index) => rendered.push_str(&format!("[{index}]")),
            Segment::Key(key) if !is_plain(key) => rendered.push_str(&format!("[{key}]")),
            Segment::Key(key) if rendered.is_empty() => rendered.push_str(key),
            Segment::Key(key) => rendered.push_str(&format!(".{key}")),
        }
    }
    FieldPath::new(shortened(rendered, MAX_PATH))
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The text, cut after `max` characters; an ellipsis says that it was.
pub(crate) fn shortened(mut text: String, max: usize) -> String {
    if text.chars().count() <= max {
        return text;
    }
    let end = text.char_indices().nth(max - 1).map_or(text.len(), |(end, _)| end);
    text.truncate(end);
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::difference::differences;
    use super::*;

    fn changes(before: &Value, after: &Value) -> Vec<(String, FieldValue, FieldValue)> {
        let found = differences(Some(before), Some(after));
        let changes = found.iter().map(|found| FieldChange::new(ChangedObject::Machine, &["spec"], found));
        changes.map(|change| (change.path.to_string(), change.before, change.after)).collect()
    }

    fn text(text: &str) -> FieldValue {
        FieldValue::Text(text.to_owned())
    }

    #[test]
    fn paths_read_as_people_write_them() {
        let check = |after: Value, expected: &str| {
            let found = changes(&json!({ "list": [{}], "labels": {}, "object": {} }), &after);
            assert_eq!(found.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>(), [expected]);
        };
        check(json!({ "list": [{}], "labels": {}, "object": { "memoryMiB": 1 } }), "spec.object.memoryMiB");
        check(json!({ "list": [{ "a": 1 }], "labels": {}, "object": {} }), "spec.list[0].a");
        check(json!({ "list": [{}, 5], "labels": {}, "object": {} }), "spec.list[1]");
        check(json!({ "list": [{}], "labels": { "a.io/b": "c" }, "object": {} }), "spec.labels[a.io/b]");
        check(json!({ "list": [{}], "labels": { "": "c" }, "object": {} }), "spec.labels[]");
    }

    #[test]
    fn short_scalars_are_shown_and_nothing_else() {
        let check = |value: Value, expected: FieldValue| {
            assert_eq!(
                changes(&json!({}), &json!({ "a": value })),
                [("spec.a".to_owned(), FieldValue::Absent, expected)]
            );
        };
        check(json!("v1.34.0"), text("v1.34.0"));
        check(json!(4096), text("4096"));
        check(json!(true), text("true"));
        check(json!(null), text("null"));
        check(json!("é".repeat(63)), text(&"é".repeat(63)));
        check(json!("x".repeat(64)), FieldValue::Hidden);
        check(json!([1]), FieldValue::Hidden);
        check(json!({}), FieldValue::Hidden);
    }

    #[test]
    fn nothing_is_shown_beneath_what_can_hold_a_secret() {
        let check = |after: Value| {
            let found = changes(&json!({}), &after);
            assert_eq!(
                found.into_iter().map(|(_, _, after)| after).collect::<Vec<_>>(),
                [FieldValue::Hidden],
                "{after}"
            );
        };
        for name in ["content", "users", "passwd", "token", "tlsBootstrapToken", "caBundle", "certificateAuthorityData"]
        {
            check(json!({ name: "hunter2" }));
            let (before, after) = (json!({ name: [{ "a": "old" }] }), json!({ name: [{ "a": "new" }] }));
            assert_eq!(changes(&before, &after)[0].1, FieldValue::Hidden, "{name}");
        }
        for name in ["preKubeadmCommands", "userData", "adminPassword", "client-secret", "sshKeyName", "kubeConfig"] {
            check(json!({ name: "hunter2" }));
        }
        let (before, after) = (json!({ "files": [{ "owner": "a" }] }), json!({ "files": [{ "owner": "b" }] }));
        assert_eq!(changes(&before, &after), [("spec.files[0].owner".to_owned(), text("a"), text("b"))]);
    }

    #[test]
    fn a_path_is_as_long_as_a_rollout_has_room_for() {
        let (path, ..) = changes(&json!({}), &json!({ "x".repeat(3000): 1 })).remove(0);
        assert_eq!(path.chars().count(), MAX_PATH);
        assert!(path.ends_with('…'));
    }

    #[test]
    fn changes_beyond_the_limit_are_counted() {
        let difference = Difference { path: vec![Segment::Index(0)], before: None, after: None };
        let mut changes = Changes::default();
        for _ in 0..MAX_CHANGES + 3 {
            changes.push(|| FieldChange::new(ChangedObject::Machine, &["spec"], &difference));
        }
        assert_eq!((changes.listed.len(), changes.more, changes.count()), (MAX_CHANGES, 3, MAX_CHANGES + 3));
    }
}
