//! The `refit` program, run as users run it.

mod apiserver;
mod demo;
mod up;
