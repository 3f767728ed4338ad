//! The provider at work, on the embedded API server and on a real one.

mod backend;
mod kills;
mod scenarios;
mod story;
mod time;
mod updaters;
mod workloads;
