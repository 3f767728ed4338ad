//! Talks to update extensions: discovery, the registry, the client of hooks, and several extensions for one change.
//!
//! ```text
//! ExtensionConfig -> discovery -> Registry -> Extensions: coverage of a Question, UpdateMachine -> Client -> Transport
//! ```
//!
//! [`Extensions`] is what controllers hold. It asks through the [`Client`](client::Client), which makes one exchange by
//! the rules of the wire, over a [`Transport`](client::Transport), which is a tower service: TLS in life, any function
//! in tests.
//!
//! Whether a change is covered is decided in `refit-plan`. What an extension that fails means is decided there, too: it
//! is "not known", never "cannot" and never "done". Nothing here watches the API or keeps a queue.

pub mod aggregate;
pub mod client;
pub mod discovery;
pub mod extension_config;
pub mod extensions;
pub mod metrics;
pub mod registry;
mod words;

pub use extensions::Extensions;
pub use words::{chain, shortened};
