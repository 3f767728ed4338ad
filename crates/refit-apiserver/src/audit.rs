//! Who did what: a file of JSON lines, one for each write, each refusal and each read of secrets.
//!
//! A thread of its own writes it. What it has no room for is dropped, counted and said in the file: a slow disk must not
//! hold up the API.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// Lines that wait to be written: at 1 KiB each, 4 MiB.
const QUEUE: usize = 4_096;
/// How large a file gets before the next is begun. The one before it is kept: 200 MiB at most.
const FILE_BYTES: u64 = 100 << 20;
/// What of a path, a name or a group is written down.
const TEXT_CHARS: usize = 1_024;
/// How many groups of a user are written down.
const GROUPS: usize = 16;

/// The audit log. When it is dropped, everything that was taken is written.
pub struct Audit {
    queue: Option<SyncSender<Value>>,
    dropped: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// One request.
pub(crate) struct Done<'a> {
    pub(crate) time: jiff::Timestamp,
    pub(crate) user: &'a crate::request::User,
    pub(crate) method: &'a str,
    pub(crate) uri: &'a str,
    pub(crate) code: u16,
}

impl Audit {
    /// Begins or goes on with a file that only its owner can read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, FILE_BYTES)
    }

    fn open_with(path: &Path, file_bytes: u64) -> io::Result<Self> {
        let log = Log { file: open(path)?, path: path.to_owned(), bytes: std::fs::metadata(path)?.len(), file_bytes };
        let (queue, lines) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = dropped.clone();
        let thread =
            thread::Builder::new().name("refit-audit".to_owned()).spawn(move || write(log, &lines, &counter))?;
        Ok(Self { queue: Some(queue), dropped, thread: Some(thread) })
    }

    /// Takes a line. Returns whether there was room for it.
    pub(crate) fn note(&self, done: &Done<'_>) -> bool {
        let cut = |text: &str| text.chars().take(TEXT_CHARS).collect::<String>();
        let groups: Vec<String> = done.user.groups.iter().take(GROUPS).map(|group| cut(group)).collect();
        let line = json!({
            "time": done.time.to_string(),
            "user": cut(&done.user.name),
            "groups": groups,
            "method": done.method,
            "uri": cut(done.uri),
            "code": done.code,
        });
        let Some(queue) = &self.queue else { return false };
        match queue.try_send(line) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
    file_bytes: u64,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn write(mut log: Log, lines: &Receiver<Value>, dropped: &AtomicU64) {
    let mut has_failed = false;
    while let Ok(line) = lines.recv() {
        let lost = dropped.swap(0, Ordering::Relaxed);
        let lost = (lost > 0).then(|| json!({"time": line["time"], "dropped": lost}));
        let written = lost.into_iter().chain([line]).try_for_each(|line| log.append(&line));
        match written {
            Err(error) if !has_failed => {
                tracing::error!(%error, path = %log.path.display(), "the audit log cannot be written");
                has_failed = true;
            }
            Err(_) => {}
            Ok(()) => has_failed = false,
        }
    }
}

impl Log {
    fn append(&mut self, line: &Value) -> io::Result<()> {
        if self.bytes >= self.file_bytes {
            let mut before = self.path.clone().into_os_string();
            before.push(".1");
            std::fs::rename(&self.path, before)?;
            self.file = open(&self.path)?;
            self.bytes = 0;
        }
        let text = format!("{line}\n");
        self.file.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::access;

    fn note(audit: &Audit, uri: &str) {
        let done = Done { time: jiff::Timestamp::UNIX_EPOCH, user: &access::admin(), method: "POST", uri, code: 201 };
        while !audit.note(&done) {
            thread::yield_now();
        }
    }

    #[test]
    fn every_line_that_was_taken_is_written_and_names_who_did_what() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        (0..100).for_each(|number| note(&audit, &format!("/api/v1/namespaces/a{number}")));
        drop(audit);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let named: Vec<&Value> = lines.iter().filter(|line| line.get("dropped").is_none()).collect();
        assert_eq!(named.len(), 100);
        assert_eq!((&named[7]["user"], &named[7]["uri"]), (&json!("admin"), &json!("/api/v1/namespaces/a7")));
    }

    #[test]
    fn a_log_has_a_bound() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::open_with(&path, 10_000).unwrap();
        (0..500).for_each(|_| note(&audit, &"x".repeat(10_000)));
        drop(audit);
        let files: Vec<u64> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert!(files.len() == 2 && files.iter().all(|bytes| *bytes < 13_000), "{files:?}");
    }
}
