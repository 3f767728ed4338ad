//! Ends the servers when their owner cannot: it was killed, or it aborted.
//!
//! The kernel offers to signal a child when its parent dies (`PR_SET_PDEATHSIG`), but it means the *thread* that
//! started the child, and each test runs in a thread of its own; it needs unsafe code, works on Linux only, and
//! leaves the folder behind. So there are two small shells instead that wait on a pipe, the lifeline. Only the owner
//! holds its other end, and the kernel closes that however the owner ends.
//!
//! * The anchor leads a process group, which every server joins at birth. It does nothing else: it keeps the group's
//!   id from being given to strangers.
//! * The guard is outside of the group. When the lifeline closes it kills the group and removes the folder.
//!
//! There is no moment at which a server runs unguarded: it is in the group before its program is loaded, and a group
//! that is gone cannot be joined.

use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Signals that a terminal sends to everybody do not concern the two shells: the owner decides.
const ANCHOR: &str = "trap '' HUP INT TERM; read -r line";
/// A process that was just killed may still finish one system call, hence the other tries: a minute of them, for a
/// machine that is slow to end what is killed.
const GUARD: &str = "trap '' HUP INT TERM; read -r line; kill -s KILL -- \"-$1\"; \
                     tries=60; until rm -rf -- \"$2\" || [ $((tries -= 1)) -eq 0 ]; do sleep 1; done";

/// The two shells and the owner's end of the lifeline.
#[derive(Debug)]
pub(crate) struct Watchdog {
    lifeline: Option<PipeWriter>,
    anchor: Child,
    guard: Child,
    group: i32,
}

impl Watchdog {
    /// Starts to watch over the servers that will join [`Self::group`] and over their folder.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let (reader, lifeline) = io::pipe()?;
        let anchor = shell(ANCHOR, reader.try_clone()?).spawn()?;
        let group = i32::try_from(anchor.id()).map_err(io::Error::other)?;
        let guard = shell(GUARD, reader).arg(group.to_string()).arg(folder).spawn()?;
        Ok(Self { lifeline: Some(lifeline), anchor, guard, group })
    }

    /// The process group that servers are to join.
    pub(crate) fn group(&self) -> i32 {
        self.group
    }
}

impl Drop for Watchdog {
    /// Lets go of the lifeline and waits until all is cleared away.
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.guard.wait();
        let _ = self.anchor.wait();
    }
}

/// A shell that leads a process group of its own, waits on the lifeline, and holds on to nothing else of ours: an
/// inherited stderr would keep whoever reads it waiting.
fn shell(script: &str, lifeline: PipeReader) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "refit-watchdog"]).process_group(0).current_dir("/");
    command.stdin(lifeline).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
