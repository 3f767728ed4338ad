//! An update extension: which fields of a machine it can change while the machine runs, and how.

use refit_sdk::{Claims, MachineUpdate, Paths, Progress, UpdateFailure, Updater};

/// Changes the memory of a machine. Put your own fields and your own way to change them here.
#[derive(Debug, Clone, Copy, Default)]
pub struct MyUpdater;

impl Updater for MyUpdater {
    fn claims(&self) -> Claims {
        // `spec.memory` of the machine's infrastructure object, if that is a SimMachine.
        Paths::none().infrastructure_of("SimMachine", "spec.memory").into()
    }

    async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
        let Some(memory) = machine.infrastructure_field("spec.memory") else {
            return Err(UpdateFailure::new("the machine has no spec.memory"));
        };
        machine.report(format!("setting the memory to {memory}"));
        // Look at the host and do what is missing. This can run again from its beginning at any time.
        Ok(Progress::Done)
    }
}

#[cfg(test)]
mod tests {
    use refit_sdk::conformance::{ClientFiles, Options, Target, check};
    use refit_sdk::{Extension, Server, ServerOptions};

    use super::MyUpdater;

    #[tokio::test]
    async fn the_extension_keeps_every_rule_of_the_protocol() {
        let extension = Extension::builder(MyUpdater).build().expect("the extension must be right");
        let server = Server::bind(extension, ServerOptions::local()).await.expect("the server must listen");
        let address = server.address().expect("the address must be known");
        tokio::spawn(server.run(std::future::pending()));
        let target =
            Target::new(&format!("http://{address}"), &ClientFiles::default(), true).expect("it must be right");
        // Without requests of 20 MiB, which take long in a debug build; `refit extension check` sends them.
        let options = Options { large_bodies: false, ..Options::default() };
        let report = check(&target, &options).await.expect("it must be checked");
        assert!(report.is_conformant(), "{}", report.text());
    }
}
