//! Against real etcd, against the embedded API server, and against a real one.

mod addons;
mod certificates;
mod etcd;
mod kubernetes;
mod port_forward;
mod scripted;
mod world;
