//! Runtime Hooks: what controllers ask of extensions, and what extensions answer.
//!
//! The catalog knows all hooks. Payloads exist for Discovery and the three hooks of in-place updates.
//!
//! # Decoding
//! A peer's payload is read as upstream reads it. The HTTP path alone says which type a body has, so `apiVersion`
//! and `kind` may be absent or wrong. Unknown fields are ignored. A `null` counts as an absent field, and an absent
//! field as an empty one. Values that a peer should not send but can (an unknown status, a negative
//! `retryAfterSeconds`) are kept: whoever called must see them and refuse them.
//!
//! # Encoding
//! `apiVersion` and `kind` are always written. The constructors give only what every peer understands.

mod can_update_machine;
mod can_update_machine_set;
mod catalog;
mod discovery;
mod names;
mod null;
mod object;
mod open_enum;
mod patch;
mod payload;
mod plain;
mod retry;
mod stripped;
mod update_machine;

pub use can_update_machine::*;
pub use can_update_machine_set::*;
pub use catalog::*;
pub use discovery::*;
pub use names::*;
pub use object::*;
pub use patch::*;
pub use payload::*;
pub use plain::plain;
pub use retry::*;
pub use update_machine::*;

#[cfg(test)]
mod tests;
