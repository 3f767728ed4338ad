//! The controllers, the provider and the extensions, as a process that can be killed.

use std::sync::Arc;
use std::time::Duration;

use refit_plane::{Backend, Example, Workers};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};

use crate::story::LIMIT;

/// When those who could not begin are started again.
const AGAIN: Duration = Duration::from_millis(200);

/// Everybody who works, on a runtime of their own: what ends with it, ends wherever it is.
pub struct Life(Runtime);

impl Life {
    pub fn begin(backend: &Arc<Backend>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let (runtime, backend) = (runtime.expect("a runtime must start"), Arc::clone(backend));
        runtime.spawn(async move {
            loop {
                match Workers::start(&backend, &Example::ALL).await {
                    Ok(_workers) => std::future::pending::<()>().await,
                    // As a rule, they were killed before they began. Otherwise somebody starts them again.
                    Err(error) => println!("nobody works: {error}"),
                }
                sleep(AGAIN).await;
            }
        });
        Self(runtime)
    }

    /// Nothing of it is carried out any more when this is over, not even what it was in the middle of.
    pub async fn kill(self) {
        let began = Instant::now();
        let end = tokio::task::spawn_blocking(move || self.0.shutdown_timeout(LIMIT));
        end.await.expect("a runtime must end");
        assert!(began.elapsed() < LIMIT, "a thread of those who work does not end");
    }
}
