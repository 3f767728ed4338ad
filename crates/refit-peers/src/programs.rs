//! The programs, and where they are: in the folder that `KUBEBUILDER_ASSETS` names, or built into a cache.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

mod build;

pub use build::BuildError;

use crate::GoError;
use crate::go::{Go, Module};

/// Tools of this ecosystem agree on this variable: a folder with the programs, ready to run.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// The folder under which the programs are kept once they are built.
const CACHE: &str = "REFIT_PEERS_CACHE";

/// A program that refit is tested against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The database of the API server.
    Etcd,
    /// The Kubernetes API.
    KubeApiserver,
    /// The controllers that the API needs to be whole: garbage collection, the end of namespaces.
    KubeControllerManager,
    /// The command line client.
    Kubectl,
    /// An update extension on upstream's own server library. See [`GoExtension`](crate::GoExtension).
    Extension,
}

impl Program {
    /// Those of Kubernetes: what a folder of assets has.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::KubeApiserver, Self::KubeControllerManager, Self::Kubectl];

    /// The file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Extension => "extension",
        }
    }

    fn module(self) -> Module {
        match self {
            Self::Etcd => Module::Etcd,
            Self::Extension => Module::Extension,
            Self::KubeApiserver | Self::KubeControllerManager | Self::Kubectl => Module::Kubernetes,
        }
    }

    fn package(self) -> String {
        match self {
            Self::Etcd | Self::Extension => ".".to_owned(),
            Self::KubeApiserver | Self::KubeControllerManager | Self::Kubectl => {
                format!("k8s.io/kubernetes/cmd/{}", self.name())
            }
        }
    }

    /// How long the first build takes on two cores, for people who wait.
    fn first_build(self) -> &'static str {
        match self {
            Self::KubeApiserver => "about three minutes",
            Self::KubeControllerManager | Self::Extension => "about a minute",
            Self::Etcd | Self::Kubectl => "about half a minute",
        }
    }

    /// Kubebuilder's archives come without a controller manager; most tests do without.
    fn is_optional_in_assets(self) -> bool {
        self == Self::KubeControllerManager
    }
}

/// Why the programs are not there.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// There is no Go to build them with.
    #[error(
        "the real servers cannot be built; install Go, or set {ASSETS} to a folder with kube-apiserver, etcd and kubectl"
    )]
    GoMissing {
        /// What was tried.
        #[source]
        source: GoError,
    },
    /// The folder that the environment names lacks a program.
    #[error("{ASSETS} names {}, but there is no {} in it", folder.display(), program.name())]
    NotInAssets {
        /// The program that is missing.
        program: Program,
        /// The folder.
        folder: PathBuf,
    },
    /// The environment says neither where the cache is nor where the home folder is.
    #[error("no place for the real servers; set {CACHE} or HOME to an absolute path")]
    NoCache,
    /// A build failed.
    #[error("cannot build {}", program.name())]
    Build {
        /// What was built.
        program: Program,
        /// Why it failed.
        #[source]
        source: BuildError,
    },
}

impl PeersError {
    /// Whether installing Go is what helps.
    pub fn is_go_missing(&self) -> bool {
        matches!(self, Self::GoMissing { .. })
    }

    fn of_build(program: Program, source: BuildError) -> Self {
        match source {
            BuildError::Go(source) if source.is_missing() => Self::GoMissing { source },
            source => Self::Build { program, source },
        }
    }
}

/// The programs, ready to run.
#[derive(Debug, Clone)]
pub struct Peers {
    programs: BTreeMap<Program, PathBuf>,
}

impl Peers {
    /// Takes the programs from where the environment says they are, or builds those that are not in the cache yet.
    pub fn find_or_build() -> Result<Self, PeersError> {
        match non_empty(std::env::var_os(ASSETS)) {
            Some(folder) => Self::in_assets(Path::new(&folder)),
            None => Self::in_cache(&cache_folder(|name| std::env::var_os(name)).ok_or(PeersError::NoCache)?),
        }
    }

    /// The Go extension, built when it is not in the cache yet. Assets have no such program.
    pub fn extension() -> Result<PathBuf, PeersError> {
        let cache = cache_folder(|name| std::env::var_os(name)).ok_or(PeersError::NoCache)?;
        let built = build::find_or_build(&Go::default(), &cache, Program::Extension);
        built.map_err(|error| PeersError::of_build(Program::Extension, error))
    }

    /// Where a program is. `None`: only for the controller manager, when `KUBEBUILDER_ASSETS` is set and lacks it.
    pub fn path(&self, program: Program) -> Option<&Path> {
        self.programs.get(&program).map(PathBuf::as_path)
    }

    fn in_assets(folder: &Path) -> Result<Self, PeersError> {
        let mut programs = BTreeMap::new();
        for program in Program::ALL {
            let path = folder.join(program.name());
            if path.is_file() {
                programs.insert(program, path);
            } else if !program.is_optional_in_assets() {
                return Err(PeersError::NotInAssets { program, folder: folder.to_owned() });
            }
        }
        Ok(Self { programs })
    }

    fn in_cache(cache: &Path) -> Result<Self, PeersError> {
        let go = Go::default();
        let build = |program| match build::find_or_build(&go, cache, program) {
            Ok(path) => Ok((program, path)),
            Err(error) => Err(PeersError::of_build(program, error)),
        };
        Ok(Self { programs: Program::ALL.into_iter().map(build).collect::<Result<_, _>>()? })
    }
}

/// The folder of the cache by the rules of the XDG base directories, which do not count relative paths.
fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder(CACHE)
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("refit/peers")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/refit/peers")))
}

fn non_empty(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_cache(environment: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        assert_eq!(cache_folder(variable), expected.map(PathBuf::from), "{environment:?}");
    }

    #[test]
    fn own_variable_goes_before_xdg_and_home() {
        check_cache(&[(CACHE, "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/c"));
        check_cache(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/refit/peers"));
        check_cache(&[("HOME", "/h")], Some("/h/.cache/refit/peers"));
        check_cache(&[(CACHE, ""), ("XDG_CACHE_HOME", "relative"), ("HOME", "/h")], Some("/h/.cache/refit/peers"));
        check_cache(&[], None);
    }

    fn assets(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn missing_program_in_assets_is_named() {
        let folder = assets(&["etcd", "kubectl"]);
        let error = Peers::in_assets(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("but there is no kube-apiserver in it"), "{error}");
    }

    #[test]
    fn assets_may_lack_the_controller_manager() {
        let folder = assets(&["etcd", "kubectl", "kube-apiserver"]);
        let peers = Peers::in_assets(folder.path()).unwrap();
        assert_eq!(peers.path(Program::KubeControllerManager), None);
        assert_eq!(peers.path(Program::Etcd), Some(folder.path().join("etcd").as_path()));
    }
}
