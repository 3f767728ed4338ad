//! Building a program once per content of what it is built from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Program;
use crate::GoError;
use crate::go::{Go, Module};
use crate::report::say;

/// How many hexadecimal digits of the content's hash are in a folder's name. 48 bits tell apart the few that a machine ever has.
const KEY_DIGITS: usize = 12;

/// Why a program could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Go said no.
    #[error(transparent)]
    Go(#[from] GoError),
    /// The cache is not writable.
    #[error("cannot write to {}", folder.display())]
    Cache {
        /// The folder of the module in the cache.
        folder: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// The path of a program in the cache, after building it when it was not there.
pub(super) fn find_or_build(go: &Go, cache: &Path, program: Program) -> Result<PathBuf, BuildError> {
    let recipe = Recipe::new(go, program.module())?;
    let folder = cache.join(recipe.folder_name());
    let target = folder.join(program.name());
    if !target.is_file() {
        let cannot_write = |source| BuildError::Cache { folder: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(cannot_write)?;
        let _lock = lock(&folder, program).map_err(cannot_write)?;
        // Whoever held the lock before may have built it.
        if !target.is_file() {
            build(go, program, &recipe, &folder, &target)?;
        }
    }
    Ok(target)
}

/// Builds beside the target and renames, so that a program in the cache is always a whole one.
fn build(go: &Go, program: Program, recipe: &Recipe, folder: &Path, target: &Path) -> Result<(), BuildError> {
    say(&format!("building {} {}, {} the first time", program.name(), recipe.version, program.first_build()));
    let cannot_write = |source| BuildError::Cache { folder: folder.to_owned(), source };
    let scratch = tempfile::Builder::new().prefix(".build-").tempdir_in(folder).map_err(cannot_write)?;
    let output = scratch.path().join(program.name());
    let mut arguments = vec!["build".into(), "-o".into(), output.clone().into_os_string()];
    arguments.extend(recipe.flags.iter().chain([&program.package()]).map(Into::into));
    go.run(program.module(), arguments)?;
    std::fs::rename(&output, target).map_err(cannot_write)
}

/// Holds off other processes that want to build from the same module until the file is dropped.
fn lock(folder: &Path, program: Program) -> io::Result<File> {
    let file = File::create(folder.join(".lock"))?;
    if file.try_lock().is_err() {
        say(&format!("waiting for another process that builds the module of {}", program.name()));
        file.lock()?;
    }
    Ok(file)
}

/// Everything that decides what comes out of a build, but for the package.
struct Recipe {
    module: Module,
    version: String,
    flags: Vec<String>,
    key: String,
}

impl Recipe {
    fn new(go: &Go, module: Module) -> Result<Self, BuildError> {
        let version = module.version()?;
        let flags = flags(module, &version);
        let identity = go.identity(module)?;
        let sources = module.sources()?;
        let parts = sources.iter().flat_map(|(name, content)| [name.as_bytes(), content]);
        let key = key([identity.as_slice()].into_iter().chain(flags.iter().map(String::as_bytes)).chain(parts));
        Ok(Self { module, version, flags, key })
    }

    fn folder_name(&self) -> String {
        format!("{}-{}-{}", self.module.name(), self.version, self.key)
    }
}

fn flags(module: Module, version: &str) -> Vec<String> {
    let stamp = match module {
        Module::Kubernetes => kubernetes_stamp(version),
        Module::Etcd | Module::ClusterApi | Module::Extension => String::new(),
    };
    vec!["-trimpath".to_owned(), "-buildvcs=false".to_owned(), format!("-ldflags=-s -w{stamp}")]
}

/// The programs of Kubernetes know their version only when the linker is told.
fn kubernetes_stamp(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let variables = [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)];
    variables.iter().map(|(name, value)| format!(" -X k8s.io/component-base/version.{name}={value}")).collect()
}

/// A short hash over parts. Each part's length goes in too, so that moving a border between two parts changes it.
fn key<'part>(parts: impl Iterator<Item = &'part [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..KEY_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(parts: &[&str]) -> String {
        key(parts.iter().map(|part| part.as_bytes()))
    }

    #[test]
    fn key_depends_on_content_and_borders() {
        assert_eq!(key_of(&["ab", "c"]), key_of(&["ab", "c"]));
        assert_ne!(key_of(&["ab", "c"]), key_of(&["a", "bc"]));
        assert_ne!(key_of(&["ab"]), key_of(&["ab", ""]));
        assert_eq!(key_of(&[]).len(), KEY_DIGITS);
    }

    #[test]
    fn kubernetes_is_told_its_version() {
        assert_eq!(
            flags(Module::Kubernetes, "v1.36.3")[2],
            "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
             -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
        );
        assert_eq!(flags(Module::Etcd, "v3.6.5")[2], "-ldflags=-s -w");
    }
}
