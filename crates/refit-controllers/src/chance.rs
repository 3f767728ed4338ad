//! The one source of randomness: names, and delays that should not all end at once.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{RngExt, SeedableRng};

/// Randomness that repeats for the same seed. Clones share it.
#[derive(Debug, Clone)]
pub struct Chance(Arc<Mutex<StdRng>>);

impl Chance {
    /// Seeded by the system.
    pub fn from_system() -> Self {
        Self::of(StdRng::try_from_rng(&mut SysRng).expect("the system must have randomness"))
    }

    /// Whose sequence is the same for the same seed.
    pub fn from_seed(seed: u64) -> Self {
        Self::of(StdRng::seed_from_u64(seed))
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    /// At least 0 and below 1.
    pub fn fraction(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    fn of(rng: StdRng) -> Self {
        Self(Arc::new(Mutex::new(rng)))
    }
}
