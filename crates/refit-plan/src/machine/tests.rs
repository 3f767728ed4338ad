//! One file per concern. The world of [`world`] carries effects out as an API server would.

mod absence;
mod conditions;
mod crash;
mod deletion;
mod in_place;
mod in_place_events;
mod in_place_failure;
mod node;
mod properties;
mod provisioning;
mod up_to_date;
mod world;
