//! The nouns of refit: Cluster API's resources, the payloads of its Runtime Hooks, and the words that both use.
//!
//! A type here decodes what upstream encodes and encodes what upstream decodes. Behaviour that belongs to a noun
//! alone is here too: defaulting and validation, conditions, names, versions. Decisions about rollouts are not;
//! they live in `refit-plan`. There is no client, no clock and no randomness in this crate.

pub mod admission;
pub mod bootstrap;
pub mod cluster;
pub mod conditions;
pub mod contract;
pub mod controlplane;
pub mod crd;
pub mod decode;
pub mod hooks;
pub mod int_or_percent;
pub mod name_set;
pub mod naming;
pub mod openapi;
pub mod owners;
pub mod pending_hooks;
pub mod policy;
pub mod resource;
pub mod rollout;
pub mod runtime;
pub mod schema;
pub mod selector;
pub mod version;
pub mod vocabulary;
