//! The tests of the nouns that need more than one module, or upstream's files.

mod differences;
mod generated;
mod kinds;
mod malformed;
mod real_server;
mod round_trip;
mod upstream;
mod upstream_crds;
mod violations;
mod vocabulary;
