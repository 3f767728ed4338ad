//! The provider at work, on the embedded API server and on a real one.

mod backend;
mod control_planes;
mod kills;
mod scenarios;
mod story;
mod time;
mod updaters;
mod workloads;
