//! Files that only their owner may read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{CredentialsError, Pair};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// No file here comes near it; what does is something else.
const MAX_BYTES: u64 = 1024 * 1024;

/// Makes the folder where it is missing, and takes it back where others could read it.
pub(super) fn create_folder(path: &Path) -> Result<(), CredentialsError> {
    let made =
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path).and_then(|()| tighten(path, FOLDER_MODE));
    made.map_err(|source| CredentialsError::File { path: path.to_owned(), source })
}

/// A certificate and its key. `None` where one of them is missing.
pub(super) fn read_pair(folder: &Path, name: &str) -> Result<Option<Pair>, CredentialsError> {
    let read = |ending| -> Result<Option<String>, CredentialsError> {
        let path = file(folder, name, ending);
        let text = Private(&path).read()?;
        let broken = |_| CredentialsError::Content { path: path.clone(), problem: "it is no text".to_owned() };
        text.map(String::from_utf8).transpose().map_err(broken)
    };
    let (certificate, key) = (read("crt")?, read("key")?);
    Ok(certificate.zip(key).map(|(certificate, key)| Pair { certificate, key }))
}

/// Writes both. A crash in between leaves a key without a certificate, which counts as none.
pub(super) fn write_pair(folder: &Path, name: &str, pair: &Pair) -> Result<(), CredentialsError> {
    remove_pair(folder, name)?;
    Private(&file(folder, name, "key")).write(pair.key.as_bytes())?;
    Private(&file(folder, name, "crt")).write(pair.certificate.as_bytes())
}

pub(super) fn remove_pair(folder: &Path, name: &str) -> Result<(), CredentialsError> {
    ["crt", "key"].iter().try_for_each(|ending| Private(&file(folder, name, ending)).remove())
}

fn file(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}.{ending}"))
}

/// A file that nobody else may read.
pub(super) struct Private<'a>(pub(super) &'a Path);

impl Private<'_> {
    /// What is in it; `None` where it is missing. A file that others could read is taken back.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, CredentialsError> {
        match self.try_read() {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn try_read(&self) -> io::Result<Vec<u8>> {
        if fs::metadata(self.0)?.len() > MAX_BYTES {
            return Err(io::Error::new(ErrorKind::InvalidData, "the file is too large"));
        }
        tighten(self.0, FILE_MODE)?;
        fs::read(self.0)
    }

    /// Replaces it as a whole: whoever reads sees the old or the new, after a crash, too.
    pub(super) fn write(&self, content: &[u8]) -> Result<(), CredentialsError> {
        self.try_write(content).map_err(|source| self.failed(source))
    }

    fn try_write(&self, content: &[u8]) -> io::Result<()> {
        let mut draft = self.0.as_os_str().to_owned();
        draft.push(".new");
        // One that a crash left behind may have been given other rights.
        remove(Path::new(&draft))?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, self.0)?;
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn remove(&self) -> Result<(), CredentialsError> {
        remove(self.0).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> CredentialsError {
        CredentialsError::File { path: self.0.to_owned(), source }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn tighten(path: &Path, mode: u32) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(())
}
