//! Chance, through one door.

use std::sync::{Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{RngExt, SeedableRng};

use crate::write::Fresh;

/// The one source of randomness: uids and the suffixes of generated names.
pub struct Entropy(Mutex<StdRng>);

impl Entropy {
    /// Whose sequence cannot be guessed.
    pub fn from_system() -> Self {
        Self(Mutex::new(StdRng::try_from_rng(&mut SysRng).expect("the system must have randomness")))
    }

    /// Whose sequence is the same for the same seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    pub(super) fn fresh(&self) -> Fresh {
        Fresh::from_random(self.0.lock().unwrap_or_else(PoisonError::into_inner).random())
    }
}
