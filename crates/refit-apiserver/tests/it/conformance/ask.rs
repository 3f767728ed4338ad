//! Requests as data. What a server made up (versions, uids) is filled in from its own answers.

use http::Method;
use serde_json::Value;

/// What an end has answered so far in a case: the values of `$ns`, `$rv`, `$old`, `$uid`, `$continue` and
/// `$list`; and how long its watches last, `$seconds`.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub namespace: String,
    pub watch_seconds: u32,
    /// The version of the object answered last.
    pub version: String,
    /// The version that was different before.
    pub old_version: String,
    pub uid: String,
    pub token: String,
    pub list_version: String,
}

/// One request, with placeholders.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: Method,
    pub uri: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Ask {
    pub fn new(method: Method, uri: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", media_type.to_owned())];
        Self { method, uri: uri.to_owned(), headers, body: body.into() }
    }

    /// With a JSON body; null is none.
    pub fn json(method: Method, uri: &str, media_type: &str, body: &Value) -> Self {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        Self::new(method, uri, media_type, body)
    }

    /// The request without placeholders.
    pub fn filled_in(&self, memory: &Memory) -> Self {
        let body = match std::str::from_utf8(&self.body) {
            Ok(text) if text.contains('$') => memory.fill_in(text).into_bytes(),
            _ => self.body.clone(),
        };
        Self { uri: memory.fill_in(&self.uri), body, ..self.clone() }
    }
}

impl Memory {
    fn fill_in(&self, text: &str) -> String {
        let seconds = self.watch_seconds.to_string();
        let values = [
            ("$ns", &self.namespace),
            ("$seconds", &seconds),
            ("$rv", &self.version),
            ("$old", &self.old_version),
            ("$uid", &self.uid),
            ("$continue", &self.token),
            ("$list", &self.list_version),
        ];
        values.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Keeps what a later request may need of an answer.
    pub fn learn(&mut self, answer: &Value) {
        let metadata = &answer["metadata"];
        let text = |name: &str| metadata[name].as_str().map(str::to_owned);
        if answer["items"].is_array() {
            self.token = text("continue").unwrap_or_default();
            self.list_version = text("resourceVersion").unwrap_or_default();
        } else if let Some(version) = text("resourceVersion") {
            if version != self.version {
                self.old_version = std::mem::replace(&mut self.version, version);
            }
            self.uid = text("uid").unwrap_or_else(|| self.uid.clone());
        }
    }
}
