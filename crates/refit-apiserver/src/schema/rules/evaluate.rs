//! Evaluates expressions, and charges for every step before it is made.
//!
//! Operators, macros and what is called most are evaluated here; every other function is the library's, called with
//! values whose size is known.

mod call;
mod operate;

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, MapExpr, SelectExpr, operators};
use kube_cel::cel::objects::{Key, KeyRef, Map};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

use super::meter::{Meter, Stopped, units};

const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;

/// Why there is no value.
#[derive(Debug)]
pub enum Failure {
    /// The expression is wrong for these values.
    Error(ExecutionError),
    /// It costs too much. Nothing makes up for that.
    Stopped(Stopped),
}

impl From<ExecutionError> for Failure {
    fn from(error: ExecutionError) -> Self {
        Self::Error(error)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

pub type Outcome = Result<Value, Failure>;

/// Evaluates expressions with these functions.
pub struct Evaluator<'a> {
    pub functions: &'a Context<'static>,
    pub meter: &'a Meter<'a>,
}

/// A variable, and those around it.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub name: &'a str,
    pub value: &'a Value,
    pub outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    fn find(&self, name: &str) -> Option<&'a Value> {
        let mut scope = Some(self);
        while let Some(inner) = scope {
            if inner.name == name {
                return Some(inner.value);
            }
            scope = inner.outer;
        }
        None
    }
}

impl Evaluator<'_> {
    pub fn evaluate(&self, expression: &IdedExpr, scope: &Scope<'_>) -> Outcome {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => {
                self.meter.charge(1)?;
                let found = scope.find(name).cloned();
                found.ok_or_else(|| ExecutionError::undeclared_reference(name).into())
            }
            Expr::Call(call) => self.call(call, scope),
            Expr::Select(select) => self.select(select, scope),
            Expr::List(list) => {
                self.meter.charge(LIST_COST)?;
                let mut items = Vec::with_capacity(list.elements.len());
                for (index, element) in list.elements.iter().enumerate() {
                    let value = self.evaluate(element, scope)?;
                    let is_optional = list.optional_indices.contains(&index);
                    items.extend(if is_optional { operate::unwrapped(value) } else { Some(value) });
                }
                Ok(Value::List(Arc::new(items)))
            }
            Expr::Map(map) => self.map(map, scope),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::Struct(_) | Expr::Unspecified => Err(ExecutionError::NoSuchOverload.into()),
        }
    }

    /// A literal costs nothing, but its text is copied.
    fn literal(&self, literal: &LiteralValue) -> Outcome {
        Ok(match literal {
            LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
            LiteralValue::Int(value) => Value::Int(*value.inner()),
            LiteralValue::UInt(value) => Value::UInt(*value.inner()),
            LiteralValue::Double(value) => Value::Float(*value.inner()),
            LiteralValue::Null => Value::Null,
            LiteralValue::String(value) => {
                let text = value.inner();
                self.take_steps(text.len())?;
                Value::String(Arc::new(text.to_owned()))
            }
            LiteralValue::Bytes(value) => {
                self.take_steps(value.inner().len())?;
                Value::Bytes(Arc::new(value.inner().to_vec()))
            }
        })
    }

    fn take_steps(&self, bytes: usize) -> Result<(), Failure> {
        let taken = self.meter.budget().take_steps(1 + bytes / crate::budget::BYTES_PER_STEP);
        taken.map_err(|_| Stopped::Object.into())
    }

    fn map(&self, map: &MapExpr, scope: &Scope<'_>) -> Outcome {
        self.meter.charge(MAP_COST)?;
        let mut members: HashMap<Key, Value> = HashMap::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(ExecutionError::NoSuchOverload.into()) };
            let key = self.evaluate(&entry.key, scope)?;
            let key = operate::key(&key).ok_or(ExecutionError::UnsupportedKeyType(key))?;
            let value = self.evaluate(&entry.value, scope)?;
            let value = if entry.optional { operate::unwrapped(value) } else { Some(value) };
            members.extend(value.map(|value| (key, value)));
        }
        Ok(Value::Map(Map { map: Arc::new(members) }))
    }

    fn select(&self, select: &SelectExpr, scope: &Scope<'_>) -> Outcome {
        let operand = self.evaluate(&select.operand, scope)?;
        self.meter.charge(1)?;
        match (&operand, select.test) {
            (Value::Map(map), true) => Ok(Value::Bool(map.get(&KeyRef::String(&select.field)).is_some())),
            (Value::Map(map), false) => {
                let member = map.get(&KeyRef::String(&select.field)).cloned();
                member.ok_or_else(|| ExecutionError::no_such_key(&select.field).into())
            }
            _ => self.library_select(operand, select),
        }
    }

    fn comprehension(&self, parts: &ComprehensionExpr, scope: &Scope<'_>) -> Outcome {
        let range = self.evaluate(&parts.iter_range, scope)?;
        let mut sum = self.evaluate(&parts.accu_init, scope)?;
        let items: Box<dyn Iterator<Item = (Value, Option<Value>)>> = match &range {
            Value::List(items) => Box::new(items.iter().enumerate().map(|(index, item)| match parts.iter_var2 {
                Some(_) => (Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), Some(item.clone())),
                None => (item.clone(), None),
            })),
            Value::Map(map) => Box::new(map.map.iter().map(|(key, value)| (key.into(), Some(value.clone())))),
            _ => return Err(ExecutionError::NoSuchOverload.into()),
        };
        for (first, second) in items {
            self.meter.charge(1)?;
            let with_sum = Scope { name: &parts.accu_var, value: &sum, outer: Some(scope) };
            if !self.condition(&parts.loop_cond, &with_sum)? {
                break;
            }
            let with_first = Scope { name: &parts.iter_var, value: &first, outer: Some(scope) };
            sum = match (&parts.iter_var2, &second) {
                (Some(name), Some(value)) => {
                    let with_second = Scope { name, value, outer: Some(&with_first) };
                    self.step(&parts.loop_step, &parts.accu_var, sum, &with_second)?
                }
                _ => self.step(&parts.loop_step, &parts.accu_var, sum, &with_first)?,
            };
        }
        let with_sum = Scope { name: &parts.accu_var, value: &sum, outer: Some(scope) };
        self.evaluate(&parts.result, &with_sum)
    }

    /// One step of a macro. Where it appends to a list, that list grows in its place.
    fn step(&self, step: &IdedExpr, name: &str, sum: Value, scope: &Scope<'_>) -> Outcome {
        let is_sum = |part: &IdedExpr| matches!(&part.expr, Expr::Ident(ident) if ident == name);
        if is_sum(step) {
            return Ok(sum);
        }
        if let Expr::Call(call) = &step.expr {
            match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::CONDITIONAL, [condition, then, otherwise]) => {
                    let with_sum = Scope { name, value: &sum, outer: Some(scope) };
                    let branch = if self.condition(condition, &with_sum)? { then } else { otherwise };
                    return self.step(branch, name, sum, scope);
                }
                (operators::ADD, [first, IdedExpr { expr: Expr::List(list), .. }]) if is_sum(first) => {
                    let Value::List(mut items) = sum else { return Err(ExecutionError::NoSuchOverload.into()) };
                    for element in &list.elements {
                        self.meter.charge(1)?;
                        let element = self.evaluate(element, scope)?;
                        Arc::make_mut(&mut items).push(element);
                    }
                    return Ok(Value::List(items));
                }
                _ => {}
            }
        }
        self.evaluate(step, &Scope { name, value: &sum, outer: Some(scope) })
    }

    fn condition(&self, expression: &IdedExpr, scope: &Scope<'_>) -> Result<bool, Failure> {
        match self.evaluate(expression, scope)? {
            Value::Bool(holds) => Ok(holds),
            _ => Err(ExecutionError::NoSuchOverload.into()),
        }
    }
}

/// How large a value is, all that is in it included: what looking at the whole of it costs. Not more than `bound`.
fn size(value: &Value, bound: u64) -> u64 {
    let mut sum: u64 = 1;
    let mut add = |part: u64| {
        sum = sum.saturating_add(part).min(bound);
        sum < bound
    };
    match value {
        Value::String(text) => {
            add(text.len() as u64);
        }
        Value::Bytes(bytes) => {
            add(bytes.len() as u64);
        }
        Value::List(items) => {
            let _ = items.iter().all(|item| add(size(item, bound)));
        }
        Value::Map(map) => {
            let _ = map.map.iter().all(|(key, value)| {
                let key = if let Key::String(text) = key { text.len() as u64 } else { 1 };
                add(key.saturating_add(size(value, bound)))
            });
        }
        _ => {}
    }
    sum
}

/// What looking at the whole of a value costs.
fn cost(value: &Value) -> u64 {
    units(size(value, 10 * super::meter::CALL_COST_LIMIT + 10))
}
