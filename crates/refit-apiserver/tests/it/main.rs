//! The API server's parts, from outside, across processes, and beside the real one.
#![cfg(test)]

mod api_kill;
mod apply_differential;
mod apply_properties;
mod bounds;
mod built_in_owners;
mod certificates;
mod client;
mod compared;
mod conformance;
mod definitions;
mod delete;
mod garbage;
mod identities;
mod kubectl;
mod logical_clusters;
mod long_lists;
mod model;
mod namespaces;
mod protocols;
mod raw;
mod running;
mod runtime;
mod sample;
mod shutdown;
mod store_kill;
mod strangers;
mod subresources;
mod survives;
mod transports;
mod widgets;
mod world;
