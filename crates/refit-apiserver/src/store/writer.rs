//! Who carries out writes: a thread of its own for a store on disk, the caller itself for one in memory.

use std::{
    io,
    sync::Mutex,
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
}

impl Writer {
    pub(super) fn inline(engine: Engine) -> Self {
        Self::Inline(Mutex::new(engine))
    }

    pub(super) fn thread(engine: Engine) -> io::Result<Self> {
        let (queue, requests) = mpsc::channel(QUEUE);
        let thread = thread::Builder::new().name("refit-store".to_owned()).spawn(move || work(engine, requests))?;
        Ok(Self::Thread(Thread { queue: Some(queue), thread: Some(thread) }))
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
        answer.await.map_err(|_| WriteError::Stopped)?
    }
}

/// Takes whatever has come while the last group was being written: the busier it is, the more share one sync.
fn work(mut engine: Engine, mut requests: Receiver<Request>) {
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
