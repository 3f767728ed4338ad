//! The folder that holds a store, and its lock.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::OpenError;

const DATABASE: &str = "store.redb";
const LOCK: &str = "LOCK";

/// A folder that belongs to this process until the value is dropped or the process ends, however it ends.
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder where it is missing (readable by its owner only), and locks it.
    pub(crate) fn claim(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { path: path.to_owned(), source };
        create(path).map_err(failed)?;
        let mut lock = open_private(&path.join(LOCK)).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(OpenError::Locked { path: path.to_owned(), holder: holder(&mut lock) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // For people who look; the lock itself is the kernel's and never stale.
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The database file, created where it is missing so that it is still there after a power loss.
    pub(super) fn database(&self) -> io::Result<File> {
        let file = open_private(&self.path.join(DATABASE))?;
        File::open(&self.path)?.sync_all()?;
        Ok(file)
    }
}

fn create(path: &Path) -> io::Result<()> {
    let missing: Vec<_> = path.ancestors().take_while(|folder| !named(folder).is_dir()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for parent in missing.iter().filter_map(|folder| folder.parent()) {
        File::open(named(parent))?.sync_all()?;
    }
    Ok(())
}

/// The parent of a bare name is the empty path, by which nothing can be opened.
fn named(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Files that were made readable for others are taken back.
fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => format!("process {}", text.trim()),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}
