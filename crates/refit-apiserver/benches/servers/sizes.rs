//! How much is measured.

/// Numbers of what is written and read.
pub struct Sizes {
    /// Writes per measurement of writes.
    pub writes: usize,
    /// Objects in the list, and for the memory that they take.
    pub objects: usize,
    pub watchers: usize,
    /// Events that every watcher gets.
    pub events: usize,
}

impl Sizes {
    /// By the environment; tiny ones when `cargo test --benches` only wants to know that it works.
    pub fn from_environment() -> Self {
        let is_measured = std::env::args().any(|argument| argument == "--bench");
        let size = |name: &str, usual: usize| {
            let given = std::env::var(format!("REFIT_BENCH_{name}")).ok().and_then(|text| text.parse().ok());
            given.unwrap_or(if is_measured { usual } else { usual.min(64) })
        };
        Self {
            writes: size("WRITES", 3_000),
            objects: size("OBJECTS", 30_000),
            watchers: size("WATCHERS", 100),
            events: size("EVENTS", 300),
        }
    }
}
