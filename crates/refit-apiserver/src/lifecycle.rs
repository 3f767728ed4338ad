//! What happens to objects because of others: those without an owner go, those in a namespace go with it, and the
//! objects of a definition go with it. Decides purely; the API carries it out.

mod graph;
mod namespace;
mod owners;

pub use graph::Graph;
pub use namespace::{Contents, describe, is_to_be_emptied, release};
pub use owners::{OwnerRef, Standing, Verdict, blocks, drop_owners, judge, owner_refs, unblock};
