//! The decision as a whole: rules that exist only here, and stories with the other controllers played.

mod fallback;
mod knowledge;
mod nonsense;
mod record;
mod refused;
mod rules;
mod stories;
mod world;
