//! Against real etcd, and against the embedded API server.

mod certificates;
mod etcd;
