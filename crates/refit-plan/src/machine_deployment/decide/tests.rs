//! The decision as a whole: rules that exist only here, and stories with the other controllers played.

mod nonsense;
mod rules;
mod stories;
mod world;
