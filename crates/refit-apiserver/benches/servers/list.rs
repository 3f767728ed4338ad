//! The time that a list of everything takes.

use std::time::Instant;

use http::Method;

use crate::ends::End;
use crate::machines::{MACHINES, send};

const ROUNDS: usize = 3;

/// The shortest of some rounds, until the last byte is there.
pub async fn seconds(end: &impl End, objects: usize) -> f64 {
    let client = end.client().await;
    let mut shortest = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (code, text) = send(&client, Method::GET, MACHINES, "application/json", String::new()).await;
        shortest = shortest.min(start.elapsed().as_secs_f64());
        let found = text.matches("\"providerID\":").count();
        assert!(code == 200 && found >= objects, "{code}: {found} of {objects}");
    }
    shortest
}
