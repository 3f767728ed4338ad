//! The JSONPath of printer columns: `.spec.size`, `.list[0]`, `['key']`, `[*]`, `[?(@.type=="Ready")].status`.

mod parse;

use serde_json::Value;

use crate::budget::Budget;
use parse::parse;

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

    /// The first value that it points at. `None` also where finding it would take too many steps.
    pub fn first<'a>(&self, object: &'a Value, budget: &Budget) -> Option<&'a Value> {
        Search { budget }.first(&self.0, object)
    }
}

/// Looks for the first value depth first, so that nothing is kept but the way to it. It goes at most as deep as the path
/// has steps and the object has levels.
struct Search<'b> {
    budget: &'b Budget,
}

impl Search<'_> {
    fn first<'a>(&self, steps: &[Step], value: &'a Value) -> Option<&'a Value> {
        self.budget.take_steps(1).ok()?;
        let Some((step, rest)) = steps.split_first() else { return Some(value) };
        match step {
            Step::Members(names) => {
                self.budget.take_steps(names.len()).ok()?;
                names.iter().filter_map(|name| value.get(name)).find_map(|member| self.first(rest, member))
            }
            Step::Items { from, to } => items(value, *from, *to).iter().find_map(|item| self.first(rest, item)),
            Step::All => self.among_children(rest, value),
            // What is here comes first, then what is below, in order.
            Step::Below => self.first(rest, value).or_else(|| self.among_children(steps, value)),
            Step::Filter(filter) => {
                let mut items = value.as_array().into_iter().flatten();
                items.find_map(|item| self.matches(filter, item).then(|| self.first(rest, item)).flatten())
            }
        }
    }

    fn among_children<'a>(&self, steps: &[Step], value: &'a Value) -> Option<&'a Value> {
        match value {
            Value::Array(list) => list.iter().find_map(|child| self.first(steps, child)),
            Value::Object(map) => map.values().find_map(|child| self.first(steps, child)),
            _ => None,
        }
    }

    fn matches(&self, filter: &Filter, item: &Value) -> bool {
        let Some(left) = self.operand(&filter.left, item) else { return false };
        let Some((operator, right)) = &filter.comparison else { return true };
        self.operand(right, item).is_some_and(|right| operator.holds(left, right))
    }

    fn operand<'a>(&self, operand: &'a Operand, item: &'a Value) -> Option<&'a Value> {
        match operand {
            Operand::Path(path) => self.first(&path.0, item),
            Operand::Literal(value) => Some(value),
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
        let found =
            JsonPath::parse(path).and_then(|path| path.first(&object, &Budget::default()).cloned()).unwrap_or_default();
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
    fn a_path_that_branches_everywhere_stops_when_its_steps_are_used_up() {
        let mut object = json!({"a": 1, "b": 2});
        for _ in 0..60 {
            object = json!({"a": object, "b": 1, "c": 2});
        }
        let path = JsonPath::parse(&format!("{}.none", "..*".repeat(8))).expect("it must be a path");
        let budget = Budget::new(0, 10_000, std::time::Duration::from_secs(60));
        assert_eq!(path.first(&object, &budget), None);
        assert!(budget.refusal().is_err(), "it must have been stopped");
        let deep = (0..120).fold(json!({"x": 1}), |object, _| json!([object]));
        let path = JsonPath::parse(&"..*".repeat(341)).expect("it must be a path");
        assert_eq!(path.first(&deep, &Budget::default()), None);
    }

    #[test]
    fn what_is_not_there_or_not_a_path_is_nothing() {
        for path in [".nope.x", ".spec.list[9]", ".spec.list[2:1]", ".spec.empty[*]", ".spec[0]", ".spec[", "", ".a[?("]
        {
            check(path, &Value::Null);
        }
    }
}
