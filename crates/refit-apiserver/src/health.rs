//! Whether the server lives and can be used, and which version it is.

use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use serde_json::json;

use crate::api::Answer;
use crate::request::Query;
use crate::store::Condition;

/// The version of Kubernetes that the API behaves like.
const KUBERNETES: &str = "v1.36.3";

/// Where clients ask whether the server can be used.
pub(crate) const READY: &str = "/readyz";

/// What the health endpoints answer from.
#[derive(Debug, Default)]
pub struct Health {
    is_ending: AtomicBool,
}

impl Health {
    /// From now on the server is not ready: it finishes what it has begun.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// The answer to a path that is about the server itself; `None` for every other path.
    ///
    /// A server whose disk takes nothing is not ready, but lives: it serves reads, and starting it anew mends no disk. One
    /// whose writing thread has ended does not live: only starting it anew helps.
    pub fn answer(&self, path: &str, query: &Query, store: Condition) -> Option<Answer> {
        let writes = ("store-writer", store != Condition::Stopped);
        match path {
            "/livez" => Some(report("livez", &[("ping", true), writes], query)),
            "/healthz" => Some(report("healthz", &[("ping", true), writes], query)),
            READY => {
                let is_staying = !self.is_ending.load(Ordering::Relaxed);
                let is_storing = store == Condition::Working;
                Some(report("readyz", &[("ping", true), ("store", is_storing), ("shutdown", is_staying)], query))
            }
            "/version" => Some(version()),
            _ => None,
        }
    }
}

/// `ok`, or every check on a line of its own when one failed or the client wants to see them.
fn report(name: &str, checks: &[(&str, bool)], query: &Query) -> Answer {
    let passed = checks.iter().all(|(_, passed)| *passed);
    if passed && query.get("verbose").is_none() {
        return Answer::text(StatusCode::OK, "ok");
    }
    let line = |(check, passed): &(&str, bool)| match passed {
        true => format!("[+]{check} ok\n"),
        false => format!("[-]{check} failed: reason withheld\n"),
    };
    let lines: String = checks.iter().map(line).collect();
    match passed {
        true => Answer::text(StatusCode::OK, format!("{lines}{name} check passed\n")),
        false => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{name} check failed\n")),
    }
}

/// Clients compare the numbers with their own; the suffix tells people what answers.
fn version() -> Answer {
    let git_version = format!("{KUBERNETES}+refit-{}", env!("CARGO_PKG_VERSION"));
    let mut numbers = KUBERNETES.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let version = json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "gitVersion": git_version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    Answer::json(StatusCode::OK, &version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Body;

    fn check(health: &Health, store: Condition, uri: &str, expected: Option<(u16, &str)>) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let answer = health.answer(path, &Query::parse(query), store);
        let found = answer.map(|answer| {
            let Body::Whole(text) = answer.body else { panic!("{uri} must have a whole answer") };
            (answer.status.as_u16(), String::from_utf8(text.to_vec()).unwrap())
        });
        assert_eq!(found, expected.map(|(code, text)| (code, text.to_owned())), "{uri}");
    }

    #[test]
    fn a_server_that_ends_lives_and_is_not_ready() {
        let health = Health::default();
        check(&health, Condition::Working, "/readyz", Some((200, "ok")));
        check(
            &health,
            Condition::Working,
            "/readyz?verbose",
            Some((200, "[+]ping ok\n[+]store ok\n[+]shutdown ok\nreadyz check passed\n")),
        );
        health.end();
        check(&health, Condition::Working, "/livez", Some((200, "ok")));
        let failed = "[+]ping ok\n[+]store ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n";
        check(&health, Condition::Working, "/readyz", Some((500, failed)));
        check(&health, Condition::Working, "/metrics", None);
    }

    #[test]
    fn a_server_whose_disk_fails_lives_and_is_not_ready() {
        let health = Health::default();
        check(&health, Condition::Failing, "/livez", Some((200, "ok")));
        let failed = "[+]ping ok\n[-]store failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        check(&health, Condition::Failing, "/readyz", Some((500, failed)));
    }

    #[test]
    fn a_server_that_can_never_write_again_neither_lives_nor_is_ready() {
        let health = Health::default();
        let failed = "[+]ping ok\n[-]store-writer failed: reason withheld\nlivez check failed\n";
        check(&health, Condition::Stopped, "/livez", Some((500, failed)));
        let failed = "[+]ping ok\n[-]store failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        check(&health, Condition::Stopped, "/readyz", Some((500, failed)));
    }

    #[test]
    fn the_version_has_numbers_that_clients_can_compare() {
        let Body::Whole(text) = version().body else { panic!("it must be whole") };
        let version: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!((version["major"].as_str(), version["minor"].as_str()), (Some("1"), Some("36")));
    }
}
