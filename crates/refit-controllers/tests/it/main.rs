//! The shell against API servers: the embedded one in process, and the real one.

mod acting;
mod caching;
mod certificates;
mod clusters;
mod control_planes;
mod costs;
mod drains;
mod health_checks;
mod kubeadm_configs;
mod machine_sets;
mod machines;
mod plain;
mod plane;
mod played_workload;
mod rollouts;
mod silent;
mod undecodable;
mod world;
