//! One server: a process with a log file, which ends with its value.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::StartError;
use crate::Program;

/// kube-apiserver needs one second to end on an idle machine. What has not ended after thirty is stuck.
const END_LIMIT: Duration = Duration::from_secs(30);
const END_INTERVAL: Duration = Duration::from_millis(10);
/// How many lines of its log a server is quoted with: the reason, and what led to it.
const LAST_LINES: usize = 15;

/// Where servers come to life: the folder with their files, and the process group that they join.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Birthplace<'folder> {
    pub(crate) folder: &'folder Path,
    pub(crate) group: i32,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server whose output goes to a file in its folder.
    pub(crate) fn spawn(
        program: Program,
        path: &Path,
        arguments: &[String],
        birthplace: &Birthplace<'_>,
    ) -> Result<Self, StartError> {
        let &Birthplace { folder, group } = birthplace;
        let log = folder.join(format!("{}.log", program.name()));
        let out = File::create(&log).map_err(StartError::prepare("a log file"))?;
        let err = out.try_clone().map_err(StartError::prepare("a log file"))?;
        let mut command = Command::new(path);
        command.args(arguments).current_dir(folder).process_group(group);
        let spawned = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = spawned.map_err(|source| StartError::Run { program, source })?;
        Ok(Self { program, child, log })
    }

    /// Fails with the reason when the server has ended.
    pub(crate) fn ensure_running(&mut self) -> Result<(), StartError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(StartError::Ended { program: self.program, status, log: self.last_words() }),
            Err(source) => Err(StartError::Run { program: self.program, source }),
        }
    }

    /// The end of the log.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Server {
    /// Asks the server to end, and makes it end when it does not within the limit.
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // Nobody else waits for this child, so that its id cannot have passed to another process.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + END_LIMIT;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            sleep(END_INTERVAL);
        }
    }
}
