//! What a rule can cost at most, estimated as Kubernetes estimates it when a definition is made: from the sizes that the
//! schema allows.
//!
//! An expression that calls something whose cost is not known is taken to cost as little as a call can; it is still
//! metered when it runs.

mod call;
mod range;
mod types;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::expression::Expression;
use crate::schema::Schema;
use range::Range;
use types::{Element, Type};

pub use types::max_count;

const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;

/// The highest cost of an expression on values of this schema. `is_resource`: they have a type and metadata of their own.
pub fn max_cost(expression: &Expression, schema: &Schema, is_resource: bool) -> u64 {
    let root = Type::declared(schema, is_resource);
    Estimator { root }.node(&expression.0, &[]).cost.max
}

struct Estimator<'s> {
    /// The type of `self` and `oldSelf`.
    root: Type<'s>,
}

/// What is known of a part of an expression.
#[derive(Clone)]
struct Node<'s> {
    cost: Range,
    kind: Type<'s>,
    /// How large the value is; `None` where nothing is known.
    size: Option<Range>,
    /// How large what it holds is.
    entries: Option<Entries>,
}

#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entries {
    fn union(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(Self { is_list: one.is_list, key: one.key.union(other.key), value: one.value.union(other.value) })
    }
}

impl<'s> Node<'s> {
    fn new(cost: Range, kind: Type<'s>) -> Self {
        let size = kind.size();
        Self { cost, kind, size, entries: None }
    }

    fn sized(mut self, size: Option<Range>) -> Self {
        self.size = size.or(self.size);
        self
    }

    fn size(&self) -> Range {
        self.size.unwrap_or(Range::UNKNOWN)
    }
}

/// A variable of a macro.
struct Local<'a, 's> {
    name: &'a str,
    node: Node<'s>,
}

impl<'s> Estimator<'s> {
    fn node(&self, expression: &IdedExpr, locals: &[Local<'_, 's>]) -> Node<'s> {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => match locals.iter().rev().find(|local| local.name == name) {
                Some(local) => Node { cost: Range::fixed(1), ..local.node.clone() },
                None => Node::new(Range::fixed(1), self.root.clone()),
            },
            Expr::Select(select) => self.select(select, locals),
            Expr::Call(call) => self.call(call, locals),
            Expr::List(list) => {
                let nodes: Vec<Node<'s>> = list.elements.iter().map(|element| self.node(element, locals)).collect();
                let value = nodes.iter().map(Node::size).reduce(Range::union).unwrap_or(Range::fixed(0));
                let kind = nodes.first().map_or(Type::Unknown, |node| node.kind.clone());
                Node {
                    cost: sum(&nodes).plus(Range::fixed(LIST_COST)),
                    kind: Type::List(Box::new(kind.undeclared())),
                    size: Some(Range::fixed(nodes.len() as u64)),
                    entries: Some(Entries { is_list: true, key: Range::fixed(1), value }),
                }
            }
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr), locals),
            Expr::Struct(fields) => {
                let node = self.map(fields.entries.iter().map(|entry| &entry.expr), locals);
                Node { cost: node.cost.plus(Range::fixed(STRUCT_COST - MAP_COST)), ..node }
            }
            Expr::Comprehension(parts) => self.comprehension(parts, locals),
            Expr::Unspecified => Node::new(Range::fixed(0), Type::Unknown),
        }
    }

    fn literal(&self, literal: &LiteralValue) -> Node<'s> {
        let (kind, size) = match literal {
            LiteralValue::String(text) => (Type::Text, text.inner().chars().count() as u64),
            LiteralValue::Bytes(bytes) => (Type::Bytes, bytes.inner().len() as u64),
            LiteralValue::Boolean(_)
            | LiteralValue::Double(_)
            | LiteralValue::Int(_)
            | LiteralValue::UInt(_)
            | LiteralValue::Null => (Type::Scalar, 1),
        };
        Node::new(Range::fixed(0), kind).sized(Some(Range::fixed(size)))
    }

    fn select(&self, select: &SelectExpr, locals: &[Local<'_, 's>]) -> Node<'s> {
        let operand = self.node(&select.operand, locals);
        if select.test {
            return Node::new(operand.cost, Type::Scalar);
        }
        let cost = if operand.kind.is_selectable() { operand.cost.plus(Range::fixed(1)) } else { operand.cost };
        Node::new(cost, operand.kind.field(&select.field))
    }

    fn map<'e>(&self, entries: impl Iterator<Item = &'e EntryExpr>, locals: &[Local<'_, 's>]) -> Node<'s> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                EntryExpr::MapEntry(entry) => {
                    keys.push(self.node(&entry.key, locals));
                    values.push(self.node(&entry.value, locals));
                }
                EntryExpr::StructField(field) => values.push(self.node(&field.value, locals)),
            }
        }
        let size = |nodes: &[Node<'s>]| nodes.iter().map(Node::size).reduce(Range::union).unwrap_or(Range::fixed(0));
        Node {
            cost: sum(&keys).plus(sum(&values)).plus(Range::fixed(MAP_COST)),
            kind: Type::Map(Box::new(values.first().map_or(Type::Unknown, |node| node.kind.clone().undeclared()))),
            size: Some(Range::fixed(values.len() as u64)),
            entries: Some(Entries { is_list: false, key: size(&keys), value: size(&values) }),
        }
    }

    fn comprehension(&self, parts: &ComprehensionExpr, locals: &[Local<'_, 's>]) -> Node<'s> {
        let range = self.node(&parts.iter_range, locals);
        let start = self.node(&parts.accu_init, locals);
        let count = range.size();
        let sum_node = Node { kind: start.kind.clone().undeclared(), ..start.clone() };
        let mut inner: Vec<Local<'_, 's>> =
            locals.iter().map(|local| Local { name: local.name, node: local.node.clone() }).collect();
        inner.push(Local { name: &parts.accu_var, node: sum_node });
        inner.push(Local { name: &parts.iter_var, node: self.item(&range, parts.iter_var2.is_some()) });
        if let Some(name) = &parts.iter_var2 {
            inner.push(Local { name, node: self.value(&range) });
        }
        let condition = self.node(&parts.loop_cond, &inner);
        let step = self.node(&parts.loop_step, &inner);
        inner.truncate(locals.len() + 1);
        let result = self.node(&parts.result, &inner);
        let cost = range.cost.plus(start.cost).plus(result.cost).plus(count.times(step.cost.plus(condition.cost)));
        match &parts.accu_init.expr {
            Expr::List(_) | Expr::Map(_) => {
                Node { cost, kind: step.kind.undeclared(), size: Some(count), entries: step.entries }
            }
            _ => Node { cost, size: start.size, entries: None, kind: result.kind.undeclared() },
        }
    }

    /// The one variable of a macro: an item of a list, or a key of a map.
    fn item(&self, range: &Node<'s>, is_key: bool) -> Node<'s> {
        let is_list = range.entries.map_or(range.kind.is_list(), |entries| entries.is_list);
        if is_list && !is_key {
            return self.value(range);
        }
        let kind = if is_list { Type::Scalar } else { range.kind.element(Element::Keys) };
        let known = range.entries.map(|entries| entries.key);
        let node = Node::new(Range::fixed(1), kind);
        if node.size.is_some() { node } else { node.sized(known) }
    }

    fn value(&self, range: &Node<'s>) -> Node<'s> {
        let node = Node::new(Range::fixed(1), range.kind.element(Element::Values));
        if node.size.is_some() { node } else { node.sized(range.entries.map(|entries| entries.value)) }
    }
}

fn sum(nodes: &[Node<'_>]) -> Range {
    nodes.iter().fold(Range::fixed(0), |sum, node| sum.plus(node.cost))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schema::rules::expression::with_parser;
    use crate::schema::{Definitions, parse};

    /// The numbers are those of Kubernetes' own tests.
    fn check(schema: &Value, rule: &str, expected: u64) {
        let schema = parse(schema, &Definitions::new());
        let expression = with_parser(|parse| parse(rule)).expect("it must parse");
        assert_eq!(max_cost(&expression, &schema, false), expected, "{rule}");
    }

    fn array(of: &str, max_items: Option<u64>) -> Value {
        let mut schema = json!({"type": "array", "items": {"type": of}});
        if let Some(max) = max_items {
            schema["maxItems"] = max.into();
        }
        schema
    }

    #[test]
    fn lists_and_maps_cost_as_much_as_the_schema_lets_them_hold() {
        check(&array("number", None), "self.all(x, true)", 4_718_591);
        check(&array("number", Some(10)), "self.all(x, true)", 32);
        check(&array("string", None), "self.all(x, true)", 3_145_727);
        check(&array("boolean", None), "self.all(x, true)", 1_887_437);
        check(&array("number", Some(10)), "self.all(x, self.all(y, true))", 352);
        check(&array("number", Some(10)), "self.all(x, self.all(y, self.all(z, true)))", 3_552);
        check(&array("number", None), "self[1] == 0.0", 2);
        check(&array("string", None), "self[1] == self[1]", 314_577);
        check(&array("number", None), "self.all(x, x == 0.0)", 6_291_454);
        let arrays = json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}});
        check(&arrays, "self.all(x, true)", 3_145_727);
        let map = |of: &str| json!({"type": "object", "additionalProperties": {"type": of}});
        check(&map("number"), "self.all(x, true)", 1_348_169);
        check(&map("string"), "self.all(x, true)", 1_179_647);
        check(&map("boolean"), "self.all(x, true)", 943_718);
        check(&map("number"), r#"self["x"] == 0.0"#, 2);
        check(&map("string"), "self.all(x, x.contains(self[x]))", 2_752_507);
    }

    #[test]
    fn texts_cost_as_much_as_the_schema_lets_them_be_long() {
        let text = json!({"type": "string"});
        check(&text, "self.contains('test')", 314_574);
        check(&json!({"type": "string", "maxLength": 10}), "self.contains('test')", 5);
        check(&text, "self.startsWith('test')", 2);
        check(&text, r#"size(self + "hello") > size("hello")"#, 314_578);
        check(&text, r#"self.matches("x")"#, 314_574);
        check(&json!({"type": "string", "maxLength": 50}), r#"self.matches("x")"#, 22);
        check(&text, r#""".matches("(((((((((())))))))))[0-9]")"#, 7);
        check(&text, r#"self.matches("")"#, 1);
        check(&text, r#"self == "x""#, 2);
        check(&json!({"type": "string", "maxLength": 0}), r#"self == "x""#, 1);
        check(&json!({"type": "string", "format": "byte"}), r#"self == b"x""#, 2);
    }
}
