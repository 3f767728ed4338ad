//! Everything that leaves the objects as they are: get, list, watch, and how they are shown.

pub mod accept;
mod bare;
pub mod list;
pub mod pieces;
pub mod selector;
pub mod view;
pub mod watch;

pub use view::View;
