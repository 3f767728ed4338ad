//! The table that is printed.

use std::collections::BTreeMap;
use std::fmt;

/// What was measured at one server.
#[derive(Default)]
pub struct Column(BTreeMap<Row, f64>);

impl Column {
    pub fn set(&mut self, row: Row, value: f64) {
        eprintln!("  {row}: {}", number(value));
        self.0.insert(row, value);
    }
}

/// One measurement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Ready,
    Creates(usize),
    Updates(usize),
    Applies(usize),
    Events,
    List,
    Memory,
}

impl Row {
    /// Whether a higher number is the better one.
    fn is_rate(self) -> bool {
        match self {
            Self::Creates(_) | Self::Updates(_) | Self::Applies(_) | Self::Events => true,
            Self::Ready | Self::List | Self::Memory => false,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => write!(f, "start to ready, s"),
            Self::Creates(writers) => write!(f, "creates/s, {writers} clients"),
            Self::Updates(writers) => write!(f, "updates/s, {writers} clients"),
            Self::Applies(writers) => write!(f, "applies/s, {writers} clients"),
            Self::Events => write!(f, "events/s at all watchers"),
            Self::List => write!(f, "list of everything, s"),
            Self::Memory => write!(f, "memory per 1,000 objects, KiB"),
        }
    }
}

/// Both columns, and how many times better the embedded server is.
pub fn table(embedded: &Column, real: Option<&Column>) -> String {
    let mut text = format!("{:<32} {:>12} {:>16} {:>8}\n", "", "embedded", "kube-apiserver", "ratio");
    for (row, value) in &embedded.0 {
        let other = real.and_then(|real| real.0.get(row)).copied();
        let ratio = other.map(|other| if row.is_rate() { value / other } else { other / value });
        let (other, ratio) = (other.map(number), ratio.map(|ratio| format!("{ratio:.1}x")));
        text += &format!(
            "{:<32} {:>12} {:>16} {:>8}\n",
            row.to_string(),
            number(*value),
            other.unwrap_or_default(),
            ratio.unwrap_or_default()
        );
    }
    text
}

fn number(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.0}") }
}
