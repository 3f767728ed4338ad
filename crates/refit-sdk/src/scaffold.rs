//! A new extension: a small project that builds, is tested, and can be deployed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use refit_api::admission::names::dns_1035_label_problem;

/// The longest name, so that the names that are made of it fit into a label too.
pub const MAX_NAME_LENGTH: usize = 40;

const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("../templates/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("../templates/src/lib.rs")),
    ("src/main.rs", include_str!("../templates/src/main.rs")),
    ("README.md", include_str!("../templates/README.md")),
    ("Dockerfile", include_str!("../templates/Dockerfile")),
    ("deploy.yaml", include_str!("../templates/deploy.yaml")),
    ("rustfmt.toml", include_str!("../templates/rustfmt.toml.txt")),
    (".gitignore", include_str!("../templates/gitignore.txt")),
];

/// Where the new project gets this crate from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SdkSource {
    /// The registry, in the version of this crate.
    #[default]
    Version,
    /// A folder.
    Path(PathBuf),
    /// A git repository.
    Git(String),
}

/// Why no project was made.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    #[error("{name:?} cannot be the name of an extension: {problem}")]
    Name { name: String, problem: String },
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The files of a project with this name, by their paths in its folder.
pub fn files(name: &str, source: &SdkSource) -> Result<BTreeMap<&'static str, String>, ScaffoldError> {
    check_name(name)?;
    let dependency = match source {
        SdkSource::Version => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
        SdkSource::Path(path) => format!("path = {}", quoted(&path.to_string_lossy())),
        SdkSource::Git(url) => format!("git = {}", quoted(url)),
    };
    let fill = |text: &str| {
        text.replace("@NAME@", name).replace("@CRATE@", &name.replace('-', "_")).replace("@DEPENDENCY@", &dependency)
    };
    Ok(FILES.iter().map(|(path, text)| (*path, fill(text))).collect())
}

/// Writes a project into a folder that is not there yet. Gives the files that were written.
pub fn write(name: &str, source: &SdkSource, folder: &Path) -> Result<Vec<PathBuf>, ScaffoldError> {
    let files = files(name, source)?;
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => ScaffoldError::Exists(path),
            _ => ScaffoldError::Write { path, source },
        }
    };
    // Fails when the folder is there, so that nothing of anybody is overwritten.
    std::fs::create_dir(folder).map_err(cannot(folder))?;
    std::fs::create_dir(folder.join("src")).map_err(cannot(folder))?;
    let write = |(path, content): (&'static str, String)| {
        let path = folder.join(path);
        std::fs::write(&path, content).map_err(cannot(&path)).map(|()| path)
    };
    files.into_iter().map(write).collect()
}

/// The name becomes a crate, a Service and an ExtensionConfig; the Service has the strictest rules.
fn check_name(name: &str) -> Result<(), ScaffoldError> {
    const RESERVED: [&str; 7] = ["test", "core", "std", "alloc", "proc-macro", "refit-sdk", "tokio"];
    let error = |problem: String| Err(ScaffoldError::Name { name: name.to_owned(), problem });
    if let Some(problem) = dns_1035_label_problem(name) {
        return error(problem.to_owned());
    }
    if name.len() > MAX_NAME_LENGTH {
        return error(format!("must be at most {MAX_NAME_LENGTH} characters"));
    }
    if RESERVED.contains(&name) {
        return error("this is the name of another crate".to_owned());
    }
    Ok(())
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_to_be_filled_in() {
        for source in [SdkSource::Version, SdkSource::Path("/a \"b\"".into()), SdkSource::Git("https://x".to_owned())] {
            for (path, content) in files("my-extension", &source).expect("the name must be right") {
                for placeholder in ["@NAME@", "@CRATE@", "@DEPENDENCY@"] {
                    assert!(!content.contains(placeholder), "{path}");
                }
            }
        }
        let files = files("my-extension", &SdkSource::Path("/a \"b\"".into())).expect("the name must be right");
        assert!(files["Cargo.toml"].contains("refit-sdk = { path = \"/a \\\"b\\\"\" }"));
        assert!(files["src/main.rs"].contains("use my_extension::MyUpdater;"));
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for wrong in ["", "My", "my_extension", "-my", "my-", "1my", "my.ext", "../my", "test", &"m".repeat(41)] {
            assert!(matches!(files(wrong, &SdkSource::Version), Err(ScaffoldError::Name { .. })), "{wrong}");
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().expect("a folder must be made");
        let project = folder.path().join("mine");
        let written = write("mine", &SdkSource::Version, &project).expect("the project must be written");
        assert_eq!(written.len(), FILES.len());
        assert!(matches!(write("mine", &SdkSource::Version, &project), Err(ScaffoldError::Exists(_))));
        assert!(matches!(
            write("mine", &SdkSource::Version, Path::new("/no/such/place")),
            Err(ScaffoldError::Write { .. })
        ));
    }

    #[test]
    fn the_extension_config_is_one_that_a_cluster_admits() {
        let files = files("my-extension", &SdkSource::Version).expect("the name must be right");
        let config = files["deploy.yaml"].rsplit("---\n").next().unwrap_or_default();
        let config: refit_api::runtime::ExtensionConfig =
            refit_api::decode::from_yaml(config).expect("the ExtensionConfig must decode");
        assert_eq!(config.metadata.name.as_deref(), Some("my-extension"));
    }
}
