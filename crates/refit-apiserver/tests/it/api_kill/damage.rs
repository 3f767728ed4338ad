//! A bit of the store is another one than was written.

use std::fs;
use std::path::Path;

use super::server::Server;

/// What became of a server whose store is damaged.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did not start. The store is whole again.
    Refused,
    /// It has started: whoever looks at its objects next finds out whether one is missing.
    Started,
}

impl Outcome {
    pub fn is_refused(&self) -> bool {
        *self == Self::Refused
    }
}

/// Flips one bit of the store that a killed server left, and starts a server on it.
pub fn flip_a_bit(folder: &Path, round: u64) -> Outcome {
    let (file, noted) = (folder.join("store.redb"), folder.join("store.version"));
    let (whole, version) = (fs::read(&file).expect("it must be readable"), fs::read(&noted).ok());
    let mut damaged = whole.clone();
    let at = place(&whole, round);
    damaged[at] ^= 1 << (round % 8);
    fs::write(&file, damaged).expect("it must be writable");
    match Server::try_start(folder) {
        Ok(mut server) => {
            server.kill();
            Outcome::Started
        }
        Err(words) => {
            assert!(words.contains("store"), "byte {at}: what is damaged must be named: {words}");
            fs::write(&file, whole).expect("it must be writable");
            match version {
                Some(version) => fs::write(&noted, version).expect("it must be writable"),
                None => fs::remove_file(&noted).unwrap_or_default(),
            }
            Outcome::Refused
        }
    }
}

/// The header with its two commit slots every other time, and otherwise anywhere in what is used.
fn place(whole: &[u8], round: u64) -> usize {
    let used = whole.iter().rposition(|byte| *byte != 0).expect("a store must not be empty");
    let number = usize::try_from(round.wrapping_mul(2_654_435_761)).unwrap_or_default();
    if round.is_multiple_of(2) { number % 320 } else { number % used }
}
