//! Tests of the decisions as a whole. The rules are in the modules of their own names below.

mod defects;
pub(super) mod fixtures;
mod properties;
mod rules;
mod walk_through;
mod world;
