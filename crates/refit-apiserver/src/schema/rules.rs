//! `x-kubernetes-validations`: rules in CEL, compiled once per schema and evaluated on every write.

mod convert;
mod estimate;
mod evaluate;
mod expression;
mod meter;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{self, Context};
use serde_json::Value;

use super::correlate::Old;
use super::{Additional, Kind, Rule, Schema};
use crate::budget::{BYTES_PER_STEP, Budget};
use crate::field_error::{ErrorKind, FieldError, FieldErrors, MAX_ERRORS};
use convert::Conversion;
use evaluate::{Evaluator, Failure, Outcome, Scope};
use expression::{Expression, STEPS_PER_BYTE, with_parser};
use meter::{Meter, Stopped};

/// What a rule may cost at most by estimate, for all values in an object, as on the real server.
const ESTIMATED_RULE_LIMIT: u64 = 10_000_000;
/// The same of all rules of a schema together.
const ESTIMATED_SCHEMA_LIMIT: u64 = 100_000_000;

/// The longest sentence that a rule makes itself, as on the real server.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

thread_local! {
    /// The functions that rules may call. Making it costs more than evaluating a rule.
    static FUNCTIONS: Context<'static> = Context::default().with_all();
}

/// The compiled rules of a schema, for the parts that have any.
#[derive(Debug, Default)]
pub struct Rules {
    own: Vec<Compiled>,
    properties: BTreeMap<String, Rules>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
    all_of: Vec<Rules>,
}

/// A rule that cannot be compiled, so that its schema is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct RuleError {
    /// Where in the schema, as in `properties[spec].x-kubernetes-validations[0].rule`.
    pub path: String,
    pub rule: String,
    pub message: String,
    /// The rule is right, but may cost too much.
    pub is_too_costly: bool,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    /// Or why the rule cannot be compiled: then no value passes it.
    program: Result<Expression, String>,
    message: Option<Expression>,
    uses_old_self: bool,
}

impl Rules {
    /// Compiles all rules of a schema; the errors are those of rules that do not compile, which nothing passes.
    pub fn compile(schema: &Schema, budget: &Budget) -> (Self, Vec<RuleError>) {
        if !has_rules(schema) {
            return (Self::default(), Vec::new());
        }
        with_parser(|parse| {
            let mut compiler = Compiler { parse, budget, errors: Vec::new(), costs: Vec::new() };
            let rules = compiler.node(schema, String::new(), Some(1));
            compiler.judge_total();
            (rules, compiler.errors)
        })
    }

    /// Compiles the rules of a schema that was accepted, with what that cost in mind.
    pub fn compile_accepted(schema: &Schema) -> Self {
        Self::compile(schema, &Budget::unlimited()).0
    }

    /// Whether there is any rule at all.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
            && self.properties.is_empty()
            && self.additional.is_none()
            && self.items.is_none()
            && self.all_of.is_empty()
    }

    /// The rules that `value` breaks. A rule that does not look at the old value is not asked where nothing changed.
    pub fn validate(&self, schema: &Schema, value: &Value, old: Option<&Value>, budget: &Budget) -> FieldErrors {
        let mut errors = FieldErrors::default();
        if self.is_empty() {
            return errors;
        }
        FUNCTIONS.with(|functions| {
            let meter = Meter::new(budget);
            let evaluation = Evaluation { functions, meter: &meter };
            evaluation.node(
                self,
                schema,
                value,
                Place { path: String::new(), old: Old::new(old), parent: None },
                &mut errors,
            );
        });
        errors
    }
}

fn has_rules(schema: &Schema) -> bool {
    let additional = match &schema.additional {
        Additional::Values(schema) => Some(&**schema),
        Additional::Unspecified | Additional::Forbidden | Additional::Anything => None,
    };
    let parts = schema.properties.values().chain(&schema.items).map(|part| &**part).chain(additional);
    !schema.rules.is_empty() || parts.chain(&schema.combined.all_of).any(has_rules)
}

struct Compiler<'a> {
    parse: &'a dyn Fn(&str) -> Result<Expression, String>,
    budget: &'a Budget,
    errors: Vec<RuleError>,
    /// Of every expression, with its path.
    costs: Vec<(String, u64)>,
}

impl Compiler<'_> {
    /// `count`: how many values of the schema an object has at most, where that is known.
    fn node(&mut self, schema: &Schema, path: String, count: Option<u64>) -> Rules {
        let under = |below: &str| if path.is_empty() { below.to_owned() } else { format!("{path}.{below}") };
        let is_resource = path.is_empty() || schema.embedded_resource;
        let own = schema.rules.iter().enumerate();
        let own = own.map(|(index, rule)| {
            let path = under(&format!("x-kubernetes-validations[{index}]"));
            let compiled = self.rule(rule, &path);
            let count = count.unwrap_or_else(|| estimate::max_count(schema));
            self.estimate(&compiled, (schema, is_resource), count, path);
            compiled
        });
        let own = own.collect();
        let below = count.zip(max_parts(schema)).map(|(count, parts)| count.saturating_mul(parts));
        let properties = schema.properties.iter().filter_map(|(name, schema)| {
            let rules = self.node(schema, under(&format!("properties[{name}]")), below);
            (!rules.is_empty()).then(|| (name.clone(), rules))
        });
        let properties = properties.collect();
        let mut boxed = |schema: &Schema, part: &str| {
            let rules = self.node(schema, under(part), below);
            (!rules.is_empty()).then(|| Box::new(rules))
        };
        let items = schema.items.as_deref().and_then(|schema| boxed(schema, "items"));
        let additional = match &schema.additional {
            Additional::Values(schema) => boxed(schema, "additionalProperties"),
            Additional::Unspecified | Additional::Forbidden | Additional::Anything => None,
        };
        let all_of = schema.combined.all_of.iter().enumerate();
        let all_of = all_of.map(|(index, schema)| self.node(schema, under(&format!("allOf[{index}]")), count));
        let all_of: Vec<Rules> = all_of.collect();
        let all_of = if all_of.iter().all(Rules::is_empty) { Vec::new() } else { all_of };
        Rules { own, properties, additional, items, all_of }
    }

    fn rule(&mut self, rule: &Rule, path: &str) -> Compiled {
        let program = self.expression(&rule.rule);
        let message = rule.message_expression.as_deref().map(|text| self.expression(text));
        if let Err(message) = &program {
            self.refuse(rule, format!("{path}.rule"), message);
        } else if let Some(Err(message)) = &message {
            self.refuse(rule, format!("{path}.messageExpression"), message);
        }
        let uses_old_self = program.as_ref().is_ok_and(|program| program.mentions("oldSelf"));
        Compiled { rule: rule.clone(), program, message: message.and_then(Result::ok), uses_old_self }
    }

    fn expression(&self, text: &str) -> Result<Expression, String> {
        let charged = self.budget.take_steps(STEPS_PER_BYTE * text.len());
        let charged = charged.map_err(|exceeded| exceeded.to_string());
        charged.and_then(|()| (self.parse)(text)).map_err(|error| format!("compilation failed: {error}"))
    }

    fn refuse(&mut self, rule: &Rule, path: String, message: &str) {
        let (rule, message) = (rule.rule.clone(), message.to_owned());
        self.say(RuleError { path, rule, message, is_too_costly: false });
    }

    /// Refuses rules that may cost too much, by what the schema allows.
    fn estimate(&mut self, compiled: &Compiled, (schema, is_resource): (&Schema, bool), count: u64, path: String) {
        let cost = |expression| estimate::max_cost(expression, schema, is_resource);
        if let Ok(program) = &compiled.program {
            let cost = cost(program).saturating_mul(count);
            self.judge_cost("estimated rule cost", compiled, format!("{path}.rule"), cost);
        }
        if let (Ok(_), Some(message)) = (&compiled.program, &compiled.message) {
            let cost = cost(message);
            self.judge_cost("estimated messageExpression cost", compiled, format!("{path}.messageExpression"), cost);
        }
    }

    fn judge_cost(&mut self, what: &str, compiled: &Compiled, path: String, cost: u64) {
        if cost > ESTIMATED_RULE_LIMIT {
            self.forbid(compiled.rule.rule.clone(), path.clone(), exceeded(what, cost, ESTIMATED_RULE_LIMIT));
        }
        self.costs.push((path, cost));
    }

    /// Refuses a schema whose rules may cost too much together, and names the costliest.
    fn judge_total(&mut self) {
        let total = self.costs.iter().fold(0_u64, |total, (_, cost)| total.saturating_add(*cost));
        if total <= ESTIMATED_SCHEMA_LIMIT {
            return;
        }
        let mut costs = std::mem::take(&mut self.costs);
        costs.retain(|(_, cost)| *cost >= ESTIMATED_SCHEMA_LIMIT / 100);
        costs.sort_by_key(|(_, cost)| Reverse(*cost));
        for (path, _) in costs.into_iter().take(4) {
            let message = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            self.forbid(String::new(), path, message.to_owned());
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.forbid(String::new(), String::new(), exceeded(what, total, ESTIMATED_SCHEMA_LIMIT));
    }

    fn forbid(&mut self, rule: String, path: String, message: String) {
        self.say(RuleError { path, rule, message, is_too_costly: true });
    }

    /// Remembers an error, and one more than are named: so that it is known that there are more.
    fn say(&mut self, error: RuleError) {
        if self.errors.len() <= MAX_ERRORS {
            self.errors.push(error);
        }
    }
}

/// How many values a value holds at most, each of its fields once.
fn max_parts(schema: &Schema) -> Option<u64> {
    match (schema.kind, &schema.additional) {
        (Some(Kind::Object), Additional::Values(_) | Additional::Anything) => schema.limits.max_properties,
        (Some(Kind::Array), _) => schema.limits.max_items,
        _ => Some(1),
    }
}

#[allow(clippy::cast_precision_loss, reason = "the message has one digit behind the point")]
fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// Where a value is, and what it was.
#[derive(Clone)]
struct Place<'a> {
    path: String,
    old: Old<'a>,
    /// Whether what is around it is unchanged, where the value itself cannot be compared.
    parent: Option<bool>,
}

impl<'a> Place<'a> {
    fn below(&self, path: String, old: Old<'a>, value: &Value) -> Self {
        Self { path, old, parent: self.unchanged(value) }
    }

    fn unchanged(&self, value: &Value) -> Option<bool> {
        match self.old.value() {
            Some(_) => Some(self.old.is_unchanged(value)),
            None => self.parent,
        }
    }
}

struct Evaluation<'a> {
    functions: &'a Context<'static>,
    meter: &'a Meter<'a>,
}

impl Evaluation<'_> {
    fn node(&self, rules: &Rules, schema: &Schema, value: &Value, place: Place<'_>, errors: &mut FieldErrors) {
        if value.is_null() || self.meter.budget().take_steps(1 + place.path.len() / BYTES_PER_STEP).is_err() {
            return;
        }
        if errors.is_closed() {
            return;
        }
        self.own(rules, schema, value, &place, errors);
        for (part, schema) in rules.all_of.iter().zip(&schema.combined.all_of) {
            self.node(part, schema, value, place.clone(), errors);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let named = rules.properties.get(name).zip(schema.properties.get(name));
                    let (part, schema, path) = match (named, &rules.additional, &schema.additional) {
                        (Some((part, schema)), ..) => (part, &**schema, child(&place.path, name)),
                        (None, Some(part), Additional::Values(values)) if !schema.properties.contains_key(name) => {
                            (&**part, &**values, format!("{}[{name}]", place.path))
                        }
                        _ => continue,
                    };
                    self.node(part, schema, member, place.below(path, place.old.member(name), value), errors);
                }
            }
            Value::Array(items) => {
                if let (Some(part), Some(of_items)) = (&rules.items, &schema.items) {
                    let old_items = place.old.items(schema);
                    for (index, item) in items.iter().enumerate() {
                        let old = old_items.of(item);
                        let place = place.below(format!("{}[{index}]", place.path), old, value);
                        self.node(part, of_items, item, place, errors);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn own(&self, rules: &Rules, schema: &Schema, value: &Value, place: &Place<'_>, errors: &mut FieldErrors) {
        if rules.own.is_empty() {
            return;
        }
        let old = place.old.value().filter(|old| !old.is_null());
        let is_unchanged = place.unchanged(value) == Some(true);
        let is_due = |rule: &&Compiled| match rule.uses_old_self {
            true => old.is_some() || rule.rule.optional_old_self == Some(true),
            false => !is_unchanged,
        };
        let due: Vec<&Compiled> = rules.own.iter().filter(is_due).collect();
        if due.is_empty() || self.meter.is_used_up() {
            return;
        }
        let conversion = Conversion { functions: self.functions, budget: self.meter.budget() };
        let looks_back = due.iter().any(|rule| rule.uses_old_self || rule.message.is_some());
        let old = old.filter(|_| looks_back).map(|old| conversion.to_cel(schema, old));
        let current = conversion.to_cel(schema, value);
        // To rules that say so, the old value is one that may be missing: `oldSelf.hasValue()`, `oldSelf.value()`.
        let optional = old.clone().map_or_else(OptionalValue::none, OptionalValue::of);
        let olds = [old.unwrap_or(cel::Value::Null), cel::Value::Opaque(Arc::new(optional))];
        for rule in due {
            let old = &olds[usize::from(rule.rule.optional_old_self == Some(true))];
            let old = Scope { name: "oldSelf", value: old, outer: None };
            let scope = Scope { name: "self", value: &current, outer: Some(&old) };
            let judged = Judged { schema, value, path: &place.path, scope };
            errors.extend(self.judge(rule, &judged));
            if self.meter.is_used_up() {
                return;
            }
        }
    }

    /// What is wrong with a value by one rule.
    fn judge(&self, rule: &Compiled, judged: &Judged<'_>) -> Option<FieldError> {
        let program = match &rule.program {
            Ok(program) => program,
            Err(error) => return Some(judged.malformed(format!("rule compile error: {error}"))),
        };
        match self.evaluate(program, &judged.scope) {
            Ok(cel::Value::Bool(true)) => None,
            Ok(cel::Value::Bool(false)) => Some(match self.said(rule, judged) {
                Ok(said) => judged.broken(rule, said.unwrap_or_else(|| rule.fixed_message())),
                Err(error) => error,
            }),
            Ok(other) => {
                let detail = format!("rule evaluated to {}, not to true or false: {}", shown(&other), rule.shown());
                Some(judged.malformed(detail))
            }
            Err(Failure::Error(cel::ExecutionError::NoSuchOverload)) => Some(judged.malformed(format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {}",
                rule.named()
            ))),
            Err(Failure::Error(error)) => {
                Some(judged.malformed(format!("{} evaluating rule: {}", bounded(&error), rule.named())))
            }
            Err(Failure::Stopped(stopped)) => {
                self.meter.use_up();
                Some(judged.malformed(match stopped {
                    Stopped::Call => format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        rule.named()
                    ),
                    Stopped::Object => "validation failed due to running out of cost budget, no further validation rules will be run".to_owned(),
                }))
            }
        }
    }

    /// What the rule itself says when it is broken. `None` where it says nothing that can be used.
    fn said(&self, rule: &Compiled, judged: &Judged<'_>) -> Result<Option<String>, FieldError> {
        let Some(message) = &rule.message else { return Ok(None) };
        let said = match self.evaluate(message, &judged.scope) {
            Ok(cel::Value::String(text)) => text.trim().to_owned(),
            Ok(_) | Err(Failure::Error(_)) => return Ok(None),
            Err(Failure::Stopped(stopped)) => {
                self.meter.use_up();
                let text = rule.rule.message_expression.as_deref().unwrap_or_default();
                return Err(judged.malformed(match stopped {
                    Stopped::Call => format!("no further validation rules will be run due to call cost exceeds limit for messageExpression: {text:?}"),
                    Stopped::Object => "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".to_owned(),
                }));
            }
        };
        let is_usable = !said.is_empty() && !said.contains('\n') && said.len() <= MAX_MESSAGE_BYTES;
        Ok(is_usable.then_some(said))
    }

    fn evaluate(&self, expression: &Expression, scope: &Scope<'_>) -> Outcome {
        self.meter.begin();
        Evaluator { functions: self.functions, meter: self.meter }.evaluate(&expression.0, scope)
    }
}

/// A value that rules judge.
struct Judged<'a> {
    schema: &'a Schema,
    value: &'a Value,
    path: &'a str,
    scope: Scope<'a>,
}

impl Judged<'_> {
    /// An error of the rule, not of the value.
    fn malformed(&self, detail: String) -> FieldError {
        FieldError::invalid(field(self.path), self.schema.kind.map_or("", Kind::name), detail)
    }

    fn broken(&self, rule: &Compiled, detail: String) -> FieldError {
        let path = match &rule.rule.field_path {
            Some(below) => format!("{}{below}", self.path).trim_start_matches('.').to_owned(),
            None => self.path.to_owned(),
        };
        let is_composed = matches!(self.schema.kind, Some(Kind::Object | Kind::Array));
        let quoted = (!is_composed).then(|| self.value.into());
        match rule.rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(field(&path), detail),
            Some("FieldValueRequired") => FieldError::required(field(&path), detail),
            Some("FieldValueDuplicate") => FieldError::new(ErrorKind::Duplicate, field(&path), quoted, ""),
            _ => FieldError::new(ErrorKind::Invalid, field(&path), quoted, detail),
        }
    }
}

impl Compiled {
    fn fixed_message(&self) -> String {
        let fixed = self.rule.message.as_deref().map(|text| text.trim().to_owned());
        fixed.unwrap_or_else(|| format!("failed rule: {}", self.shown()))
    }

    fn shown(&self) -> &str {
        self.rule.rule.trim()
    }

    /// How errors name the rule.
    fn named(&self) -> &str {
        self.rule.message.as_deref().filter(|text| !text.is_empty()).unwrap_or(&self.rule.rule).trim()
    }
}

fn shown(value: &cel::Value) -> String {
    let mut text = Bounded(String::new());
    let _ = write!(text, "{value:?}");
    text.0
}

fn bounded(error: &impl fmt::Display) -> String {
    let mut text = Bounded(String::new());
    let _ = write!(text, "{error}");
    text.0
}

/// A text that ends where it would become too long: errors quote values of any size.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_MESSAGE_BYTES.saturating_sub(self.0.len());
        match text.char_indices().find(|(at, character)| at + character.len_utf8() > room) {
            None => self.0.push_str(text),
            Some((end, _)) => {
                self.0.push_str(&text[..end]);
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

fn field(path: &str) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path.to_owned() }
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
