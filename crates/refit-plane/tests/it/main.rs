//! A management plane from end to end, on the embedded server and on a real one.

mod backends;
mod changes;
mod chaos;
mod control_planes;
mod deaf;
mod dice;
mod failures;
mod fleet_life;
mod history;
mod judge;
mod kills;
mod knowledge;
mod kubectl;
mod life;
mod merge;
mod never_again;
mod originals;
mod refusals;
mod scenarios;
mod story;
mod stranger;
mod telling;
