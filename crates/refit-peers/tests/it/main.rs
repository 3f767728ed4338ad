//! The real servers, started and ended. Linux only: what is left running is looked up in `/proc`.
#![cfg(target_os = "linux")]

mod lifecycle;
mod owner;
mod processes;
