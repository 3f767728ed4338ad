//! Rollouts played through: random ones judged by the checker, and known ones compared with their stories.

mod golden;
mod properties;
