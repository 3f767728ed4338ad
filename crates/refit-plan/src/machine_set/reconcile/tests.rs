//! The joint: its gates by tables, and whole lives of machines in a small world.

mod crash;
mod gates;
mod moves;
mod nonsense;
mod properties;
mod remediation;
mod stories;
mod world;
