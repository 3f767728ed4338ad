//! Where in a text the reader is.

use std::fmt;

/// A path that is only written out where somebody needs it.
#[derive(Default)]
pub(super) struct Path {
    segments: Vec<Segment>,
    /// How long it is, written out.
    pub(super) bytes: usize,
}

pub(super) enum Segment {
    Member(String),
    Item(usize),
}

impl Segment {
    /// With a dot or brackets; an index has at most seven digits.
    fn bytes(&self) -> usize {
        match self {
            Self::Member(name) => name.len() + 1,
            Self::Item(_) => 9,
        }
    }
}

impl Path {
    pub(super) fn enter(&mut self, segment: Segment) {
        self.bytes += segment.bytes();
        self.segments.push(segment);
    }

    pub(super) fn leave(&mut self) -> Option<Segment> {
        let segment = self.segments.pop()?;
        self.bytes -= segment.bytes();
        Some(segment)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Member(name) if place == 0 => f.write_str(name)?,
                Segment::Member(name) => write!(f, ".{name}")?,
                Segment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
