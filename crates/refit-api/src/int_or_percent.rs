//! Amounts that users give as a number or as a percentage of some total: `maxSurge`, `maxUnavailable`, `maxInFlight`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A number, or a percentage of a total. Either may be negative: Kubernetes accepts that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Count(i32),
    Percent(i64),
}

/// Where a percentage goes that is no whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    Up,
    Down,
}

/// Why a value is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("{value:?} is neither an integer nor a percentage such as \"25%\"")]
    NotAPercentage { value: String },
    #[error("{percent}% of {total} does not fit into 32 bits")]
    Overflow { percent: i64, total: i32 },
    #[error("{field} must not be negative, it resolves to {value}")]
    Negative { field: &'static str, value: i32 },
}

impl Amount {
    /// Reads the value without a total, which is what validation does. A string must end in `%`; `"5"` is refused.
    pub fn parse(value: &IntOrString) -> Result<Self, AmountError> {
        match value {
            IntOrString::Int(count) => Ok(Self::Count(*count)),
            IntOrString::String(text) => text
                .strip_suffix('%')
                .and_then(|number| number.parse().ok())
                .map(Self::Percent)
                .ok_or_else(|| AmountError::NotAPercentage { value: text.clone() }),
        }
    }

    /// What the amount comes to. A count is itself, whatever the total.
    pub fn of(self, total: i32, rounding: Rounding) -> Result<i32, AmountError> {
        let percent = match self {
            Self::Count(count) => return Ok(count),
            Self::Percent(percent) => percent,
        };
        let hundredths = i128::from(percent) * i128::from(total);
        let rounded = match rounding {
            Rounding::Up => -(-hundredths).div_euclid(100),
            Rounding::Down => hundredths.div_euclid(100),
        };
        i32::try_from(rounded).map_err(|_| AmountError::Overflow { percent, total })
    }
}

/// What an int-or-percent field comes to.
pub fn resolve(value: &IntOrString, total: i32, rounding: Rounding) -> Result<i32, AmountError> {
    Amount::parse(value)?.of(total, rounding)
}

/// How far a rolling update may leave the desired number of replicas, upwards and downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenceposts {
    /// How many machines may be there beyond the desired number.
    pub max_surge: i32,
    /// How many of the desired machines may be unavailable. At most the desired number.
    pub max_unavailable: i32,
}

impl Fenceposts {
    /// Rounds surge up and unavailability down. If both come to zero, one machine may be unavailable, as nothing could
    /// move otherwise; surge might not help, for it needs quota.
    ///
    /// Negative fenceposts are refused here, although admission lets them pass: no rollout can keep within them.
    pub fn resolve(max_surge: &IntOrString, max_unavailable: &IntOrString, replicas: i32) -> Result<Self, AmountError> {
        let surge = not_negative("maxSurge", resolve(max_surge, replicas, Rounding::Up)?)?;
        let unavailable = not_negative("maxUnavailable", resolve(max_unavailable, replicas, Rounding::Down)?)?;
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        Ok(Self { max_surge: surge, max_unavailable: unavailable.min(replicas.max(0)) })
    }

    /// How many machines must stay available.
    pub fn min_available(&self, replicas: i32) -> i32 {
        replicas.saturating_sub(self.max_unavailable).max(0)
    }
}

fn not_negative(field: &'static str, value: i32) -> Result<i32, AmountError> {
    if value < 0 { Err(AmountError::Negative { field, value }) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Rounding::{Down, Up};
    use super::*;

    fn amount(text: &str) -> IntOrString {
        text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int)
    }

    #[test]
    fn percentages_are_rounded_as_asked() {
        let cases = [
            ("3", 10, Up, 3),
            ("-3", 10, Down, -3),
            ("25%", 10, Up, 3),
            ("25%", 10, Down, 2),
            ("50%", 10, Up, 5),
            ("0%", 10, Up, 0),
            ("1%", 1, Up, 1),
            ("1%", 1, Down, 0),
            ("150%", 3, Down, 4),
            ("+25%", 4, Up, 1),
            ("-25%", 10, Up, -2),
            ("-25%", 10, Down, -3),
            ("100%", i32::MAX, Up, i32::MAX),
        ];
        for (value, total, rounding, expected) in cases {
            assert_eq!(resolve(&amount(value), total, rounding), Ok(expected), "{value} of {total}");
        }
    }

    #[test]
    fn strings_must_be_percentages() {
        for text in ["5", "", "%", "a%", "25 %", " 25%", "2.5%", "25%%", "%25", "0x1%", "9223372036854775808%"] {
            let value = IntOrString::String(text.to_owned());
            assert_eq!(Amount::parse(&value), Err(AmountError::NotAPercentage { value: text.to_owned() }));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let huge = IntOrString::String(format!("{}%", i64::MAX));
        let error = AmountError::Overflow { percent: i64::MAX, total: 2 };
        assert_eq!(resolve(&huge, 2, Up), Err(error));
        assert_eq!(resolve(&huge, 0, Up), Ok(0));
    }

    #[test]
    fn fenceposts_always_let_something_move() {
        let cases = [
            ("1%", "0%", 2, (1, 0)),
            ("0%", "1%", 2, (0, 1)),
            ("0", "0", 5, (0, 1)),
            ("25%", "25%", 10, (3, 2)),
            ("1", "0", 3, (1, 0)),
            ("0", "10", 3, (0, 3)),
            ("0", "1", 0, (0, 0)),
            ("1", "100%", 0, (1, 0)),
        ];
        for (surge, unavailable, replicas, expected) in cases {
            let posts = Fenceposts::resolve(&amount(surge), &amount(unavailable), replicas).expect("must resolve");
            assert_eq!((posts.max_surge, posts.max_unavailable), expected, "{surge} {unavailable} {replicas}");
            assert_eq!(posts.min_available(replicas), replicas - posts.max_unavailable);
        }
    }

    #[test]
    fn negative_fenceposts_are_named() {
        let error = Fenceposts::resolve(&amount("-1"), &amount("1"), 3);
        assert_eq!(error, Err(AmountError::Negative { field: "maxSurge", value: -1 }));
        let error = Fenceposts::resolve(&amount("1"), &amount("-40%"), 3);
        assert_eq!(error, Err(AmountError::Negative { field: "maxUnavailable", value: -2 }));
    }

    proptest! {
        #[test]
        fn rounding_stays_within_one_of_the_exact_value(percent in -1000_i64..1000, total in 0..1_000_000) {
            let exact = percent as f64 * f64::from(total) / 100.0;
            let up = f64::from(Amount::Percent(percent).of(total, Up).expect("must fit"));
            let down = f64::from(Amount::Percent(percent).of(total, Down).expect("must fit"));
            prop_assert!(down <= exact && exact <= up, "{} {} {}", down, exact, up);
            prop_assert!(up - exact < 1.0 && exact - down < 1.0, "{} {} {}", down, exact, up);
        }

        #[test]
        fn a_rollout_can_always_begin(surge in 0..200_i64, unavailable in 0..200_i64, replicas in 1..10_000) {
            let percent = |value: i64| IntOrString::String(format!("{value}%"));
            let posts = Fenceposts::resolve(&percent(surge), &percent(unavailable), replicas).expect("must resolve");
            prop_assert!(posts.max_surge + posts.max_unavailable > 0);
            prop_assert!((0..=replicas).contains(&posts.max_unavailable));
        }
    }
}
