//! Digests of documents, by which clients tell whether one has changed.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes in upper case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02X}").expect("a string must take text");
        text
    })
}
