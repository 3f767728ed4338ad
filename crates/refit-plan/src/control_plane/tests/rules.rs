//! One table per rule.

mod deletion;
mod desired;
mod in_place;
mod preflight;
mod quorum;
mod remediation;
mod selection;
mod status;
mod sync;
mod up_to_date;
