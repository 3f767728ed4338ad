//! A management plane from end to end, on the embedded server and on a real one.

mod backends;
mod chaos;
mod deaf;
mod dice;
mod history;
mod judge;
mod kills;
mod kubectl;
mod life;
mod merge;
mod never_again;
mod scenarios;
mod story;
mod stranger;
