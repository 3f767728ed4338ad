//! The JSONPath of printer columns: `.spec.size`, `.list[0]`, `['key']`, `[*]`, `[?(@.type=="Ready")].status`.

mod parse;

use serde_json::Value;

use parse::parse;

/// How deep `..` looks.
const MAX_DEPTH: usize = 64;

/// A path into an object.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Members of a map by name.
    Members(Vec<String>),
    /// Items `from..to` of a list; negative numbers count from the end.
    Items { from: i64, to: Option<i64> },
    /// Everything in a map or list.
    All,
    /// What is here, and everything below it.
    Below,
    /// Items for which this is true.
    Filter(Filter),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    /// `None`: that there is something on the left.
    comparison: Option<(Operator, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    /// A path from the item.
    Path(JsonPath),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// `None` for what is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        parse(text)
    }

    /// The first value that it points at.
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.all(object).into_iter().next()
    }

    fn all<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        self.0.iter().fold(vec![object], |found, step| found.into_iter().flat_map(|value| step.take(value)).collect())
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Members(names) => names.iter().filter_map(|name| value.get(name)).collect(),
            Self::Items { from, to } => items(value, *from, *to).iter().collect(),
            Self::All => children(value),
            Self::Below => {
                let mut found = Vec::new();
                below(value, MAX_DEPTH, &mut found);
                found
            }
            Self::Filter(filter) => {
                value.as_array().into_iter().flatten().filter(|item| filter.matches(item)).collect()
            }
        }
    }
}

fn items(value: &Value, from: i64, to: Option<i64>) -> &[Value] {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let position = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let (from, to) = (position(from).max(0), to.map_or(length, position).min(length));
    match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) => list.get(from..to).unwrap_or_default(),
        _ => &[],
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn below<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a Value>) {
    found.push(value);
    if depth > 0 {
        children(value).into_iter().for_each(|child| below(child, depth - 1, found));
    }
}

impl Filter {
    fn matches(&self, item: &Value) -> bool {
        let Some(left) = self.left.value(item) else { return false };
        let Some((operator, right)) = &self.comparison else { return true };
        right.value(item).is_some_and(|right| operator.holds(left, right))
    }
}

impl Operand {
    fn value<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.first(item),
            Self::Literal(value) => Some(value),
        }
    }
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right)),
        };
        match self {
            Self::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
            Self::NotEqual => order.is_some_and(std::cmp::Ordering::is_ne),
            Self::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Self::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Self::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Self::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(path: &str, expected: &Value) {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "dotted", "x": "plain"}},
            "spec": {"size": 3, "list": ["p", 2, {"k": "v"}], "empty": []},
            "conditions": [{"type": "A", "status": "False", "n": 1}, {"type": "Ready", "status": "True", "n": 5}],
        });
        let found = JsonPath::parse(path).and_then(|path| path.first(&object).cloned()).unwrap_or_default();
        assert_eq!(&found, expected, "{path}");
    }

    #[test]
    fn members_and_items_are_found() {
        check(".spec.size", &json!(3));
        check("{.spec.size}", &json!(3));
        check("$.spec['size']", &json!(3));
        check(".metadata.labels.a\\.b/c", &json!("dotted"));
        check(".metadata.labels['a.b/c']", &json!("dotted"));
        check(r".metadata.labels['a\.b/c']", &json!("dotted"));
        check(".metadata.labels[\"x\"]", &json!("plain"));
        check(".metadata.labels['none','x']", &json!("plain"));
        check(".spec.list[1]", &json!(2));
        check(".spec.list[-1].k", &json!("v"));
        check(".spec.list[-1:]", &json!({"k": "v"}));
        check(".spec.list[1:2]", &json!(2));
        check(".spec.list[*]", &json!("p"));
        check(".spec.list[*].k", &json!("v"));
        check("..size", &json!(3));
    }

    #[test]
    fn filters_select_items() {
        check(".conditions[?(@.type==\"Ready\")].status", &json!("True"));
        check(".conditions[?(@.type=='Ready')].status", &json!("True"));
        check(".conditions[?( @.type != 'A' )].type", &json!("Ready"));
        check(".conditions[?(@.n>1)].type", &json!("Ready"));
        check(".conditions[?(@.n<=1)].type", &json!("A"));
        check(".conditions[?(@.n)].type", &json!("A"));
        check(".conditions[?(@.type==\"None\")].status", &Value::Null);
    }

    #[test]
    fn what_is_not_there_or_not_a_path_is_nothing() {
        for path in [".nope.x", ".spec.list[9]", ".spec.list[2:1]", ".spec.empty[*]", ".spec[0]", ".spec[", "", ".a[?("]
        {
            check(path, &Value::Null);
        }
    }
}
