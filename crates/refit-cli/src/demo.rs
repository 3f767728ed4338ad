//! `refit demo`: a story that is told while it happens.

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use refit_plane::demo::{self, Demo as Which};

use crate::{Error, log, runtime};

/// Nothing is left behind. The exit code is 0 only if all came out as it should.
#[derive(Debug, Args)]
pub struct Demo {
    /// What to show
    #[arg(value_parser = which())]
    which: Which,
}

impl Demo {
    /// Tells the story, line by line. A reader that has seen enough does not change how it ends.
    pub fn run(&self, out: &mut (impl Write + Send)) -> Result<(), Error> {
        log("off");
        let mut say = |line: &str| drop(writeln!(out, "{line}").and_then(|()| out.flush()));
        runtime()?.block_on(demo::run(self.which, &mut say)).map_err(Error::Demo)
    }
}

fn which() -> impl TypedValueParser<Value = Which> {
    PossibleValuesParser::new(Which::ALL.map(Which::name)).map(|name| name.parse().expect("the name must be known"))
}
