//! Both examples keep every rule, and change what they say.

use std::sync::{Arc, Mutex};

use refit_examples::host::HostChange;
use refit_examples::{Host, HostError, MemoryUpdater, VersionUpdater};
use refit_sdk::conformance::{ClientFiles, Options, Target, check};
use refit_sdk::{Extension, Server, ServerOptions, Updater};

/// A host that remembers what it was asked for.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Vec<(String, HostChange)>>>);

impl Host for Recorded {
    async fn change(&self, _: &str, name: &str, change: HostChange) -> Result<(), HostError> {
        self.0.lock().expect("nobody panics while it is held").push((name.to_owned(), change));
        Ok(())
    }
}

/// Serves the updater, checks it, and gives what was changed on the first machine.
async fn changes(updater: impl Updater, host: &Recorded) -> Vec<HostChange> {
    let extension = Extension::builder(updater).build().expect("the extension must be right");
    let server = Server::bind(extension, ServerOptions::local()).await.expect("the server must listen");
    let address = server.address().expect("the address must be known");
    let task = tokio::spawn(server.run(std::future::pending()));
    let target = Target::new(&format!("http://{address}"), &ClientFiles::default(), true).expect("it must be right");
    let options = Options { large_bodies: false, ..Options::default() };
    let report = check(&target, &options).await.expect("it must be checked");
    task.abort();
    assert!(report.is_conformant(), "{}", report.text());
    let made = host.0.lock().expect("nobody panics while it is held").clone();
    made.into_iter().filter(|(name, _)| name == "refit-conformance").map(|(_, change)| change).collect()
}

#[tokio::test]
async fn the_memory_is_set_once_to_what_it_should_be() {
    let host = Recorded::default();
    assert_eq!(changes(MemoryUpdater::new(host.clone()), &host).await, [HostChange::Memory("8Gi".to_owned())]);
}

#[tokio::test]
async fn the_version_is_installed_once() {
    let host = Recorded::default();
    assert_eq!(changes(VersionUpdater::new(host.clone()), &host).await, [HostChange::Version("v1.34.1".to_owned())]);
}
