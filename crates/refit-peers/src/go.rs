//! Running the Go toolchain in the small modules under `peers/`, which pin what the peers are built from.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Why Go could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GoError {
    /// There is no `go` on the path.
    #[error("go is not on the PATH; install it from https://go.dev/dl")]
    Missing,
    /// The program is there but does not run.
    #[error("cannot run `go {arguments}`")]
    Run {
        /// What it was called with.
        arguments: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// It ran and said no.
    #[error("`go {arguments}` failed: {output}")]
    Failed {
        /// What it was called with.
        arguments: String,
        /// What it printed.
        output: String,
    },
    /// The answer is not the JSON that it should be.
    #[error("cannot read the answer of `go {arguments}`")]
    Answer {
        /// What it was called with.
        arguments: String,
        /// Why it does not decode.
        #[source]
        source: serde_json::Error,
    },
    /// A file of the pinned module is not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The pinned module does not pin what it is there for.
    #[error("{} does not require {module}", path.display())]
    NotPinned {
        /// The `go.mod` file.
        path: PathBuf,
        /// The module that should be required.
        module: &'static str,
    },
}

impl GoError {
    /// Whether installing Go is what helps.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// The Go modules that Cluster API consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterApi {
    /// Controllers, webhooks and the CRD files.
    Controllers,
    /// The types of its resources and hooks.
    Types,
}

/// The folder of a module of Cluster API at the pinned version, downloaded when it is not there yet.
pub fn cluster_api_module(part: ClusterApi) -> Result<PathBuf, GoError> {
    let path = match part {
        ClusterApi::Controllers => "sigs.k8s.io/cluster-api",
        ClusterApi::Types => "sigs.k8s.io/cluster-api/api",
    };
    Go::default().downloaded(Module::ClusterApi, path)
}

/// The Go modules that hold the types of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kubernetes {
    /// The kinds of its API groups.
    Api,
    /// What all kinds share.
    Machinery,
}

/// The folder of a module of Kubernetes at the pinned version, downloaded when it is not there yet.
pub fn kubernetes_module(part: Kubernetes) -> Result<PathBuf, GoError> {
    let path = match part {
        Kubernetes::Api => "k8s.io/api",
        Kubernetes::Machinery => "k8s.io/apimachinery",
    };
    Go::default().downloaded(Module::Kubernetes, path)
}

/// A Go module of ours, a folder under `peers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    Kubernetes,
    Etcd,
    ClusterApi,
    Extension,
}

impl Module {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::ClusterApi => "cluster-api",
            Self::Extension => "extension",
        }
    }

    /// The module upstream that this one is there to pin.
    fn pinned(self) -> &'static str {
        match self {
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ClusterApi | Self::Extension => "sigs.k8s.io/cluster-api",
        }
    }

    fn folder(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers").join(self.name())
    }

    /// The version of upstream that is pinned, such as `v1.36.3`.
    pub(crate) fn version(self) -> Result<String, GoError> {
        let path = self.folder().join("go.mod");
        let text = std::fs::read_to_string(&path).map_err(|source| GoError::Read { path: path.clone(), source })?;
        let version = required_version(&text, self.pinned()).map(str::to_owned);
        version.ok_or(GoError::NotPinned { path, module: self.pinned() })
    }

    /// Everything of ours that a build reads: file names and their contents. A file that a module lacks is left out.
    pub(crate) fn sources(self) -> Result<Vec<(&'static str, Vec<u8>)>, GoError> {
        let mut sources = Vec::new();
        for name in ["go.mod", "go.sum", "main.go"] {
            let path = self.folder().join(name);
            match std::fs::read(&path) {
                Ok(content) => sources.push((name, content)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(GoError::Read { path, source }),
            }
        }
        Ok(sources)
    }
}

/// The version in the `require` line of a module, be it in a block or on its own.
fn required_version<'text>(go_mod: &'text str, module: &str) -> Option<&'text str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next()? == module).then(|| words.next())?.filter(|word| word.starts_with('v'))
    })
}

/// The Go toolchain.
pub(crate) struct Go {
    program: OsString,
}

impl Default for Go {
    fn default() -> Self {
        Self { program: "go".into() }
    }
}

impl Go {
    /// The Go version and the target, in words that change whenever a build would come out differently.
    pub(crate) fn identity(&self, module: Module) -> Result<Vec<u8>, GoError> {
        let output = self.run(module, ["env", "GOVERSION", "GOOS", "GOARCH"])?;
        Ok(output.stdout)
    }

    /// The folder of a module that ours requires.
    fn downloaded(&self, module: Module, required: &str) -> Result<PathBuf, GoError> {
        let arguments = ["mod", "download", "-json", required];
        let output = self.run(module, arguments)?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|source| GoError::Answer { arguments: arguments.join(" "), source })?;
        let folder = answer["Dir"].as_str().map(PathBuf::from);
        folder.ok_or_else(|| GoError::Failed { arguments: arguments.join(" "), output: answer["Error"].to_string() })
    }

    /// Runs `go` in the module's folder and gives its output; an exit code other than zero is an error.
    pub(crate) fn run<A>(&self, module: Module, arguments: A) -> Result<Output, GoError>
    where
        A: IntoIterator<Item: AsRef<OsStr>>,
    {
        let mut command = Command::new(&self.program);
        // A workspace file in a folder above must not change what is built.
        command.args(arguments).current_dir(module.folder()).env("GOWORK", "off").env("CGO_ENABLED", "0");
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(GoError::Missing),
            Err(source) => return Err(GoError::Run { arguments: command_line(&command), source }),
        };
        if output.status.success() {
            return Ok(output);
        }
        Err(GoError::Failed { arguments: command_line(&command), output: printed(&output) })
    }
}

fn command_line(command: &Command) -> String {
    command.get_args().map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// What a failed command printed, wherever it printed it: `go mod download -json` puts the error into its answer.
fn printed(output: &Output) -> String {
    let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    String::from_utf8_lossy(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_found_in_a_block_and_on_a_line_of_its_own() {
        let check = |go_mod, expected| assert_eq!(required_version(go_mod, "k8s.io/kubernetes"), expected, "{go_mod}");
        check("require k8s.io/kubernetes v1.2.3\n", Some("v1.2.3"));
        check("require (\n\tk8s.io/kubernetes v1.2.3 // indirect\n)", Some("v1.2.3"));
        check("require k8s.io/kubernetes/api v9.9.9\n\tk8s.io/kubernetes v1.2.3", Some("v1.2.3"));
        check("replace k8s.io/kubernetes => k8s.io/kubernetes v9.9.9", None);
        check("tool (\n\tk8s.io/kubernetes\n)", None);
        check("", None);
    }

    #[test]
    fn every_module_pins_its_upstream() {
        for module in [Module::Kubernetes, Module::Etcd, Module::ClusterApi, Module::Extension] {
            assert!(module.version().unwrap().starts_with('v'), "{module:?}");
        }
    }

    #[test]
    fn absent_go_is_told_apart() {
        let go = Go { program: "no-such-go".into() };
        assert!(go.identity(Module::Etcd).unwrap_err().is_missing());
    }
}
