//! The `refit` program, run as users run it.

mod apiserver;
mod bench;
mod controller;
mod demo;
mod up;
