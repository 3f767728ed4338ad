//! Against real etcd, against the embedded API server, and against a real one.

mod addons;
mod certificates;
mod etcd;
mod kubernetes;
mod scripted;
mod world;
