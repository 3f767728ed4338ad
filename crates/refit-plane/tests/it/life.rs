//! The controllers, the provider and the extensions, as a process that can be killed.

use std::sync::Arc;

use refit_plane::{Backend, Example, Workers};
use tokio::runtime::{Builder, Runtime};

/// Everybody who works, on a runtime of their own: what ends with it, ends wherever it is.
pub struct Life(Runtime);

impl Life {
    pub fn begin(backend: &Arc<Backend>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let (runtime, backend) = (runtime.expect("a runtime must start"), Arc::clone(backend));
        runtime.spawn(async move {
            match Workers::start(&backend, &Example::ALL).await {
                Ok(_workers) => std::future::pending::<()>().await,
                // As a rule, they were killed before they began.
                Err(error) => println!("nobody works: {error}"),
            }
        });
        Self(runtime)
    }

    pub fn kill(self) {
        self.0.shutdown_background();
    }
}
