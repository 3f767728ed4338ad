//! The one place that knows how the tests of the constructors look at a condition.

use regex::Regex;

use super::NewCondition;
use crate::schema;

/// Checks type, status, reason and message of each condition, and that the CRDs accept them.
pub(super) fn check(cases: &[(NewCondition, &str)]) {
    let pattern = |pattern| Regex::new(pattern).expect("a pattern of the schema must be a regular expression");
    let (types, reasons) = (pattern(schema::CONDITION_TYPE), pattern(schema::CONDITION_REASON));
    for (condition, expected) in cases {
        assert_eq!(condition.to_string(), *expected);
        assert!(types.is_match(&condition.type_), "no CRD accepts the type {:?}", condition.type_);
        assert!(reasons.is_match(&condition.reason), "no CRD accepts the reason {:?}", condition.reason);
    }
}
