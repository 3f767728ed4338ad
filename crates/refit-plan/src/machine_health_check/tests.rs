//! One file per concern. The world of [`world`] carries effects out as an API server would.

mod crash;
mod gate;
mod properties;
mod remediation;
mod updates;
mod verdicts;
mod world;
