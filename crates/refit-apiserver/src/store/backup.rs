//! Backups: everything that a store holds at one version, as lines of JSON.
//!
//! The first line says what it is, the last how many objects there were and the digest of all lines before it, so that a
//! backup that was cut off or damaged is found out. The form knows nothing of how the store keeps its objects.

use std::io::{self, BufRead};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Key, Revision, Snapshot};

/// The form that this code writes. Older ones are none yet; newer ones are refused.
pub const FORMAT: u64 = 1;
/// The longest line that is read: an object of 3 MiB, whose text may grow sixfold by escapes, and what is around it.
const MAX_LINE_BYTES: u64 = 20 << 20;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    refit_backup: u64,
    /// The version of the store: no object is newer.
    version: u64,
}

/// Any line after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    /// Cluster, resource, namespace and name, the version of the object, and the object.
    Object {
        object: (String, String, String, String),
        version: u64,
        value: Value,
    },
    /// A file of the data folder besides the store.
    File {
        file: String,
        content: String,
    },
    End {
        end: End,
    },
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    objects: u64,
    sha256: String,
}

/// What a backup holds, entry by entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Object { key: Key, revision: Revision, value: Value },
    File { name: String, content: String },
}

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the backup cannot be read")]
    Read(#[source] io::Error),
    #[error("line {line} of the backup is damaged: {problem}")]
    Line { line: u64, problem: String },
    #[error("this is no backup: {problem}")]
    Head { problem: String },
    #[error("the backup has format {found}, this program knows {FORMAT}")]
    Format { found: u64 },
    #[error("the backup ends after {objects} objects without its last line: it was cut off")]
    CutOff { objects: u64 },
    #[error("the backup is damaged: {problem}")]
    Digest { problem: String },
}

/// Writes the lines of a backup.
pub struct Writer {
    digest: Sha256,
    objects: u64,
}

impl Writer {
    /// Returns the writer and the first line.
    pub fn new(version: Revision) -> (Self, Bytes) {
        let mut writer = Self { digest: Sha256::new(), objects: 0 };
        let head = writer.line(&Head { refit_backup: FORMAT, version: version.0 });
        (writer, head)
    }

    /// The line of an entry.
    pub fn entry(&mut self, entry: Entry) -> Bytes {
        match entry {
            Entry::File { name, content } => self.line(&Line::File { file: name, content }),
            Entry::Object { key, revision, value } => {
                self.objects += 1;
                let part = |text: &str| text.to_owned();
                let object = (part(key.cluster()), part(key.resource()), part(key.namespace()), part(key.name()));
                self.line(&Line::Object { object, version: revision.0, value })
            }
        }
    }

    /// The last line.
    pub fn end(mut self) -> Bytes {
        let sha256 = hex(&self.digest.clone().finalize());
        self.line(&Line::End { end: End { objects: self.objects, sha256 } })
    }

    fn line(&mut self, line: &impl Serialize) -> Bytes {
        let mut text = serde_json::to_vec(line).expect("a line of a backup must encode");
        text.push(b'\n');
        self.digest.update(&text);
        text.into()
    }
}

/// All lines of a snapshot, made one after the other.
pub fn lines(snapshot: Snapshot) -> impl Iterator<Item = Bytes> + Send {
    let (writer, head) = Writer::new(snapshot.revision);
    let mut writer = Some(writer);
    let mut records = snapshot.records.into_iter();
    let rest = std::iter::from_fn(move || match records.next() {
        Some(record) => {
            let (key, revision, value) = (record.key().clone(), record.revision(), (*record.value()).clone());
            writer.as_mut().map(|writer| writer.entry(Entry::Object { key, revision, value }))
        }
        None => writer.take().map(Writer::end),
    });
    std::iter::once(head).chain(rest)
}

/// Reads a backup: its version, and then its entries. Only after the last entry is it known that all is well.
pub struct Reader<R> {
    from: R,
    version: Revision,
    digest: Sha256,
    line: u64,
    objects: u64,
    has_ended: bool,
}

impl<R: BufRead> Reader<R> {
    pub fn new(from: R) -> Result<Self, BackupError> {
        let mut reader =
            Self { from, version: Revision(0), digest: Sha256::new(), line: 0, objects: 0, has_ended: false };
        let first = reader.read()?.unwrap_or_default();
        let no_head = |error: serde_json::Error| BackupError::Head { problem: error.to_string() };
        let head: Head = serde_json::from_slice(&first).map_err(no_head)?;
        if head.refit_backup != FORMAT {
            return Err(BackupError::Format { found: head.refit_backup });
        }
        reader.digest.update(&first);
        reader.version = Revision(head.version);
        Ok(reader)
    }

    /// The version of the store that the backup was made of.
    pub fn version(&self) -> Revision {
        self.version
    }

    /// How many objects were read so far.
    pub fn objects(&self) -> u64 {
        self.objects
    }

    /// The next entry; `None` after the last, once everything was found to be there.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, BackupError> {
        if self.has_ended {
            return Ok(None);
        }
        let Some(text) = self.read()? else { return Err(BackupError::CutOff { objects: self.objects }) };
        let line = serde_json::from_slice(&text).map_err(|error| self.damaged(&error.to_string()))?;
        let entry = match line {
            Line::End { end } => return self.end(&end),
            Line::File { file, content } => Entry::File { name: file, content },
            Line::Object { object: (cluster, resource, namespace, name), version, value } => {
                if version > self.version.0 {
                    return Err(self.damaged("the object is newer than the backup"));
                }
                self.objects += 1;
                let key = Key::new(cluster, resource, namespace, name);
                Entry::Object { key, revision: Revision(version), value }
            }
        };
        self.digest.update(&text);
        Ok(Some(entry))
    }

    fn end(&mut self, end: &End) -> Result<Option<Entry>, BackupError> {
        if end.objects != self.objects {
            let problem = format!("it holds {} objects, and says that it holds {}", self.objects, end.objects);
            return Err(BackupError::Digest { problem });
        }
        if end.sha256 != hex(&self.digest.clone().finalize()) {
            return Err(BackupError::Digest { problem: "its content is not what was written".to_owned() });
        }
        if self.read()?.is_some() {
            return Err(BackupError::Digest { problem: "there is something behind its end".to_owned() });
        }
        self.has_ended = true;
        Ok(None)
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        let mut text = Vec::new();
        let mut bounded = io::Read::take(&mut self.from, MAX_LINE_BYTES);
        bounded.read_until(b'\n', &mut text).map_err(BackupError::Read)?;
        self.line += 1;
        match text.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(text)),
            Some(_) if text.len() as u64 == MAX_LINE_BYTES => Err(self.damaged("the line is too long")),
            Some(_) => Err(BackupError::CutOff { objects: self.objects }),
        }
    }

    fn damaged(&self, problem: &str) -> BackupError {
        BackupError::Line { line: self.line, problem: problem.to_owned() }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Vec<u8> {
        let (mut writer, head) = Writer::new(Revision(9));
        let mut text = head.to_vec();
        text.extend(writer.entry(Entry::File { name: "pki/ca.key".to_owned(), content: "a\nb".to_owned() }));
        for number in 1..4_u64 {
            let key = Key::new("", "/configmaps", "default", format!("n{number}"));
            let value = json!({"metadata": {"resourceVersion": number.to_string()}, "text": "x\u{2028}\n"});
            text.extend(writer.entry(Entry::Object { key, revision: Revision(number), value }));
        }
        text.extend(writer.end());
        text
    }

    fn read(bytes: &[u8]) -> Result<(Revision, Vec<Entry>), BackupError> {
        let mut reader = Reader::new(bytes)?;
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            entries.push(entry);
        }
        Ok((reader.version(), entries))
    }

    #[test]
    fn what_was_written_is_read() {
        let (version, entries) = read(&sample()).unwrap();
        assert_eq!((version, entries.len()), (Revision(9), 4));
        assert_eq!(entries[0], Entry::File { name: "pki/ca.key".to_owned(), content: "a\nb".to_owned() });
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_found() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit}: {}", String::from_utf8_lossy(&damaged));
        }
        let mut longer = whole.clone();
        longer.extend(b"{}\n");
        assert!(read(&longer).is_err());
    }

    #[test]
    fn a_newer_form_is_refused() {
        assert!(matches!(read(b"{\"refitBackup\":2,\"version\":1}\n"), Err(BackupError::Format { found: 2 })));
        assert!(matches!(read(b"hello\n"), Err(BackupError::Head { .. })));
    }
}
