//! One call of one hook, by the rules of the wire.
//!
//! A POST of JSON to `<prefix>/<group>/<version>/<hook>/<handler>?timeout=<seconds>s`. Only an answer with status 200
//! counts, whatever its content type says. Nothing is sent twice, no redirect is followed, and a call ends when its time
//! is over, wherever it is.

mod endpoint;
mod exchange;
mod identity;
mod resolve;
mod tls;
mod transport;

pub use endpoint::{Endpoint, EndpointError};
pub use exchange::{
    CallTimeout, Client, ExchangeError, MAX_EXCERPT_BYTES, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, Target,
};
pub use identity::{ClientIdentity, IdentityError, IdentityFiles, RELOAD_INTERVAL};
pub use tls::TlsError;
pub use transport::{BoxError, MAX_CLIENTS, Outgoing, ResponseBody, TlsTransport, Transport};
