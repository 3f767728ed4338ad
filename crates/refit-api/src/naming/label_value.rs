//! Names as label values. A name may be 253 characters long, a label value 63.

use crate::admission::names::label_value_problem;

/// The name itself if it fits into a label value, otherwise a hash of it: `hash_<base64>_z`.
///
/// To find out whether a label stands for a name, compare the label with this.
pub fn label_value_of(name: &str) -> String {
    if label_value_problem(name).is_none() {
        return name.to_owned();
    }
    format!("hash_{}_z", base64_url(fnv32a(name.as_bytes())))
}

/// The 32-bit FNV-1a hash, which Cluster API uses wherever it hashes something into a label.
pub fn fnv32a(bytes: &[u8]) -> u32 {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

/// Base64 of the four bytes, most significant first, in the alphabet for URLs and without padding.
fn base64_url(hash: u32) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // 32 bits fill five digits of six bits and a third of a sixth one; the rest of that one is zero.
    let bits = u64::from(hash) << 4;
    (0..6).rev().map(|digit| char::from(ALPHABET[(bits >> (6 * digit)) as usize & 63])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashes_equal_the_published_vectors() {
        let vectors = [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)];
        for (text, expected) in vectors {
            assert_eq!(fnv32a(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn names_that_fit_stay_and_others_are_hashed() {
        let cases = [
            ("machineSetName".to_owned(), "machineSetName"),
            (String::new(), ""),
            // Made with Go's hash/fnv and encoding/base64.
            ("machineSetName".repeat(12), "hash_FR_ghQ_z"),
            ("a".repeat(64), "hash_2W8PhQ_z"),
            ("-".to_owned(), "hash_KAyUOA_z"),
        ];
        for (name, expected) in cases {
            assert_eq!(label_value_of(&name), expected, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn the_result_is_always_a_label_value(name in ".{0,100}|[a-z.-]{60,70}") {
            let value = label_value_of(&name);
            prop_assert_eq!(label_value_problem(&value), None);
            prop_assert!(value == name || value.len() == "hash_".len() + 6 + "_z".len());
        }
    }
}
