//! Something that runs beside the rest until it is told to end.

use std::future::Future;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Something that runs. Dropping it ends it wherever it is.
pub(crate) struct Task {
    end: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl Task {
    /// Starts what `run` makes of a future that is ready when it is to end.
    pub(crate) fn spawn<F>(run: impl FnOnce(Ended) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (end, ended) = oneshot::channel();
        Self { end: Some(end), running: tokio::spawn(run(Ended(ended))) }
    }

    /// Tells it to end, and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.end.take());
        if let Err(error) = (&mut self.running).await {
            tracing::warn!(%error, "a part of the process did not end well");
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Tells a task when to end.
pub(crate) struct Ended(oneshot::Receiver<()>);

impl Ended {
    pub(crate) async fn wait(self) {
        let _ = self.0.await;
    }
}
