//! Who carries out writes: a thread of its own for a store on disk, the caller itself for one in memory.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use tokio::sync::{
    mpsc::{self, Receiver, Sender},
    oneshot,
};

use super::{
    WriteError,
    decoded::lock,
    engine::{Engine, Reply, Request},
};

/// Requests that wait for the writer; further callers wait for room. Four groups, so that the next is always at hand.
const QUEUE: usize = 1024;
/// Writes that share one sync. More would only make the first of them wait longer.
const GROUP_WRITES: usize = 256;

/// The way to the one engine.
pub(super) enum Writer {
    /// No thread and no waiting, so that virtual time holds still during a write.
    Inline(Mutex<Engine>),
    /// Waiting for the disk must not block the callers' threads.
    Thread(Thread),
}

/// The writing thread. Dropping it waits until everything that was handed over is written and the file is closed.
pub(super) struct Thread {
    queue: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    /// Set when a request was left without an answer, which happens only when the thread ends on the way.
    has_stopped: AtomicBool,
}

impl Writer {
    pub(super) fn inline(engine: Engine) -> Self {
        Self::Inline(Mutex::new(engine))
    }

    pub(super) fn thread(engine: Engine) -> io::Result<Self> {
        let (queue, requests) = mpsc::channel(QUEUE);
        let thread = thread::Builder::new().name("refit-store".to_owned()).spawn(move || work(engine, requests))?;
        Ok(Self::Thread(Thread { queue: Some(queue), thread: Some(thread), has_stopped: AtomicBool::new(false) }))
    }

    /// Whether nothing will be written any more: the thread that writes has ended.
    pub(super) fn has_stopped(&self) -> bool {
        match self {
            Self::Inline(_) => false,
            Self::Thread(Thread { queue, thread, has_stopped }) => {
                has_stopped.load(Ordering::Relaxed)
                    || queue.as_ref().is_none_or(Sender::is_closed)
                    || thread.as_ref().is_none_or(JoinHandle::is_finished)
            }
        }
    }

    pub(super) fn is_durable(&self) -> bool {
        matches!(self, Self::Thread(_))
    }

    /// Hands a request over and waits for its answer. Once handed over, it is carried out even if the caller goes away.
    pub(super) async fn carry_out<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, WriteError> {
        let (reply, answer) = oneshot::channel();
        let request = request(reply);
        match self {
            Self::Inline(engine) => lock(engine).run(vec![request]),
            Self::Thread(Thread { queue, .. }) => {
                let queue = queue.as_ref().ok_or(WriteError::Stopped)?;
                queue.send(request).await.map_err(|_| WriteError::Stopped)?;
            }
        }
        answer.await.unwrap_or_else(|_| {
            if let Self::Thread(Thread { has_stopped, .. }) = self {
                has_stopped.store(true, Ordering::Relaxed);
            }
            Err(WriteError::Stopped)
        })
    }
}

/// Takes whatever has come while the last group was being written: the busier it is, the more share one sync.
fn work(mut engine: Engine, mut requests: Receiver<Request>) {
    let _farewell = Farewell;
    while let Some(first) = requests.blocking_recv() {
        let mut weight = first.weight();
        let mut group = vec![first];
        while weight < GROUP_WRITES
            && let Ok(request) = requests.try_recv()
        {
            weight += request.weight();
            group.push(request);
        }
        engine.run(group);
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so already; there is nothing left to close.
            let _ = thread.join();
        }
    }
}

/// Says so when the thread ends before its time.
struct Farewell;

impl Drop for Farewell {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!(
                "the thread that writes the store has ended: no write succeeds until the server is started anew"
            );
        }
    }
}
