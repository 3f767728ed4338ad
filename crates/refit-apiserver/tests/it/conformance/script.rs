//! Cases: named scripts of requests that both ends must answer alike.

use http::Method;
use serde_json::Value;

use super::ask::{Ask, Memory};
use super::ends::End;
use super::heard::{Dictionary, differences};

/// A fact about the API, as requests that show it. A name begins with the number of the fact, where it has one.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub ask: Ask,
    /// The row of the documented differences that this step shows.
    pub differs: Option<&'static str>,
}

pub fn case(name: &'static str) -> Case {
    Case { name, steps: Vec::new() }
}

impl Case {
    fn step(mut self, ask: Ask) -> Self {
        self.steps.push(Step { ask, differs: None });
        self
    }

    pub fn get(self, uri: &str) -> Self {
        self.step(Ask::json(Method::GET, uri, "application/json", &Value::Null))
    }

    pub fn post(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::POST, uri, "application/json", &body))
    }

    pub fn put(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::PUT, uri, "application/json", &body))
    }

    pub fn json(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::PATCH, uri, "application/json-patch+json", &body))
    }

    pub fn merge(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::PATCH, uri, "application/merge-patch+json", &body))
    }

    pub fn strategic(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::PATCH, uri, "application/strategic-merge-patch+json", &body))
    }

    pub fn apply(self, uri: &str, body: Value) -> Self {
        self.step(Ask::json(Method::PATCH, uri, "application/apply-patch+yaml", &body))
    }

    pub fn delete(self, uri: &str, options: Value) -> Self {
        self.step(Ask::json(Method::DELETE, uri, "application/json", &options))
    }

    pub fn raw(self, method: Method, uri: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.step(Ask::new(method, uri, media_type, body))
    }

    /// Adds a header to the last request.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        let last = self.steps.last_mut().expect("a header must belong to a request");
        last.ask.headers.retain(|(known, _)| *known != name);
        last.ask.headers.push((name, value.to_owned()));
        self
    }

    /// The last request is answered differently on purpose: the docs have a row of this name.
    pub fn differs(mut self, row: &'static str) -> Self {
        self.steps.last_mut().expect("a difference must belong to a request").differs = Some(row);
        self
    }

    /// Runs the case in a namespace of its own, with watches that last so long. Returns what is wrong.
    pub async fn run(&self, ends: &[End; 2], namespace: &str, watch_seconds: u32) -> Vec<String> {
        let mut problems = Vec::new();
        let mut players = [Player::new(namespace, watch_seconds), Player::new(namespace, watch_seconds)];
        for (number, step) in self.steps.iter().enumerate() {
            let [embedded, real] = &mut players;
            let (embedded, real) = futures::join!(embedded.play(&ends[0], step), real.play(&ends[1], step));
            let mut found = Vec::new();
            differences("", &embedded, &real, &mut found);
            let at = format!("{} · step {} · {} {}", self.name, number + 1, step.ask.method, step.ask.uri);
            match step.differs {
                None if !found.is_empty() => problems.push(format!("{at}\n    {}", found.join("\n    "))),
                Some(row) if found.is_empty() => {
                    problems.push(format!("{at}\n    the ends agree, though the docs say otherwise in row {row}"));
                }
                None | Some(_) => {}
            }
        }
        problems
    }
}

/// One end in one case.
pub struct Player {
    memory: Memory,
    dictionary: Dictionary,
}

impl Player {
    pub fn new(namespace: &str, watch_seconds: u32) -> Self {
        let memory = Memory { namespace: namespace.to_owned(), watch_seconds, ..Memory::default() };
        Self { memory, dictionary: Dictionary::default() }
    }

    pub async fn play(&mut self, end: &End, step: &Step) -> Value {
        let ask = step.ask.filled_in(&self.memory);
        let raw = end.send(&ask).await;
        if let Ok(value) = serde_json::from_slice(&raw.body) {
            self.memory.learn(&value);
        }
        self.dictionary.translate(&ask, &raw)
    }
}
