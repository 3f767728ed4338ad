//! The shell against API servers: the embedded one in process, and the real one.

mod acting;
mod caching;
mod certificates;
mod clusters;
mod costs;
mod drains;
mod health_checks;
mod machine_sets;
mod machines;
mod plain;
mod plane;
mod rollouts;
mod silent;
mod undecodable;
mod world;
