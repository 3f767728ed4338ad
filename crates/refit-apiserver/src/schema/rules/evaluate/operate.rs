//! Operators.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, KeyRef, OptionalValue};
use kube_cel::cel::{ExecutionError, Value};

use super::{Evaluator, Failure, Outcome, cost, units};

impl Evaluator<'_> {
    pub(super) fn equals(&self, left: &Value, right: &Value) -> Result<bool, Failure> {
        self.meter.charge(cost(left).min(cost(right)).max(1))?;
        Ok(left == right)
    }

    pub(super) fn add(&self, left: Value, right: Value) -> Outcome {
        match (&left, &right) {
            (Value::String(one), Value::String(other)) => self.meter.charge_size((one.len() + other.len()) as u64)?,
            (Value::List(one), Value::List(other)) => self.meter.charge_size((one.len() + other.len()) as u64 + 1)?,
            (Value::Bytes(one), Value::Bytes(other)) => {
                self.meter.charge_size((one.len() + other.len()) as u64)?;
                return Ok(Value::Bytes(Arc::new([one.as_slice(), other.as_slice()].concat())));
            }
            _ => self.meter.charge(1)?,
        }
        Ok((left + right)?)
    }

    pub(super) fn compare(&self, left: &Value, right: &Value, holds: fn(Ordering) -> bool) -> Outcome {
        self.meter.charge(cost(left).min(cost(right)).max(1))?;
        let order = match (left, right) {
            (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
            (Value::Null | Value::List(_) | Value::Map(_), _) => None,
            _ => left.partial_cmp(right),
        };
        match order {
            Some(order) => Ok(Value::Bool(holds(order))),
            // Nothing is more or less than what is not a number.
            None if is_number(left) && is_number(right) => Ok(Value::Bool(false)),
            None => Err(ExecutionError::NoSuchOverload.into()),
        }
    }

    pub(super) fn is_in(&self, value: &Value, container: &Value) -> Outcome {
        match container {
            Value::List(items) => {
                // Every item is compared with the value, as far as they are the same.
                let each = if let Value::String(text) = value { units(text.len() as u64) } else { cost(value) };
                self.meter.charge(each.max(1).saturating_mul(items.len() as u64).max(1))?;
                Ok(Value::Bool(items.contains(value)))
            }
            Value::Map(map) => {
                self.meter.charge(1)?;
                let key = key_ref(value).ok_or_else(|| ExecutionError::UnsupportedKeyType(value.clone()))?;
                Ok(Value::Bool(map.get(&key).is_some()))
            }
            _ => Err(ExecutionError::NoSuchOverload.into()),
        }
    }

    pub(super) fn index(&self, container: &Value, index: &Value) -> Outcome {
        self.meter.charge(1)?;
        match container {
            Value::List(items) => {
                let place = match index {
                    Value::Int(index) => usize::try_from(*index).ok(),
                    Value::UInt(index) => usize::try_from(*index).ok(),
                    _ => return Err(ExecutionError::UnsupportedListIndex(index.clone()).into()),
                };
                let item = place.and_then(|place| items.get(place)).cloned();
                item.ok_or_else(|| ExecutionError::IndexOutOfBounds(index.clone()).into())
            }
            Value::Map(map) => {
                let key = key_ref(index).ok_or_else(|| ExecutionError::UnsupportedMapIndex(index.clone()))?;
                let missing = || ExecutionError::no_such_key(&key_text(&key));
                map.get(&key).cloned().ok_or_else(|| missing().into())
            }
            _ => Err(ExecutionError::NoSuchOverload.into()),
        }
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_))
}

fn key_ref(value: &Value) -> Option<KeyRef<'_>> {
    Some(match value {
        Value::Int(number) => KeyRef::Int(*number),
        Value::UInt(number) => KeyRef::Uint(*number),
        Value::Bool(flag) => KeyRef::Bool(*flag),
        Value::String(text) => KeyRef::String(text),
        _ => return None,
    })
}

fn key_text(key: &KeyRef<'_>) -> String {
    match key {
        KeyRef::Int(number) => number.to_string(),
        KeyRef::Uint(number) => number.to_string(),
        KeyRef::Bool(flag) => flag.to_string(),
        KeyRef::String(text) => (*text).to_owned(),
    }
}

/// A value as the key of a map.
pub(super) fn key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Int(number) => Key::Int(*number),
        Value::UInt(number) => Key::Uint(*number),
        Value::Bool(flag) => Key::Bool(*flag),
        Value::String(text) => Key::String(text.clone()),
        _ => return None,
    })
}

/// What an optional value holds; any other value itself.
pub(super) fn unwrapped(value: Value) -> Option<Value> {
    match &value {
        Value::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>() {
            Some(optional) => optional.value().cloned(),
            None => Some(value),
        },
        _ => Some(value),
    }
}
