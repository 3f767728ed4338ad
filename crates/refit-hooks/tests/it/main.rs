//! refit-hooks against peers that are not refit: raw HTTP servers, as Go's behave and worse, and a real kube-apiserver.

mod certificates;
mod checklist;
mod composition;
mod discovery;
mod go_extension;
mod hostile;
mod objects;
mod peer;
mod properties;
mod reconcile;
mod tls;
