//! Label selectors: what an object's `selector` field or a list request's `labelSelector` picks.
//!
//! `kube::core::Selector` is not used: it checks no keys or values, prints in another order than Go, and cannot say
//! "nothing".

#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::admission::names::{label_value_problem, qualified_name_problem};

/// A checked selector.
///
/// It is written as Go writes it, for `status.selector` and list requests, and reads back equal with [`str::parse`].
/// The one exception is `Nothing`, which Go writes as the empty string too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Selects no object: what an absent selector means.
    Nothing,
    /// Selects what meets all requirements; every object if there are none. In the order of the keys.
    All(Vec<Requirement>),
}

/// One condition on the label `key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    test: Test,
}

/// What a label must be. The negative ones are met by a missing label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Equals(String),
    NotEquals(String),
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

/// Why something is no selector, or not the kind of selector that is needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("label key {key:?} {problem}")]
    Key { key: String, problem: &'static str },
    #[error("value {value:?} for label {key:?} {problem}")]
    Value { key: String, value: String, problem: &'static str },
    #[error("operator {operator:?} for label {key:?} is none of In, NotIn, Exists and DoesNotExist")]
    UnknownOperator { key: String, operator: String },
    #[error("operator {operator} for label {key:?} needs at least one value")]
    MissingValues { key: String, operator: String },
    #[error("operator {operator} for label {key:?} takes no values")]
    UnexpectedValues { key: String, operator: String },
    #[error("operator {operator} for label {key:?} cannot be written as a single value of the label")]
    NotASingleValue { key: String, operator: String },
    #[error("expected {expected} at column {column} of the selector, found {found}")]
    Syntax { expected: &'static str, found: String, column: usize },
}

impl Selector {
    /// Selects every object.
    pub const EVERYTHING: Self = Self::All(Vec::new());

    /// Checks a selector field. An absent one selects nothing, an empty one everything.
    pub fn from_field(field: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        let Some(field) = field else { return Ok(Self::Nothing) };
        let labels = field.match_labels.iter().flatten();
        let equalities = labels.map(|(key, value)| Requirement::new(key, Test::Equals(value.clone())));
        let expressions = field.match_expressions.iter().flatten().map(Requirement::from_field);
        Ok(Self::sorted(equalities.chain(expressions).collect::<Result<_, _>>()?))
    }

    /// Selects the objects that have all of these labels.
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Result<Self, SelectorError> {
        let requirement = |(key, value): (&String, &String)| Requirement::new(key, Test::Equals(value.clone()));
        labels.iter().map(requirement).collect::<Result<_, _>>().map(Self::All)
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|requirement| requirement.is_met_by(labels)),
        }
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        *self == Self::EVERYTHING
    }

    /// Requirements on one key stay in the order in which they were given.
    fn sorted(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self::All(requirements)
    }
}

/// The labels that a selector asks for, if it does no more than that: new objects get them so that it finds them.
///
/// Of expressions, only `In` with one value can be written as a label. It wins over `matchLabels`.
pub fn as_map(field: &LabelSelector) -> Result<BTreeMap<String, String>, SelectorError> {
    let mut map = field.match_labels.clone().unwrap_or_default();
    for expression in field.match_expressions.iter().flatten() {
        let (key, operator) = (expression.key.clone(), expression.operator.clone());
        match (operator.as_str(), expression.values.as_deref().unwrap_or_default()) {
            ("In", [value]) => map.insert(key, value.clone()),
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {
                return Err(SelectorError::NotASingleValue { key, operator });
            }
            _ => return Err(SelectorError::UnknownOperator { key, operator }),
        };
    }
    Ok(map)
}

impl Requirement {
    /// Checks key and values; how many values there are is the caller's to check.
    fn new(key: &str, test: Test) -> Result<Self, SelectorError> {
        if let Some(problem) = qualified_name_problem(key) {
            return Err(SelectorError::Key { key: key.to_owned(), problem });
        }
        for value in test.values() {
            if let Some(problem) = label_value_problem(value) {
                return Err(SelectorError::Value { key: key.to_owned(), value: value.clone(), problem });
            }
        }
        Ok(Self { key: key.to_owned(), test })
    }

    fn from_field(field: &LabelSelectorRequirement) -> Result<Self, SelectorError> {
        let values = field.values.clone().unwrap_or_default();
        let (key, operator) = (|| field.key.clone(), || field.operator.clone());
        let test = match (field.operator.as_str(), values.is_empty()) {
            ("In", false) => Test::In(values),
            ("NotIn", false) => Test::NotIn(values),
            ("Exists", true) => Test::Exists,
            ("DoesNotExist", true) => Test::DoesNotExist,
            ("In" | "NotIn", true) => return Err(SelectorError::MissingValues { key: key(), operator: operator() }),
            ("Exists" | "DoesNotExist", false) => {
                return Err(SelectorError::UnexpectedValues { key: key(), operator: operator() });
            }
            _ => return Err(SelectorError::UnknownOperator { key: key(), operator: operator() }),
        };
        Self::new(&field.key, test)
    }

    fn is_met_by(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        let number = || label.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Equals(value) => label == Some(value),
            Test::NotEquals(value) => label != Some(value),
            Test::In(values) => label.is_some_and(|label| values.contains(label)),
            Test::NotIn(values) => label.is_none_or(|label| !values.contains(label)),
            Test::Exists => label.is_some(),
            Test::DoesNotExist => label.is_none(),
            Test::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Test::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl Test {
    fn values(&self) -> &[String] {
        match self {
            Self::Equals(value) | Self::NotEquals(value) => std::slice::from_ref(value),
            Self::In(values) | Self::NotIn(values) => values,
            Self::Exists | Self::DoesNotExist | Self::GreaterThan(_) | Self::LessThan(_) => &[],
        }
    }
}
