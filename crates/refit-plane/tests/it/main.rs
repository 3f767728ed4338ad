//! A management plane from end to end, on the embedded server and on a real one.

mod backends;
mod kills;
mod kubectl;
mod scenarios;
mod story;
mod witness;
