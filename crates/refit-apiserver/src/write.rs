//! Every change of an object, decided purely: from a request and what is stored to what shall be stored.
//!
//! The order is the real server's: decode, prune, default; then admission fills in; then the kind's own preparation and
//! validation; then admission judges.

mod admission;
mod create;
mod decode;
pub mod delete;
pub mod eviction;
pub mod options;
pub mod patch;
mod prepare;
mod scale;
mod update;
mod validation;

use jiff::Timestamp;
use serde_json::Value;

use crate::apply::Endpoint;
use crate::budget::Budget;
use crate::request::{Request, ResourcePath};
use crate::resource::Resource;

pub use create::create;
pub use decode::{Decoded, decode};
pub use options::{FieldValidation, Options};
pub use patch::{PatchType, patch};
pub(crate) use prepare::time;
pub use scale::{rescale, scale_of};
pub(crate) use update::is_let_go;
pub use update::{create_named, update};

/// All that a write may look at.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub request: &'a Request,
    pub path: &'a ResourcePath,
    pub resource: &'a Resource,
    pub options: &'a Options,
    pub now: Timestamp,
    pub fresh: &'a Fresh,
    /// Whether Cluster API's own defaulting and validation run.
    pub has_admission: bool,
    /// What the decision may use up.
    pub budget: &'a Budget,
}

impl<'a> Scene<'a> {
    /// Where the write goes: the resource itself, or a part of it that has owners of its own.
    fn endpoint(&self) -> &'a Endpoint {
        self.resource.endpoint(self.path.subresource.as_deref())
    }
}

/// What must be new with every object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    pub uid: String,
    /// Five characters for generated names.
    pub suffix: String,
}

/// What a write comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub change: Change,
    /// Sent with the answer as `Warning` headers.
    pub warnings: Vec<String>,
}

/// What happens to the stored object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It is now this.
    Put(Value),
    /// It stays as it is, with its version.
    Nothing,
    /// It goes. This is how it looked last; it is answered at its old version.
    Remove(Value),
}

/// The characters of generated names: no vowels, so that no words arise, and nothing that looks like something else.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// A generated name is at most as long as a label.
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_LENGTH;

impl Fresh {
    /// From random bytes: sixteen for the uid, the rest for the suffix.
    pub fn from_random(bytes: [u8; 24]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[..16]);
        id[6] = (id[6] & 0x0f) | 0x40;
        id[8] = (id[8] & 0x3f) | 0x80;
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        let character = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        Self { uid: parts.join("-"), suffix: bytes[16..16 + SUFFIX_LENGTH].iter().map(character).collect() }
    }

    /// A name that begins with `prefix`.
    pub fn name(&self, prefix: &str) -> String {
        let mut end = prefix.len().min(MAX_PREFIX_BYTES);
        while !prefix.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}{}", &prefix[..end], self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_random_uuids_and_names_stay_short() {
        let fresh = Fresh::from_random([0xff; 24]);
        assert_eq!(fresh.uid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(fresh.suffix.len(), 5);
        assert_eq!(fresh.name(&"a".repeat(100)).len(), 63);
        assert_eq!(fresh.name(&"ä".repeat(100)).len(), 63);
    }
}
