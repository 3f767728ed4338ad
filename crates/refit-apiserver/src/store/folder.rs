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
/// A database that is being made, until it is whole.
const NEW_DATABASE: &str = "store.redb.new";
/// Says which version was acknowledged last.
const WITNESS: &str = "store.version";
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

    /// Whether there is a database file, and whether it holds anything.
    pub(super) fn holds_database(&self) -> io::Result<Option<bool>> {
        match fs::metadata(self.path.join(DATABASE)) {
            Ok(metadata) => Ok(Some(metadata.len() > 0)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a version was ever acknowledged here.
    pub(super) fn has_witness(&self) -> bool {
        self.path.join(WITNESS).exists()
    }

    pub(super) fn witness(&self) -> io::Result<File> {
        open_private(&self.path.join(WITNESS))
    }

    /// An empty file for a database that is yet to be made. What an earlier attempt left is gone.
    pub(super) fn new_database(&self) -> io::Result<File> {
        let file = open_private(&self.path.join(NEW_DATABASE))?;
        file.set_len(0)?;
        Ok(file)
    }

    /// Makes the new database the database.
    pub(super) fn adopt_new_database(&self) -> io::Result<()> {
        fs::rename(self.path.join(NEW_DATABASE), self.path.join(DATABASE))?;
        File::open(&self.path)?.sync_all()
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
