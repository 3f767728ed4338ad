//! The bounds of a server.

use std::time::Duration;

/// What clients may take up. The defaults hold on a laptop and carry a fleet of thousands of clusters.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections; more wait in the kernel. With 64 KiB of buffers each: 125 MiB.
    pub connections: usize,
    /// Connections on which nobody has said who they are; beyond it the oldest of them is closed. A tenth of all.
    pub strangers: usize,
    /// Requests at a time that are not watches; more get 429. With bodies of 3 MiB each: 1.2 GiB at the very worst.
    pub requests: usize,
    /// Watches at a time; more get 429. Each holds a position and at most two events.
    pub watches: usize,
    /// Answers that wait for their clients to read them, together; where one more has no room, it is a 429. A list of
    /// 30,000 Machines is 60 MiB.
    pub answer_bytes: usize,
    /// The head of a request; more gets 431.
    pub header_bytes: usize,
    /// Streams in one HTTP/2 connection.
    pub streams: u32,
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From there to the end of the first request's head.
    pub first_request: Duration,
    /// How long a connection stays open without a request. Longer than clients keep theirs, so that they close first.
    pub idle: Duration,
    /// From the head of a request to the end of its body. More gets 504. A body of 3 MiB needs 100 KiB a second.
    pub body: Duration,
    /// From the head of a request to its answer. More gets 504.
    pub request: Duration,
    /// How long a client may take until it reads on. The answer, or the watch, ends then.
    pub stall: Duration,
    /// How long a client may take to read a whole answer.
    pub answer: Duration,
    /// How long requests may go on after the server was told to end.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2_000,
            strangers: 200,
            requests: 400,
            watches: 10_000,
            answer_bytes: 1 << 30,
            header_bytes: 64 * 1024,
            streams: 250,
            handshake: Duration::from_secs(10),
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            body: Duration::from_secs(30),
            request: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            answer: Duration::from_secs(300),
            shutdown: Duration::from_secs(10),
        }
    }
}
