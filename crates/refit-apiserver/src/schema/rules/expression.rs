//! Expressions in CEL, read within bounds.
//!
//! The parser and everything that walks over what it makes go as deep as an expression nests. How deep that is, is
//! looked at before it is parsed, and again afterwards; parsing happens on a stack that is large enough for both.

mod nesting;

use std::thread;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr};
use kube_cel::cel::parser::Parser;

use nesting::nesting;

/// The longest expression. The longest rules that are in use have about two thousand characters.
pub const MAX_EXPRESSION_BYTES: usize = 32 * 1024;

/// How deep an expression may nest, as on the real server. Evaluating it takes two frames of at most 2 KiB a level: half of
/// a stack of two megabytes, in builds without optimization.
pub const MAX_EXPRESSION_DEPTH: usize = 250;

/// The stack for parsing. An expression of 32 KiB that is nothing but opening brackets takes nine frames of about half a
/// kilobyte for each: 148 MiB. Only what is used of it takes up memory.
const PARSER_STACK_BYTES: usize = 256 * 1024 * 1024;

/// What a byte of an expression costs to parse, in steps.
pub const STEPS_PER_BYTE: usize = 16;

/// An expression that nests no deeper than the bound.
#[derive(Debug)]
pub struct Expression(pub(super) IdedExpr);

impl Expression {
    /// Parses an expression, or says what is wrong with it. To be called on the parser's stack.
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let size = text.chars().count();
            return Err(format!(
                "expression code point size exceeds limit: size: {size}, limit {MAX_EXPRESSION_BYTES}"
            ));
        }
        let too_deep = || format!("expression recursion limit exceeded: {MAX_EXPRESSION_DEPTH}");
        // Some operators are counted that turn out not to nest.
        if nesting(text) > 4 * MAX_EXPRESSION_DEPTH {
            return Err(too_deep());
        }
        let limit = u16::try_from(MAX_EXPRESSION_DEPTH).unwrap_or(u16::MAX);
        let expression = Parser::new().max_recursion_depth(limit).parse(text).map_err(|error| error.to_string())?;
        if depth(&expression) > MAX_EXPRESSION_DEPTH {
            return Err(too_deep());
        }
        Ok(Self(expression))
    }

    /// Whether it mentions a variable.
    pub fn mentions(&self, variable: &str) -> bool {
        any(&self.0, &mut |expression| matches!(&expression.expr, Expr::Ident(name) if name == variable))
    }
}

/// Parses expressions, on a stack of their own.
pub fn with_parser<T: Send>(work: impl FnOnce(&dyn Fn(&str) -> Result<Expression, String>) -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("cel-parser".to_owned()).stack_size(PARSER_STACK_BYTES);
        let thread = thread.spawn_scoped(scope, || work(&Expression::parse)).expect("a thread must start");
        thread.join().expect("the parser must not panic")
    })
}

fn depth(expression: &IdedExpr) -> usize {
    let mut deepest = 0;
    for_each_part(expression, &mut |part| deepest = deepest.max(depth(part)));
    deepest + 1
}

fn any(expression: &IdedExpr, holds: &mut impl FnMut(&IdedExpr) -> bool) -> bool {
    if holds(expression) {
        return true;
    }
    let mut is_found = false;
    let mut holds: &mut dyn FnMut(&IdedExpr) -> bool = holds;
    for_each_part(expression, &mut |part| is_found = is_found || any(part, &mut holds));
    is_found
}

fn for_each_part(expression: &IdedExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target));
            call.args.iter().for_each(visit);
        }
        Expr::Comprehension(parts) => {
            let parts = [&parts.iter_range, &parts.accu_init, &parts.loop_cond, &parts.loop_step, &parts.result];
            parts.into_iter().for_each(visit);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Select(select) => visit(&select.operand),
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr), visit),
        Expr::Struct(fields) => entries(fields.entries.iter().map(|entry| &entry.expr), visit),
    }
}

fn entries<'a>(entries: impl Iterator<Item = &'a EntryExpr>, visit: &mut dyn FnMut(&IdedExpr)) {
    for entry in entries {
        match entry {
            EntryExpr::StructField(field) => visit(&field.value),
            EntryExpr::MapEntry(entry) => {
                visit(&entry.key);
                visit(&entry.value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(), &str>) {
        let found = with_parser(|parse| parse(text).map(drop));
        assert_eq!(found, expected.map_err(str::to_owned), "{}", &text[..text.len().min(60)]);
    }

    #[test]
    fn an_expression_that_nests_too_deep_is_refused_however_it_nests() {
        let deep = Err("expression recursion limit exceeded: 250");
        check(&format!("1{}", "+1".repeat(10_000)), deep);
        check(&format!("1{}", "+1".repeat(2_758)), deep);
        check(&format!("self{}", ".a".repeat(10_000)), deep);
        check(&format!("self{}", "[0]".repeat(10_000)), deep);
        check(&format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)), deep);
        check(&format!("{}1{}", "[".repeat(1_001), "]".repeat(1_001)), deep);
        check(&format!("{}1", "true?1:".repeat(4_000)), deep);
        check(&format!("{}true", "!(".repeat(4_000)), deep);
        check(&format!("self{}", ".map(x, x".repeat(3_000)), deep);
        check(&format!("'{}", "'+1+'".repeat(4_000)), deep);
        let long = "expression code point size exceeds limit: size: 40001, limit 32768";
        check(&format!("1{}", "+1".repeat(20_000)), Err(long));
    }

    #[test]
    fn long_expressions_that_do_not_nest_are_accepted() {
        check(&vec!["self.a.b == 'x'"; 1_500].join(" && "), Ok(()));
        check(&format!("self in [{}1]", "1,".repeat(10_000)), Ok(()));
        check(&format!("'{}' == self", "(".repeat(10_000)), Ok(()));
    }
}
