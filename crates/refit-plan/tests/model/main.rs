//! The move / acknowledge / update protocol between MachineDeployment, MachineSets and machines, checked exhaustively.
//!
//! The decisions are the real ones. Around them is a small model of everything else: the API, reads that are out of
//! date, writes that are carried out one by one, passes that are cut off between any two of them, a user who changes his
//! mind, and updates that end or fail. The checker visits every order of all that, within the bounds of a configuration.

mod configurations;
mod counterexample;
mod deployment;
mod healing;
mod ledger;
mod machine_set;
mod protocol;
mod state;
mod story;
mod write;
