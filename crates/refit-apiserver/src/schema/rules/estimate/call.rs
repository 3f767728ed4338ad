//! What calls cost.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, Expr, operators};

use super::range::Range;
use super::types::{Element, Type};
use super::{Entries, Estimator, Local, Node, sum};

/// Looking at a character.
const TEXT: f64 = 0.1;
/// A character of a regular expression: an expression is taken to have four of them.
const REGEX: f64 = 0.25;

impl<'s> Estimator<'s> {
    pub(super) fn call(&self, call: &CallExpr, locals: &[Local<'_, 's>]) -> Node<'s> {
        let arguments: Vec<Node<'s>> = call.args.iter().map(|argument| self.node(argument, locals)).collect();
        // `math.abs(…)`: the target is a part of the name.
        let is_variable = |name: &String| {
            matches!(name.as_str(), "self" | "oldSelf") || locals.iter().any(|local| local.name == name)
        };
        let prefix = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(name), .. }) if !is_variable(name) => Some(name),
            _ => None,
        };
        let target = call.target.as_deref().filter(|_| prefix.is_none()).map(|target| self.node(target, locals));
        let name = prefix.map_or_else(|| call.func_name.clone(), |prefix| format!("{prefix}.{}", call.func_name));
        let before = target.as_ref().map_or(Range::fixed(0), |target| target.cost);
        let mut node = match (name.as_str(), arguments.as_slice()) {
            (operators::LOGICAL_OR | operators::LOGICAL_AND, [left, right]) => {
                Node::new(Range { min: left.cost.min, max: left.cost.plus(right.cost).max }, Type::Scalar)
            }
            (operators::CONDITIONAL, [condition, then, otherwise]) => Node {
                cost: condition.cost.plus(then.cost.union(otherwise.cost)),
                kind: then.kind.clone().undeclared(),
                size: Some(then.size().union(otherwise.size())),
                entries: Entries::union(then.entries, otherwise.entries),
            },
            _ => {
                let node = function(&name, target.as_ref(), &arguments);
                Node { cost: node.cost.plus(sum(&arguments)), ..node }
            }
        };
        node.cost = node.cost.plus(before);
        node
    }
}

fn function<'s>(name: &str, target: Option<&Node<'s>>, arguments: &[Node<'s>]) -> Node<'s> {
    match (name, arguments) {
        (operators::ADD, [left, right]) => return add(left, right),
        (operators::INDEX, [container, _]) => {
            let node = Node::new(Range::fixed(1), container.kind.element(Element::Values));
            let known = container.entries.map(|entries| entries.value);
            return if node.size.is_some() { node } else { node.sized(known) };
        }
        _ => {}
    }
    let one = Range::fixed(1);
    let size = |node: Option<&Node<'s>>| node.map_or(Range::UNKNOWN, Node::size);
    let looked_through = |node: Option<&Node<'s>>| size(node).scaled(TEXT);
    let first = arguments.first();
    let text = |cost: Range, size: Range| Node::new(cost, Type::Text).sized(Some(size));
    match name {
        operators::EQUALS | operators::NOT_EQUALS => Node::new(compared(arguments), Type::Scalar),
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS
            if arguments.iter().all(|node| node.kind.is_text()) =>
        {
            Node::new(compared(arguments), Type::Scalar)
        }
        operators::IN
            if arguments
                .get(1)
                .is_some_and(|list| list.kind.is_list() || list.entries.is_some_and(|entries| entries.is_list)) =>
        {
            Node::new(size(arguments.get(1)), Type::Scalar)
        }
        "startsWith" | "endsWith" => Node::new(looked_through(first), Type::Scalar),
        "matches" if target.is_some() => Node::new(matched(target, first), Type::Scalar),
        "contains" if target.is_some() => Node::new(looked_through(target).times(looked_through(first)), Type::Scalar),
        "find" => text(matched(target, first), Range::up_to(size(target).max)),
        "findAll" => {
            let node = Node::new(matched(target, first), Type::List(Box::new(Type::Text)));
            node.sized(Some(Range::up_to(size(target).max)))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => match target {
            Some(list) if list.kind.is_list() => {
                let item = list.kind.element(Element::Values);
                let each =
                    if item.is_text() { one.plus(item.size().unwrap_or(Range::UNKNOWN).scaled(TEXT)) } else { one };
                Node::new(list.size().times(each), item.undeclared())
            }
            Some(_) => Node::new(looked_through(target), Type::Scalar),
            None => Node::new(one, Type::Unknown),
        },
        "lowerAscii" | "upperAscii" | "substring" | "trim" => text(looked_through(target), size(target)),
        "url" | "jsonpatch.escapeKey" => text(looked_through(first), size(first)),
        "split" => {
            let node = Node::new(size(target).scaled(2.0 * TEXT), Type::List(Box::new(Type::Text)));
            node.sized(Some(Range::up_to(size(target).max)))
        }
        "replace" => replace(target, arguments),
        "join" => join(target, first),
        "format" => Node::new(looked_through(target), Type::Text),
        "string" if first.is_some_and(|node| matches!(node.kind, Type::Bytes)) => {
            text(looked_through(first), Range { min: size(first).min / 4, max: size(first).max })
        }
        "bytes" => {
            let known = size(first);
            let node = Node::new(looked_through(first), Type::Bytes);
            node.sized(Some(Range { min: known.min, max: known.max.saturating_mul(4) }))
        }
        "strings.quote" => {
            let known = size(first);
            text(looked_through(first), known.times(Range { min: 1, max: 2 }).plus(Range::fixed(2)))
        }
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Node::new(looked_through(first), Type::Unknown)
        }
        "ip.isCanonical" => Node::new(size(first).scaled(2.0 * TEXT), Type::Scalar),
        "validate" => Node::new(looked_through(first).scaled(128.0 * REGEX), Type::Unknown),
        operators::NEGATE
        | operators::LOGICAL_NOT
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::IN
        | operators::NOT_STRICTLY_FALSE
        | "size"
        | "int"
        | "uint"
        | "double"
        | "bool"
        | "timestamp"
        | "duration" => Node::new(one, Type::Scalar),
        // The texts of numbers and times are short.
        "string" => text(one, Range::up_to(32)),
        _ => Node::new(one, Type::Unknown),
    }
}

/// Comparing ends with the smaller value.
fn compared(arguments: &[Node<'_>]) -> Range {
    let smallest = arguments.iter().map(|node| node.size().max).min().unwrap_or(0);
    Range { min: u64::from(smallest > 0), max: smallest }.scaled(TEXT)
}

fn matched(text: Option<&Node<'_>>, expression: Option<&Node<'_>>) -> Range {
    let size = |node: Option<&Node<'_>>| node.map_or(Range::UNKNOWN, Node::size);
    size(text).plus(Range::fixed(1)).scaled(TEXT).times(size(expression).scaled(REGEX))
}

fn add<'s>(left: &Node<'s>, right: &Node<'s>) -> Node<'s> {
    let size = left.size().plus(right.size());
    let is_list = |node: &Node<'_>| node.kind.is_list() || node.entries.is_some_and(|entries| entries.is_list);
    let is_text = |node: &Node<'_>| node.kind.is_text();
    let cost = match () {
        () if is_text(left) || is_text(right) => size.scaled(TEXT),
        () if is_list(left) || is_list(right) => Range::fixed(1),
        () => return Node::new(Range::fixed(1), Type::Scalar),
    };
    let entries = Entries::union(left.entries, right.entries);
    let kind = if is_list(left) && left.kind.is_list() { left.kind.clone() } else { right.kind.clone() };
    Node { cost, kind: kind.undeclared(), size: Some(size), entries }
}

fn replace<'s>(target: Option<&Node<'s>>, arguments: &[Node<'s>]) -> Node<'s> {
    let size = |node: Option<&Node<'s>>| node.map_or(Range::UNKNOWN, Node::size);
    let (text, from, to) = (size(target), size(arguments.first()), size(arguments.get(1)));
    let (count, kept) = if from.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if to.max <= from.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(from.min), 0)
    };
    let largest = count.saturating_mul(to.max).saturating_add(kept);
    Node::new(text.scaled(2.0 * TEXT), Type::Text).sized(Some(Range::up_to(largest)))
}

fn join<'s>(target: Option<&Node<'s>>, separator: Option<&Node<'s>>) -> Node<'s> {
    let list = target.map_or(Range::UNKNOWN, Node::size);
    let item = target.map(|list| list.kind.element(Element::Values));
    let each = item.map_or(Range::fixed(0), |item| item.size().unwrap_or(Range::UNKNOWN));
    let mut size = list.times(each);
    if let Some(separator) = separator {
        let count = Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
        size = size.plus(separator.size().times(count));
    }
    Node::new(size.scaled(TEXT), Type::Text).sized(Some(size))
}
