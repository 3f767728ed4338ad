//! `x-kubernetes-validations`: rules in CEL, compiled once per schema and evaluated on every write.

mod convert;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use kube_cel::KubeCelExt;
use kube_cel::cel::{self, Context, Program};
use serde_json::Value;

use super::correlate::Old;
use super::{Additional, Kind, Rule, Schema};
use crate::field_error::{ErrorKind, FieldError};
use convert::to_cel;

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
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    program: Program,
    message: Option<Program>,
    uses_old_self: bool,
}

impl Rules {
    /// Compiles all rules of a schema; the errors are those of rules that do not compile, which never pass.
    pub fn compile(schema: &Schema) -> (Self, Vec<RuleError>) {
        let mut errors = Vec::new();
        let rules = Self::node(schema, String::new(), &mut errors);
        (rules, errors)
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
    pub fn validate(&self, schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        FUNCTIONS.with(|functions| {
            let evaluation = Evaluation { functions };
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

    fn node(schema: &Schema, path: String, errors: &mut Vec<RuleError>) -> Self {
        let under = |below: &str| if path.is_empty() { below.to_owned() } else { format!("{path}.{below}") };
        let mut own = Vec::new();
        for (index, rule) in schema.rules.iter().enumerate() {
            match Compiled::new(rule) {
                Ok(compiled) => own.push(compiled),
                Err((field, message)) => {
                    let path = under(&format!("x-kubernetes-validations[{index}].{field}"));
                    errors.push(RuleError { path, rule: rule.rule.clone(), message });
                }
            }
        }
        let properties = schema.properties.iter().filter_map(|(name, schema)| {
            let rules = Self::node(schema, under(&format!("properties[{name}]")), errors);
            (!rules.is_empty()).then(|| (name.clone(), rules))
        });
        let properties = properties.collect();
        let mut boxed = |schema: &Schema, below: &str| {
            let rules = Self::node(schema, under(below), errors);
            (!rules.is_empty()).then(|| Box::new(rules))
        };
        let items = schema.items.as_deref().and_then(|schema| boxed(schema, "items"));
        let additional = match &schema.additional {
            Additional::Values(schema) => boxed(schema, "additionalProperties"),
            Additional::Unspecified | Additional::Forbidden | Additional::Anything => None,
        };
        let all_of = schema.combined.all_of.iter().enumerate();
        let all_of = all_of.filter_map(|(index, schema)| boxed(schema, &format!("allOf[{index}]")).map(|rules| *rules));
        let all_of = all_of.collect();
        Self { own, properties, additional, items, all_of }
    }
}

impl Compiled {
    /// Or the field that does not compile, and why.
    fn new(rule: &Rule) -> Result<Self, (&'static str, String)> {
        let compile =
            |field, text: &str| Program::compile(text).map_err(|error| (field, format!("compilation failed: {error}")));
        let program = compile("rule", &rule.rule)?;
        let message = rule.message_expression.as_deref().map(|text| compile("messageExpression", text)).transpose()?;
        let uses_old_self = program.references().has_variable("oldSelf");
        Ok(Self { rule: rule.clone(), program, message, uses_old_self })
    }
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
}

impl Evaluation<'_> {
    fn node(&self, rules: &Rules, schema: &Schema, value: &Value, place: Place<'_>, errors: &mut Vec<FieldError>) {
        if value.is_null() {
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
                        (Some((part, schema)), ..) => (part, schema, child(&place.path, name)),
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
                    for (index, item) in items.iter().enumerate() {
                        let old = place.old.item(schema, item);
                        let place = place.below(format!("{}[{index}]", place.path), old, value);
                        self.node(part, of_items, item, place, errors);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn own(&self, rules: &Rules, schema: &Schema, value: &Value, place: &Place<'_>, errors: &mut Vec<FieldError>) {
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
        if due.is_empty() {
            return;
        }
        let mut context = self.functions.new_inner_scope();
        context.add_variable_from_value("self", to_cel(schema, value));
        let looks_back = due.iter().any(|rule| rule.uses_old_self || rule.message.is_some());
        let old = old.filter(|_| looks_back).map_or(cel::Value::Null, |old| to_cel(schema, old));
        context.add_variable_from_value("oldSelf", old);
        errors.extend(due.into_iter().filter_map(|rule| rule.evaluate(&context, schema, value, &place.path)));
    }
}

impl Compiled {
    fn evaluate(&self, context: &Context<'_>, schema: &Schema, value: &Value, path: &str) -> Option<FieldError> {
        let kind = schema.kind.map_or("", Kind::name);
        let detail = match self.program.execute(context) {
            Ok(cel::Value::Bool(true)) => return None,
            Ok(cel::Value::Bool(false)) => self.detail(context),
            Ok(other) => {
                let detail = format!("rule evaluated to {other:?}, not to true or false: {}", self.shown());
                return Some(FieldError::invalid(field(path), kind, detail));
            }
            Err(error) => {
                let detail = format!("{error} evaluating rule: {}", self.shown());
                return Some(FieldError::invalid(field(path), kind, detail));
            }
        };
        let path = match &self.rule.field_path {
            Some(below) => format!("{path}{below}").trim_start_matches('.').to_owned(),
            None => path.to_owned(),
        };
        let quoted = (!matches!(schema.kind, Some(Kind::Object | Kind::Array))).then(|| value.clone());
        Some(match self.rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(field(&path), detail),
            Some("FieldValueRequired") => FieldError::required(field(&path), detail),
            Some("FieldValueDuplicate") => FieldError::new(ErrorKind::Duplicate, field(&path), quoted, ""),
            _ => FieldError::new(ErrorKind::Invalid, field(&path), quoted, detail),
        })
    }

    /// What the rule says when it is broken.
    fn detail(&self, context: &Context<'_>) -> String {
        let said = self.message.as_ref().and_then(|program| match program.execute(context) {
            Ok(cel::Value::String(text)) => Some(text.trim().to_owned()),
            _ => None,
        });
        let fixed = || self.rule.message.as_deref().map(|text| text.trim().to_owned());
        let usable = |text: &String| !text.is_empty() && !text.contains('\n');
        said.filter(usable).or_else(fixed).unwrap_or_else(|| format!("failed rule: {}", self.shown()))
    }

    fn shown(&self) -> &str {
        self.rule.rule.trim()
    }
}

fn field(path: &str) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path.to_owned() }
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
