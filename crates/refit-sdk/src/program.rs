//! The whole program of an extension, for those that need no other.

use std::process::ExitCode;

use crate::{Extension, Server, ServerOptions};

/// Serves the extension as the arguments of the process say, until the process is asked to end.
///
/// What goes wrong is printed to standard error. See [`ServerOptions::from_arguments`] for the arguments.
pub fn run(extension: Extension) -> ExitCode {
    match serve(extension) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn serve(extension: Extension) -> Result<(), Box<dyn std::error::Error>> {
    let options = ServerOptions::from_arguments(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(extension, options).await?;
        eprintln!("serving on {}", server.address()?);
        server.run_until_signal().await;
        Ok(())
    })
}

/// The error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
