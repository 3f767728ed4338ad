//! Operators and functions by their names.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr, SelectExpr, operators};
use kube_cel::cel::{ExecutionError, IdedExpr, Value};
use regex::{Match, Regex};

use super::{Evaluator, Failure, Outcome, Scope, cost, units};
use crate::budget::BYTES_PER_STEP;
use crate::schema::pattern;

/// The names of values while the library works on them. No expression can name them itself.
const TARGET: &str = "@target";
const ARGUMENTS: [&str; 8] = ["@0", "@1", "@2", "@3", "@4", "@5", "@6", "@7"];

/// What calling the library takes besides what the function does, in steps: one to two microseconds.
const LIBRARY_STEPS: usize = 60;

/// Longer numbers in a format are no precision of anything.
const MAX_PRECISION: u64 = 1_000;
/// The longest quantity, as text.
const MAX_QUANTITY_BYTES: u64 = 64;

impl Evaluator<'_> {
    pub(super) fn call(&self, call: &CallExpr, scope: &Scope<'_>) -> Outcome {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                let branch = if self.condition(condition, scope)? { then } else { otherwise };
                self.evaluate(branch, scope)
            }
            (operators::LOGICAL_OR, [left, right]) => self.logical(left, right, true, scope),
            (operators::LOGICAL_AND, [left, right]) => self.logical(left, right, false, scope),
            (operators::LOGICAL_NOT, [operand]) => {
                self.meter.charge(1)?;
                Ok(Value::Bool(!self.condition(operand, scope)?))
            }
            (operators::NOT_STRICTLY_FALSE, [operand]) => match self.condition(operand, scope) {
                Err(Failure::Error(_)) => Ok(Value::Bool(true)),
                outcome => outcome.map(Value::Bool),
            },
            (operators::NEGATE, [operand]) => {
                self.meter.charge(1)?;
                match self.evaluate(operand, scope)? {
                    Value::Float(number) => Ok(Value::Float(-number)),
                    other => Ok((Value::Int(0) - other)?),
                }
            }
            (name, [left, right]) if is_operator(name) => {
                let (left, right) = (self.evaluate(left, scope)?, self.evaluate(right, scope)?);
                self.binary(name, left, right)
            }
            _ => self.function(call, scope),
        }
    }

    /// `||` and `&&`: where one side decides, errors of the other do not count.
    fn logical(&self, left: &IdedExpr, right: &IdedExpr, decides: bool, scope: &Scope<'_>) -> Outcome {
        let left = match self.condition(left, scope) {
            Ok(value) if value == decides => return Ok(Value::Bool(decides)),
            Err(Failure::Stopped(stopped)) => return Err(stopped.into()),
            outcome => outcome,
        };
        let right = self.condition(right, scope)?;
        if right == decides {
            return Ok(Value::Bool(decides));
        }
        left.map(|_| Value::Bool(right))
    }

    fn binary(&self, name: &str, left: Value, right: Value) -> Outcome {
        match name {
            operators::EQUALS => Ok(Value::Bool(self.equals(&left, &right)?)),
            operators::NOT_EQUALS => Ok(Value::Bool(!self.equals(&left, &right)?)),
            operators::ADD => self.add(left, right),
            operators::LESS => self.compare(&left, &right, Ordering::is_lt),
            operators::LESS_EQUALS => self.compare(&left, &right, Ordering::is_le),
            operators::GREATER => self.compare(&left, &right, Ordering::is_gt),
            operators::GREATER_EQUALS => self.compare(&left, &right, Ordering::is_ge),
            operators::IN => self.is_in(&left, &right),
            operators::INDEX if !matches!(left, Value::Opaque(_)) => self.index(&left, &right),
            operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO => {
                self.meter.charge(1)?;
                Ok(match name {
                    operators::SUBSTRACT => left - right,
                    operators::MULTIPLY => left * right,
                    operators::DIVIDE => left / right,
                    _ => left % right,
                }?)
            }
            _ => {
                self.meter.charge(cost(&left).max(1))?;
                self.library(name, None, vec![left, right])
            }
        }
    }

    fn function(&self, call: &CallExpr, scope: &Scope<'_>) -> Outcome {
        // `math.abs(…)`: what looks like a variable is a part of the name.
        let prefix = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(name), .. }) if scope.find(name).is_none() => Some(name.as_str()),
            _ => None,
        };
        let target = match &call.target {
            Some(target) if prefix.is_none() => Some(self.evaluate(target, scope)?),
            _ => None,
        };
        let arguments = call.args.iter().map(|argument| self.evaluate(argument, scope));
        let arguments: Vec<Value> = arguments.collect::<Result<_, Failure>>()?;
        if let Some(prefix) = prefix {
            self.charge(&format!("{prefix}.{}", call.func_name), None, &arguments)?;
            return self.library(&call.func_name, Some(Target::Prefix(prefix)), arguments);
        }
        self.charge(&call.func_name, target.as_ref(), &arguments)?;
        match own(&call.func_name, target.as_ref(), &arguments) {
            Some(outcome) => outcome,
            None => self.library(&call.func_name, target.map(Target::Value), arguments),
        }
    }

    /// Charges for a call by the size of what it looks at and of what it makes.
    fn charge(&self, name: &str, target: Option<&Value>, arguments: &[Value]) -> Result<(), Failure> {
        let count = |value: Option<&Value>| if let Some(Value::List(items)) = value { items.len() as u64 } else { 1 };
        let looked_at = target.into_iter().chain(arguments).map(cost).fold(0, u64::saturating_add);
        let (first, second) = (arguments.first(), arguments.get(1));
        let more = match name {
            "size" => return Ok(self.meter.charge(1)?),
            "matches" | "find" | "findAll" => {
                let (text, expression) = target.map_or((first, second), |target| (Some(target), first));
                units(length(text) + 1).saturating_mul(length(expression).div_ceil(4))
            }
            "replace" => {
                let places = length(target) / length(first).max(1) + 1;
                units(places.saturating_mul(length(second)))
            }
            "join" => units(count(target).saturating_mul(length(first))),
            "lists.range" => match first {
                Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(0),
                _ => 0,
            },
            "sets.contains" | "sets.equivalent" | "sets.intersects" => count(first).saturating_mul(count(second)),
            "distinct" => count(target).saturating_mul(count(target)),
            // Twenty times sorts a million.
            "sort" | "isSorted" | "indexOf" | "lastIndexOf" => count(target).saturating_mul(20),
            "format" => precisions(target)?,
            "quantity" | "isQuantity" if length(first).max(length(target)) > MAX_QUANTITY_BYTES => {
                return Err(ExecutionError::function_error(name, "the text is too long for a quantity").into());
            }
            _ => 0,
        };
        Ok(self.meter.charge(looked_at.saturating_add(more).max(1))?)
    }

    /// Calls a function of the library with these values.
    fn library(&self, name: &str, target: Option<Target<'_>>, arguments: Vec<Value>) -> Outcome {
        if arguments.len() > ARGUMENTS.len() {
            return Err(ExecutionError::invalid_argument_count(ARGUMENTS.len(), arguments.len()).into());
        }
        let (target_name, target) = match target {
            Some(Target::Prefix(prefix)) => (Some(prefix), None),
            Some(Target::Value(value)) => (Some(TARGET), Some(value)),
            None => (None, None),
        };
        let names = ARGUMENTS.iter().take(arguments.len());
        let call = CallExpr {
            func_name: name.to_owned(),
            target: target_name.map(|name| Box::new(ident(name))),
            args: names.map(|name| ident(name)).collect(),
        };
        let values = ARGUMENTS.into_iter().zip(arguments).chain(target.map(|value| (TARGET, value)));
        self.resolve(Expr::Call(call), values)
    }

    /// A field of something that is no map: what the library knows of.
    pub(super) fn library_select(&self, operand: Value, select: &SelectExpr) -> Outcome {
        self.meter.charge(cost(&operand).max(1))?;
        let select = SelectExpr { operand: Box::new(ident(TARGET)), field: select.field.clone(), test: select.test };
        self.resolve(Expr::Select(select), [(TARGET, operand)].into_iter())
    }

    fn resolve(&self, expression: Expr, values: impl Iterator<Item = (&'static str, Value)>) -> Outcome {
        self.take_steps(LIBRARY_STEPS * BYTES_PER_STEP)?;
        let mut context = self.functions.new_inner_scope();
        for (name, value) in values {
            if matches!(value, Value::Function(..)) {
                return Err(ExecutionError::NoSuchOverload.into());
            }
            context.add_variable_from_value(name, value);
        }
        let expression = IdedExpr { id: 0, expr: expression };
        // Some functions of the library panic where numbers overflow.
        let outcome = catch_unwind(AssertUnwindSafe(|| Value::resolve(&expression, &context)));
        Ok(outcome.unwrap_or_else(|_| Err(ExecutionError::function_error("call", "the function failed")))?)
    }
}

enum Target<'a> {
    Value(Value),
    /// The first part of a function's name.
    Prefix(&'a str),
}

fn ident(name: &str) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) }
}

fn is_operator(name: &str) -> bool {
    matches!(
        name,
        operators::EQUALS
            | operators::NOT_EQUALS
            | operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN
            | operators::INDEX
            | operators::OPT_INDEX
            | operators::OPT_SELECT
    )
}

/// The length of a text; zero for other values.
fn length(value: Option<&Value>) -> u64 {
    if let Some(Value::String(text)) = value { text.len() as u64 } else { 0 }
}

/// What the precisions that a format asks for cost, as in `%.100f`.
fn precisions(format: Option<&Value>) -> Result<u64, Failure> {
    let Some(Value::String(format)) = format else { return Ok(0) };
    let mut sum = 0_u64;
    for part in format.split("%.").skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let precision: u64 = digits.parse().unwrap_or(u64::MAX);
        if !digits.is_empty() && precision > MAX_PRECISION {
            return Err(ExecutionError::function_error("format", "the precision is too large").into());
        }
        sum = sum.saturating_add(precision.min(MAX_PRECISION));
    }
    Ok(units(sum))
}

/// The functions that are evaluated here. Texts are counted in characters.
fn own(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Outcome> {
    let (value, other) = match target {
        Some(target) => (target, arguments.first()),
        None => (arguments.first()?, arguments.get(1)),
    };
    Some(match (name, value, other) {
        ("size", Value::String(text), None) => Ok(count(text.chars().count())),
        ("size", Value::Bytes(bytes), None) => Ok(count(bytes.len())),
        ("size", Value::List(items), None) => Ok(count(items.len())),
        ("size", Value::Map(map), None) => Ok(count(map.map.len())),
        ("startsWith", Value::String(text), Some(Value::String(part))) => Ok(text.starts_with(part.as_str()).into()),
        ("endsWith", Value::String(text), Some(Value::String(part))) => Ok(text.ends_with(part.as_str()).into()),
        ("contains", Value::String(text), Some(Value::String(part))) => Ok(text.contains(part.as_str()).into()),
        ("matches" | "find" | "findAll", Value::String(text), Some(Value::String(expression))) => {
            let limit = arguments.get(if target.is_some() { 1 } else { 2 });
            match pattern::compiled(expression) {
                Ok(regex) => Ok(found(name, &regex, text, limit)),
                Err(error) => Err(ExecutionError::function_error(name, error).into()),
            }
        }
        _ => return None,
    })
}

fn count(size: usize) -> Value {
    Value::Int(i64::try_from(size).unwrap_or(i64::MAX))
}

fn found(name: &str, regex: &Regex, text: &str, limit: Option<&Value>) -> Value {
    let limit = match limit {
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let shown = |found: Match<'_>| Value::String(Arc::new(found.as_str().to_owned()));
    match name {
        "matches" => Value::Bool(regex.is_match(text)),
        "find" => regex.find(text).map_or_else(|| Value::String(Arc::default()), shown),
        _ => Value::List(Arc::new(regex.find_iter(text).take(limit).map(shown).collect())),
    }
}
