//! Whether so few Machines are unhealthy that replacing them is the answer.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::MachineHealthCheckRemediationTriggerIf;
use refit_api::conditions::{NewCondition, machine_health_check as words};
use refit_api::int_or_percent::{self, AmountError, Rounding};

/// What the number of unhealthy Machines, compared with what the user allows, lets happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    is_open: bool,
    remaining: i32,
    limit: Limit,
}

/// The limit as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Limit {
    Range(String),
    AtMost(String),
}

/// Why a limit makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("{0:?} is no range such as [1-5]")]
    Malformed(String),
    #[error("the range {0:?} ends before it begins")]
    Reversed(String),
    #[error(transparent)]
    Amount(#[from] AmountError),
}

impl Gate {
    /// `unhealthy` are all Machines that are not healthy, those that are still starting included.
    pub fn of(
        trigger: &MachineHealthCheckRemediationTriggerIf,
        total: usize,
        unhealthy: usize,
    ) -> Result<Self, RangeError> {
        let unhealthy = super::as_i32(unhealthy);
        if let Some(range) = trigger.unhealthy_in_range.as_ref().filter(|range| !range.is_empty()) {
            let (min, max) = parse(range)?;
            let limit = Limit::Range(range.clone());
            return Ok(Self {
                is_open: (min..=max).contains(&unhealthy),
                remaining: max.saturating_sub(unhealthy),
                limit,
            });
        }
        let all = IntOrString::String("100%".to_owned());
        let limit = trigger.unhealthy_less_than_or_equal_to.as_ref().unwrap_or(&all);
        let max = int_or_percent::resolve(limit, super::as_i32(total), Rounding::Down)?;
        let limit = Limit::AtMost(match limit {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        });
        Ok(Self { is_open: unhealthy <= max, remaining: max.saturating_sub(unhealthy), limit })
    }

    /// Whether unhealthy Machines may be replaced.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// How many more may become unhealthy before none is replaced any more.
    pub fn remaining(&self) -> i32 {
        if self.is_open { self.remaining.max(0) } else { 0 }
    }

    pub(super) fn condition(&self, total: usize, unhealthy: usize) -> NewCondition {
        match (&self.limit, self.is_open) {
            (_, true) => words::remediation_allowed(),
            (Limit::Range(range), false) => words::unhealthy_out_of_range(total, unhealthy, range),
            (Limit::AtMost(max), false) => words::too_many_unhealthy(total, unhealthy, max),
        }
    }
}

fn parse(range: &str) -> Result<(i32, i32), RangeError> {
    let malformed = || RangeError::Malformed(range.to_owned());
    let inner = range.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(malformed)?;
    let (min, max) = inner.split_once('-').ok_or_else(malformed)?;
    let number = |text: &str| text.parse::<u32>().ok().and_then(|number| i32::try_from(number).ok());
    let (min, max) = number(min).zip(number(max)).ok_or_else(malformed)?;
    if max < min { Err(RangeError::Reversed(range.to_owned())) } else { Ok((min, max)) }
}
