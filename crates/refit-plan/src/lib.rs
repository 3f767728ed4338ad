//! Every decision of refit, pure: from what was observed to what to do and why.
//!
//! There is no client, no clock and no randomness in this crate: the time is a field of what was observed, and a random
//! suffix comes in as a number. The same input gives the same output, whatever the order in which things were registered.

pub mod coverage;
pub mod effect;
pub mod plan;
pub mod waiting;
