//! Conditions: what is true of an object at the moment, and why.
//!
//! Each condition that refit writes has one constructor, in the module of its kind: `machine::not_updating()`. It
//! gives a [`NewCondition`], which knows neither time nor generation; [`set`] puts it on an object. What is made from
//! the conditions of others goes through [`mirror`](fn@mirror), [`Summary`] or [`Aggregate`], and gives a
//! [`NewCondition`] too. Rules and messages are upstream's, as its tools and people read them.

mod aggregate;
mod common;
pub mod dynamic;
mod list;
mod merge;
mod mirror;
mod order;
mod referenced;
mod replicas;
mod summary;
mod three_way;
mod value;

pub mod cluster;
pub mod extension_config;
pub mod kubeadm_config;
pub mod kubeadm_control_plane;
pub mod machine;
pub mod machine_deployment;
pub mod machine_health_check;
pub mod machine_set;
pub mod refit;

#[cfg(test)]
mod testing;

pub use aggregate::{Aggregate, Source};
pub use common::{PausedBy, internal_error, not_deleting, not_paused, not_yet_reported, paused};
pub use list::{get, is_false, is_true, is_unknown, remove, set};
pub use merge::Reasons;
pub use mirror::mirror;
pub use order::sort;
pub use referenced::Referenced;
pub use summary::{Part, Summary, SummaryError};
pub use three_way::{Conflict, merge_changes};
pub use value::{NewCondition, Status, View};
