//! The embedded Kubernetes API server: custom resources and the few core kinds that Cluster API touches.
//!
//! The core is synchronous and pure: a request, what is stored and the time give a response and what to store. HTTP,
//! TLS and the disk stand around it. What is not served answers 404 or 501.

pub mod access;
pub mod api;
pub mod apply;
pub mod audit;
pub mod body;
pub mod budget;
pub mod clusters;
pub mod credentials;
pub mod definition;
mod digest;
pub mod discovery;
pub mod field_error;
#[cfg(test)]
mod fuzz;
mod go_regex;
pub mod health;
pub mod host;
pub mod lifecycle;
pub mod metadata;
pub mod metrics;
pub mod openapi;
pub mod read;
pub mod request;
pub mod resource;
pub mod schema;
pub mod server;
pub mod service;
pub mod standalone;
pub mod status;
pub mod store;
pub mod table;
pub mod write;
