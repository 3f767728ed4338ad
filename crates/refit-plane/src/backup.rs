//! Backups of the embedded server's data: made while it runs or not, restored into a new folder, and looked through.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use kube::client::Body;
use refit_apiserver::access::BACKUP_PATH;
use refit_apiserver::store::backup::{BackupError, Entry, Reader, Writer, lines};
use refit_apiserver::store::{DiskError, OpenError, RestoreError, Store, Verified, WriteError};

use crate::client::{ClientError, connect};

/// What of the data folder besides the store is worth keeping. Everything else is made from these.
const FILES: [&str; 3] = ["pki/ca.crt", "pki/ca.key", "pki/tokens.json"];

/// Why there is no backup, or nothing was restored from it.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error("there is no store in folder {}", folder.display())]
    NoStore { folder: PathBuf },
    #[error("{} is there already", path.display())]
    Exists { path: PathBuf },
    #[error("{} cannot be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("the store cannot be read")]
    Snapshot(#[from] WriteError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Restore(RestoreError),
    #[error("the server that uses the folder cannot be reached")]
    Client(#[from] ClientError),
    #[error("the server that uses the folder gave no backup")]
    Request(#[source] Box<kube::Error>),
    #[error("the server that uses the folder answered {code}: {message}")]
    Refused { code: u16, message: String },
    #[error("the backup holds a file {name:?} that does not belong there")]
    OddFile { name: String },
}

/// Writes everything that a data folder holds at one version into a file, also while a server uses the folder.
///
/// # Guarantees
/// The file is there as a whole or not at all, and only its owner can read it: it holds secrets and keys.
pub async fn back_up(folder: &Path, to: &Path) -> Result<Verified, DataError> {
    if to.exists() {
        return Err(DataError::Exists { path: to.to_owned() });
    }
    if !folder.join("store.redb").exists() {
        return Err(DataError::NoStore { folder: folder.to_owned() });
    }
    let failed = |source| DataError::File { path: to.to_owned(), source };
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut objects = tempfile::tempfile_in(beside).map_err(failed)?;
    match Store::open(folder) {
        Ok(store) => {
            let snapshot = store.snapshot().await?;
            lines(snapshot).try_for_each(|line| objects.write_all(&line)).map_err(failed)?;
        }
        Err(OpenError::Locked { .. }) => download(folder, &mut objects, to).await?,
        Err(error) => return Err(error.into()),
    }
    objects.rewind().map_err(failed)?;
    let partial = with_suffix(to, ".partial");
    let written = join(folder, BufReader::new(objects), &partial);
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    let written = written?;
    fs::rename(&partial, to).and_then(|()| File::open(beside)?.sync_all()).map_err(failed)?;
    Ok(written)
}

/// Asks the server that uses the folder.
async fn download(folder: &Path, into: &mut File, to: &Path) -> Result<(), DataError> {
    let client = connect(Some(&folder.join("admin.kubeconfig"))).await?;
    let request = http::Request::get(BACKUP_PATH).body(Body::empty()).expect("the request must be well formed");
    let failed = |error| DataError::Request(Box::new(error));
    let response = client.send(request).await.map_err(failed)?;
    let code = response.status().as_u16();
    let mut body = response.into_body().into_data_stream();
    if code != 200 {
        let said = body.take(16).try_collect::<Vec<_>>().await.unwrap_or_default().concat();
        return Err(DataError::Refused { code, message: String::from_utf8_lossy(&said).into_owned() });
    }
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(failed)?;
        into.write_all(&chunk).map_err(|source| DataError::File { path: to.to_owned(), source })?;
    }
    Ok(())
}

/// Puts the files of the folder before the objects, and looks through these on the way.
fn join(folder: &Path, objects: impl io::BufRead, to: &Path) -> Result<Verified, DataError> {
    let failed = |source| DataError::File { path: to.to_owned(), source };
    let mut out = BufWriter::new(private(to, false).map_err(failed)?);
    let mut objects = Reader::new(objects)?;
    let (mut writer, head) = Writer::new(objects.version());
    out.write_all(&head).map_err(failed)?;
    for name in FILES {
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Ok(content) => {
                let line = writer.entry(Entry::File { name: name.to_owned(), content });
                out.write_all(&line).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DataError::File { path, source }),
        }
    }
    while let Some(entry) = objects.next_entry()? {
        out.write_all(&writer.entry(entry)).map_err(failed)?;
    }
    out.write_all(&writer.end()).map_err(failed)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(Verified { objects: objects.objects(), version: objects.version() })
}

/// Makes a data folder from a backup. The folder must hold no store.
pub fn restore(from: &Path, folder: &Path) -> Result<Verified, DataError> {
    // All of it is looked through before anything is made.
    verify(from)?;
    Store::restore(folder, open(from)?, |name, content| write_file(folder, name, content)).map_err(DataError::Restore)
}

fn write_file(folder: &Path, name: &str, content: &str) -> Result<(), RestoreError> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    let written = DirBuilder::new().recursive(true).mode(0o700).create(parent).and_then(|()| {
        let mut file = private(&path, true)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|source| RestoreError::Disk(DiskError::Reopen(source)))
}

/// Reads all of a data folder that no server uses, or of a backup, and compares it with its checksums.
pub fn verify(path: &Path) -> Result<Verified, DataError> {
    if path.is_dir() {
        return Ok(Store::verify(path)?);
    }
    let mut backup = Reader::new(open(path)?)?;
    while let Some(entry) = backup.next_entry()? {
        if let Entry::File { name, .. } = entry
            && !FILES.contains(&name.as_str())
        {
            return Err(DataError::OddFile { name });
        }
    }
    Ok(Verified { objects: backup.objects(), version: backup.version() })
}

fn open(path: &Path) -> Result<BufReader<File>, DataError> {
    let file = File::open(path).map_err(|source| DataError::File { path: path.to_owned(), source })?;
    Ok(BufReader::new(file))
}

/// A file that only its owner can read. What is there already is replaced, unless it must be new.
fn private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if is_new {
        options.create_new(true)
    } else {
        options.create(true).truncate(true)
    };
    options.open(path)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
