//! One object on disk: a checksum, its version, where the version goes in the text, and the compressed text.

use std::sync::Arc;

use super::{Key, Record, Revision, decoded::Decoded, encoded::fill};

/// Stands for a text without a version in it.
const NO_GAP: u32 = u32::MAX;

/// Puts a record's head before its compressed text.
pub(super) fn pack(record: &Record, compressed: &[u8]) -> Vec<u8> {
    let gap = record.gap().unwrap_or(NO_GAP);
    let mut packed = vec![0; 8];
    packed.extend_from_slice(&record.revision().0.to_le_bytes());
    packed.extend_from_slice(&gap.to_le_bytes());
    packed.extend_from_slice(compressed);
    let checksum = keyed_checksum(record.key(), &packed[8..]);
    packed[..8].copy_from_slice(&checksum.to_le_bytes());
    packed
}

/// Reads a record, or finds that this is none. Behind the checksum stands what was written under this key, and that can
/// be decoded.
pub(super) fn unpack(key: &Key, packed: &[u8], decoded: &Arc<Decoded>) -> Option<Record> {
    let (sum, rest) = packed.split_first_chunk()?;
    if u64::from_le_bytes(*sum) != keyed_checksum(key, rest) {
        return None;
    }
    let (revision, rest) = rest.split_first_chunk()?;
    let (gap, compressed) = rest.split_first_chunk()?;
    let revision = Revision(u64::from_le_bytes(*revision));
    let gap = Some(u32::from_le_bytes(*gap)).filter(|gap| *gap != NO_GAP);
    let text = lz4_flex::decompress_size_prepended(compressed).ok()?;
    Some(Record::new(key.clone(), revision, (fill(&text, gap, revision), gap), decoded, None))
}

/// What format 1 wrote, with the checksum that the current format has. `None` for what is damaged.
pub(super) fn upgraded(key: &Key, packed: &[u8]) -> Option<Vec<u8>> {
    let (sum, rest) = packed.split_first_chunk()?;
    if u64::from_le_bytes(*sum) != checksum_of(rest) {
        return None;
    }
    Some([&keyed_checksum(key, rest).to_le_bytes()[..], rest].concat())
}

/// A checksum that covers the key as well: a record that turns up under another key is found out.
fn keyed_checksum(key: &Key, bytes: &[u8]) -> u64 {
    let parts = [key.cluster(), key.resource(), key.namespace(), key.name()];
    // No byte of a text is 0xff, so that no two keys look alike.
    let key = parts.iter().fold(BASIS, |sum, part| add(add(sum, part.as_bytes()), &[0xff]));
    add(key, bytes)
}

/// FNV-1a. Finds damage, which is all that is asked of it.
pub(super) fn checksum_of(bytes: &[u8]) -> u64 {
    add(BASIS, bytes)
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::store::encoded::Encoded;

    fn packed(value: &Value) -> Vec<u8> {
        let encoded = Encoded::new(value);
        let text = (encoded.at(Revision(1_000)), encoded.gap);
        let record = Record::new(key(), Revision(1_000), text, &Arc::default(), None);
        pack(&record, &lz4_flex::compress_prepend_size(&encoded.text))
    }

    fn key() -> Key {
        Key::new("c", "r", "ns", "n")
    }

    #[test]
    fn an_object_comes_back_with_its_version() {
        let record = unpack(&key(), &packed(&json!({"metadata": {"name": "n"}, "x": [1.5]})), &Arc::default()).unwrap();
        assert_eq!(record.revision(), Revision(1_000));
        assert_eq!(*record.value(), json!({"metadata": {"name": "n", "resourceVersion": "1000"}, "x": [1.5]}));
        let plain = unpack(&key(), &packed(&json!([1])), &Arc::default()).unwrap();
        assert_eq!(*plain.value(), json!([1]));
    }

    #[test]
    fn damage_is_found() {
        let whole = packed(&json!({"metadata": {"name": "n"}, "text": "abc".repeat(50)}));
        for length in 0..whole.len() {
            assert_eq!(unpack(&key(), &whole[..length], &Arc::default()), None, "cut to {length}");
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unpack(&key(), &damaged, &Arc::default()), None, "bit {bit}");
        }
        assert_eq!(unpack(&Key::new("c", "r", "ns", "m"), &whole, &Arc::default()), None, "under another name");
        assert_eq!(unpack(&Key::new("c", "r", "nsn", ""), &whole, &Arc::default()), None, "cut elsewhere");
    }
}
