//! Tables: objects as rows of cells, which is what `kubectl get` asks for.
//!
//! Columns of custom resources come from their definitions; those of built-in kinds are the ones that Kubernetes
//! prints. Pure: the time, from which ages follow, comes in.

mod age;
mod built_in;
mod custom;
mod json_path;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::resource::Resource;

/// Prints the objects of one resource.
pub struct Printer<'a> {
    rows: Rows<'a>,
}

enum Rows<'a> {
    BuiltIn(&'static built_in::Printer),
    Custom(custom::Columns<'a>),
}

/// One object as cells, in the order of the columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub cells: Vec<Value>,
    /// That a pod ran to its end, and how.
    pub conditions: Option<Value>,
}

/// How much of an object goes with its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    /// By the parameter of a request. `None` for what is no such choice.
    pub fn parse(text: Option<&str>) -> Option<Self> {
        Some(match text.unwrap_or_default() {
            "" | "Metadata" => Self::Metadata,
            "None" => Self::None,
            "Object" => Self::Object,
            _ => return None,
        })
    }
}

impl<'a> Printer<'a> {
    pub fn new(resource: &'a Resource) -> Self {
        let rows = if resource.is_custom() {
            Rows::Custom(custom::Columns::new(resource))
        } else {
            Rows::BuiltIn(built_in::printer(resource))
        };
        Self { rows }
    }

    /// The definitions of the columns.
    pub fn columns(&self) -> Value {
        match &self.rows {
            Rows::BuiltIn(printer) => printer.columns.iter().map(built_in::Column::to_json).collect(),
            Rows::Custom(columns) => columns.to_json(),
        }
    }

    /// The row of an object. Cells of custom resources for which the budget does not suffice are empty.
    pub fn row(&self, object: &Value, now: Timestamp, budget: &Budget) -> Row {
        match &self.rows {
            Rows::BuiltIn(printer) => (printer.row)(object, now),
            Rows::Custom(columns) => Row { cells: columns.cells(object, now, budget), conditions: None },
        }
    }
}

impl Row {
    fn new(cells: impl Into<Vec<Value>>) -> Self {
        Self { cells: cells.into(), conditions: None }
    }

    /// As JSON, with what of the object goes along.
    pub fn to_json(&self, object: Option<Value>) -> Value {
        let mut row = json!({"cells": self.cells});
        if let Some(conditions) = &self.conditions {
            row["conditions"] = conditions.clone();
        }
        row["object"] = object.unwrap_or(Value::Null);
        row
    }
}

/// The first value that a path points at, for tests.
#[cfg(test)]
pub(crate) fn first_by_path<'a>(path: &str, object: &'a Value, budget: &Budget) -> Option<&'a Value> {
    json_path::JsonPath::parse(path).and_then(|path| path.first(object, budget))
}

/// The definition of a column, as clients read it.
fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}
