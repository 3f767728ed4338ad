//! Columns of custom resources.

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::json_path::JsonPath;
use super::{age, definition};
use crate::budget::{Budget, weigh};
use crate::resource::Resource;

/// What is shown of resources that name no columns.
const AGE: &str = ".metadata.creationTimestamp";
const AGE_DESCRIPTION: &str = "How long ago the object was created.";
pub(super) const NAME_DESCRIPTION: &str = "The name, which no other object of the kind has in the same namespace.";

/// Steps of one cell. The path of an ordinary column takes less than a hundred; looking everywhere in a Machine takes about
/// five hundred.
const CELL_STEPS: u64 = 10_000;

/// The columns of one resource, with their paths read. Cells that would take too much to fill are empty.
pub struct Columns<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    definition: Value,
    kind: &'a str,
    /// `None` where the path is not understood: its cells are empty.
    path: Option<JsonPath>,
}

impl<'a> Columns<'a> {
    pub fn new(resource: &'a Resource) -> Self {
        if resource.columns.is_empty() {
            let definition = definition("Age", "date", "", AGE_DESCRIPTION, 0);
            return Self { columns: vec![Column { definition, kind: "date", path: JsonPath::parse(AGE) }] };
        }
        Self { columns: resource.columns.iter().map(Column::new).collect() }
    }

    pub fn to_json(&self) -> Value {
        let name = definition("Name", "string", "name", NAME_DESCRIPTION, 0);
        [name].into_iter().chain(self.columns.iter().map(|column| column.definition.clone())).collect()
    }

    pub fn cells(&self, object: &Value, now: Timestamp, budget: &Budget) -> Vec<Value> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().into();
        [name].into_iter().chain(self.columns.iter().map(|column| column.cell(object, now, budget))).collect()
    }
}

impl<'a> Column<'a> {
    fn new(column: &'a crate::resource::Column) -> Self {
        let default = || format!("Custom resource definition column (in JSONPath format): {}", column.json_path);
        let description = Some(column.description.clone()).filter(|text| !text.is_empty()).unwrap_or_else(default);
        Self {
            definition: definition(&column.name, &column.kind, &column.format, &description, column.priority),
            kind: &column.kind,
            path: JsonPath::parse(&column.json_path),
        }
    }

    /// The first value that the path finds, in the type of the column; null where it is of another type.
    fn cell(&self, object: &Value, now: Timestamp, budget: &Budget) -> Value {
        let own = budget.part(CELL_STEPS);
        let found = self.path.as_ref().and_then(|path| path.first(object, &own));
        if budget.take_steps(own.steps_taken(CELL_STEPS)).is_err() {
            return Value::Null;
        }
        let Some(value) = found else { return Value::Null };
        match (self.kind, value) {
            (_, Value::Null) => Value::Null,
            ("string", value) => match weigh(value, budget).and_then(|weight| budget.take_bytes(weight.text)) {
                Ok(()) => text(value).into(),
                Err(_) => Value::Null,
            },
            ("integer", Value::Number(number)) => integer(number),
            ("number", Value::Number(number)) => number.clone().into(),
            ("boolean", Value::Bool(flag)) => (*flag).into(),
            ("date", Value::String(time)) => age::since_text(time, now).into(),
            _ => Value::Null,
        }
    }
}

/// A number without what is behind its point.
#[expect(clippy::cast_possible_truncation, reason = "what is behind the point is to go")]
fn integer(number: &Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.into(),
        (None, Some(float)) => (float as i64).into(),
        _ => Value::Null,
    }
}

/// Any value as text: what is composed is JSON, safe to put into a web page.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            value.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float.to_string(),
            None => number.to_string(),
        },
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: &str, value: &Value, expected: &Value) {
        let column = crate::resource::Column {
            name: "X".to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: ".x".to_owned(),
        };
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        assert_eq!(
            &Column::new(&column).cell(&json!({"x": value}), now, &Budget::default()),
            expected,
            "{kind} {value}"
        );
    }

    #[test]
    fn cells_have_the_type_of_their_column_or_are_empty() {
        check("integer", &json!(3), &json!(3));
        check("integer", &json!(1.5), &json!(1));
        check("integer", &json!("3"), &Value::Null);
        check("number", &json!(1.5), &json!(1.5));
        check("boolean", &json!(false), &json!(false));
        check("boolean", &json!("true"), &Value::Null);
        check("date", &json!("2026-01-01T00:00:00Z"), &json!("10m"));
        check("date", &json!("bad"), &json!("<invalid>"));
        check("date", &json!(3), &Value::Null);
    }

    #[test]
    fn everything_can_be_a_string() {
        check("string", &json!("a"), &json!("a"));
        check("string", &json!(3), &json!("3"));
        check("string", &json!(2.0), &json!("2"));
        check("string", &json!(true), &json!("true"));
        check("string", &json!({"a": "x<y", "b": [1]}), &json!("{\"a\":\"x\\u003cy\",\"b\":[1]}"));
        check("string", &json!([]), &json!("[]"));
        check("string", &Value::Null, &Value::Null);
    }
}
