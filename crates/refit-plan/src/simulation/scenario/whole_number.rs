//! Numbers of a scenario: one that is out of range is told with the range, however large it is.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::MAX_REPLICAS;

pub fn replicas<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let bounds = WholeNumber(0..=MAX_REPLICAS.into());
    let number = deserializer.deserialize_any(bounds)?.ok_or_else(|| D::Error::custom("must be given"))?;
    Ok(i32::try_from(number).expect("a number in range must fit"))
}

pub fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = deserializer.deserialize_any(WholeNumber(0..=u64::MAX.into()))?;
    Ok(number.map(|number| u64::try_from(number).expect("a number in range must fit")))
}

/// A number within these bounds, or none.
struct WholeNumber(RangeInclusive<i128>);

impl WholeNumber {
    fn within<E: Error>(&self, number: i128) -> Result<Option<i128>, E> {
        if self.0.contains(&number) { Ok(Some(number)) } else { Err(self.refuse(number)) }
    }

    fn refuse<E: Error>(&self, found: impl fmt::Display) -> E {
        E::custom(format!("{found} is not a whole number between {} and {}", self.0.start(), self.0.end()))
    }
}

impl Visitor<'_> for WholeNumber {
    type Value = Option<i128>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number between {} and {}", self.0.start(), self.0.end())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.within(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.within(number.into())
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Self::Value, E> {
        self.within(number)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Err(self.refuse(number))
    }

    /// A number in quotes is one, as it is for everything else in a scenario.
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let number = text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
        self.within(number)
    }
}
