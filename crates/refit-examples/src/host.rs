//! The machine behind the objects.

use std::fmt;
use std::future::Future;

/// A change that an extension wants on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChange {
    /// Give it this much memory, as the field says it: `8Gi`.
    Memory(String),
    /// Install this version of Kubernetes on it: `v1.34.1`.
    Version(String),
}

/// Why a change could not be made, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError(pub String);

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reaches machines. A change that is there already is no error: updates run again after a restart.
pub trait Host: Send + Sync + 'static {
    /// Makes the change on the machine of this namespace and name, and returns when it is made.
    fn change(
        &self,
        namespace: &str,
        name: &str,
        change: HostChange,
    ) -> impl Future<Output = Result<(), HostError>> + Send;
}

/// A host that says what would be done, and does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoggedHost;

impl Host for LoggedHost {
    async fn change(&self, namespace: &str, name: &str, change: HostChange) -> Result<(), HostError> {
        eprintln!("{namespace}/{name}: {change:?}");
        Ok(())
    }
}
