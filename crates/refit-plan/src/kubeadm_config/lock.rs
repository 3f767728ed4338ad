//! The lock that one control plane Machine holds while it starts the cluster: a ConfigMap, as upstream has it.

use serde_json::{Value, json};

/// The key of the ConfigMap that says who holds the lock.
pub const LOCK_KEY: &str = "lock-information";

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitLock {
    Free,
    /// This KubeadmConfig's Machine.
    Held,
    /// Another Machine, which is there.
    HeldByOther {
        machine: String,
    },
    /// A Machine that is gone. It starts no cluster any more.
    Stale {
        machine: String,
    },
    /// Nobody knows: the ConfigMap says nothing that can be read.
    Unreadable,
}

/// The name of the ConfigMap.
pub fn lock_name(cluster: &str) -> String {
    format!("{cluster}-lock")
}

/// What the ConfigMap says.
pub fn lock_content(machine: &str) -> String {
    json!({ "machineName": machine }).to_string()
}

/// The Machine that holds the lock, from what the ConfigMap says.
pub fn lock_holder(content: &str) -> Option<String> {
    let content: Value = serde_json::from_str(content).ok()?;
    content["machineName"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}
