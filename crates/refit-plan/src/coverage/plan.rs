//! The plan of an update: which extensions run on a machine, in which order.

use std::collections::BTreeMap;
use std::error::Error;

use refit_api::hooks::{CanonicalName, NameError};
use serde::{Deserialize, Serialize};

use super::answer::MAX_WORDS;
use super::change::{Changes, shortened};
use super::claims::Claims;
use super::composition::MAX_EXTENSIONS;
use super::hash::{ContentHash, NotAHash};

/// The version of the form of a plan in its annotation. A plan of another version is never guessed at.
const VERSION: u32 = 1;

/// The largest plan in an annotation: [`MAX_EXTENSIONS`] names of up to 127 characters with quotes and a comma, two
/// hashes of 64 digits and the names of the fields take less than 9 KiB, and claims 4 KiB.
pub const MAX_ENCODED_BYTES: usize = 16 * 1024;

/// The extensions that cover a change together, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatePlan {
    /// What the extensions were asked about.
    pub question: ContentHash,
    /// What the machine becomes.
    pub target: ContentHash,
    /// Only extensions that change something. None: there is nothing to change.
    pub steps: Vec<PlannedExtension>,
}

/// An extension of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedExtension {
    /// The handler that made the claims. Its ExtensionConfig says whose update is to run.
    pub name: CanonicalName,
    /// What it has promised to change.
    pub claims: Changes,
}

/// A plan as the annotation `refit.dev/update-plan` of a Machine carries it: accepted, and partly run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenPlan {
    /// What the extensions were asked about.
    pub question: ContentHash,
    /// What the machine becomes.
    pub target: ContentHash,
    remaining: Vec<CanonicalName>,
    /// Those that are done, in the order in which they ran. For people: nothing depends on it.
    done: Vec<CanonicalName>,
    /// What those that are still to run have promised to change.
    claims: Claims,
}

/// Why an annotation is no plan.
#[derive(Debug, thiserror::Error)]
pub enum FrozenPlanError {
    #[error("{bytes} bytes are more than the {MAX_ENCODED_BYTES} that are accepted")]
    TooLarge { bytes: usize },
    #[error("the plan cannot be decoded")]
    Malformed(#[source] serde_json::Error),
    #[error("the plan is of version {found}, and only version {VERSION} is known")]
    UnknownVersion { found: u32 },
    #[error("the field {field} is wrong")]
    Hash { field: &'static str, source: NotAHash },
    #[error("an extension of the plan has no proper name")]
    Name(#[source] NameError),
    #[error("{0} is in the plan twice")]
    Duplicate(CanonicalName),
    #[error("{found} extensions are more than the {MAX_EXTENSIONS} that are accepted")]
    TooManyExtensions { found: usize },
}

impl FrozenPlanError {
    /// The error and its cause in a line, for conditions. At most [`MAX_WORDS`] characters: an annotation may be longer.
    pub(crate) fn words(&self) -> String {
        let first: &dyn Error = self;
        let chain = std::iter::successors(Some(first), |&error| error.source());
        shortened(chain.map(ToString::to_string).collect::<Vec<_>>().join(": "), MAX_WORDS)
    }
}

/// An extension is said to be done whose turn it is not: the plan was read too long ago.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not the next extension of the plan")]
pub struct NotNext(pub CanonicalName);

/// The form of a plan in its annotation.
#[derive(Serialize, Deserialize)]
struct Encoded {
    version: u32,
    question: String,
    target: String,
    run: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    done: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    claims: BTreeMap<String, Vec<String>>,
}

impl UpdatePlan {
    /// The plan as a Machine carries it, with everything still to run.
    pub fn freeze(&self) -> FrozenPlan {
        let remaining = self.steps.iter().map(|step| step.name.clone()).collect();
        let claims = Claims::of(self.steps.iter().map(|step| (&step.name, &step.claims)));
        FrozenPlan { question: self.question.clone(), target: self.target.clone(), remaining, done: Vec::new(), claims }
    }
}

impl FrozenPlan {
    /// The extensions that are still to run, in order.
    pub fn remaining(&self) -> &[CanonicalName] {
        &self.remaining
    }

    /// The extensions that are done, in the order in which they ran.
    pub fn done(&self) -> &[CanonicalName] {
        &self.done
    }

    /// The extension whose turn it is. None: the update is done.
    pub fn next_extension(&self) -> Option<&CanonicalName> {
        self.remaining.first()
    }

    /// The plan without its first extension, which is done.
    pub fn without(&self, done: &CanonicalName) -> Result<Self, NotNext> {
        if self.next_extension() == Some(done) { Ok(self.without_first()) } else { Err(NotNext(done.clone())) }
    }

    /// The plan without its first extension, for whoever knows by other means that it is this one which is done.
    #[must_use]
    pub(crate) fn without_first(&self) -> Self {
        let (first, rest) = self.remaining.split_at(self.remaining.len().min(1));
        let claims = self.claims.only(rest);
        Self { remaining: rest.to_vec(), done: [&self.done[..], first].concat(), claims, ..self.clone() }
    }

    /// The fields that the extension has promised to change. None where that is not known.
    pub fn fields_of(&self, extension: &CanonicalName) -> Vec<String> {
        self.claims.fields_of(extension)
    }

    /// The plan for a machine whose last one was not run to its end: what that one had still to run comes first.
    ///
    /// The objects of such a machine may say already what its host is not yet. Who was only asked about the rest does
    /// not know of that part. Plans that have more than [`MAX_EXTENSIONS`] together cannot be read back: then a person
    /// has to decide, as none of it may be left out. One that is `missing` is left out where this plan changes every field
    /// that it was to change: whoever has promised that brings the host to what is wanted, whatever it is now.
    #[must_use]
    pub fn after(self, unfinished: &Self, missing: &[CanonicalName]) -> Self {
        let is_replaced = |name: &CanonicalName| {
            missing.contains(name) && !self.remaining.contains(name) && self.claims.cover(&unfinished.claims, name)
        };
        let left = unfinished.remaining.iter().filter(|name| !is_replaced(name));
        let mut remaining: Vec<CanonicalName> = left.cloned().collect();
        let claims = unfinished.claims.only(&remaining).and(&self.claims);
        remaining.extend(self.remaining.into_iter().filter(|name| !unfinished.remaining.contains(name)));
        Self { remaining, claims, ..self }
    }

    /// The value of the annotation.
    pub fn encode(&self) -> String {
        let text = |names: &[CanonicalName]| names.iter().map(ToString::to_string).collect();
        let encoded = Encoded {
            version: VERSION,
            question: self.question.to_string(),
            target: self.target.to_string(),
            run: text(&self.remaining),
            done: text(&self.done),
            claims: self.claims.encode(),
        };
        serde_json::to_string(&encoded).expect("strings and a number must encode")
    }

    /// Reads the value of the annotation. Whatever is wrong with it is an error: a plan that is not understood is not
    /// a plan that is done.
    pub fn decode(annotation: &str) -> Result<Self, FrozenPlanError> {
        let bytes = annotation.len();
        if bytes > MAX_ENCODED_BYTES {
            return Err(FrozenPlanError::TooLarge { bytes });
        }
        check_version(annotation)?;
        let encoded: Encoded = serde_json::from_str(annotation).map_err(FrozenPlanError::Malformed)?;
        let hash = |field, text: &str| text.parse().map_err(|source| FrozenPlanError::Hash { field, source });
        Ok(Self {
            question: hash("question", &encoded.question)?,
            target: hash("target", &encoded.target)?,
            remaining: decode_names(&encoded.run)?,
            done: decode_names(&encoded.done)?,
            claims: Claims::decode(encoded.claims),
        })
    }
}

/// Looks at the version before anything else: a later version may have any other form.
fn check_version(annotation: &str) -> Result<(), FrozenPlanError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(annotation).map_err(FrozenPlanError::Malformed)?;
    if version == VERSION { Ok(()) } else { Err(FrozenPlanError::UnknownVersion { found: version }) }
}

fn decode_names(names: &[String]) -> Result<Vec<CanonicalName>, FrozenPlanError> {
    if names.len() > MAX_EXTENSIONS {
        return Err(FrozenPlanError::TooManyExtensions { found: names.len() });
    }
    let mut decoded: Vec<CanonicalName> = Vec::with_capacity(names.len());
    for name in names {
        let name: CanonicalName = name.parse().map_err(FrozenPlanError::Name)?;
        if decoded.contains(&name) {
            return Err(FrozenPlanError::Duplicate(name));
        }
        decoded.push(name);
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{frozen_plan, hash, name, planned};
    use super::*;

    fn plan(names: &[&str]) -> FrozenPlan {
        frozen_plan("q", "t", names)
    }

    #[test]
    fn the_annotation_is_compact_versioned_json() {
        let plan = plan(&["b.firmware", "a.kubeadm"]);
        let expected = format!(
            r#"{{"version":1,"question":"{}","target":"{}","run":["b.firmware","a.kubeadm"]}}"#,
            hash("q"),
            hash("t")
        );
        assert_eq!(plan.encode(), expected);
        assert_eq!(FrozenPlan::decode(&expected).expect("the plan must decode"), plan);
    }

    #[test]
    fn extensions_go_in_order_and_only_when_it_is_their_turn() {
        let plan = plan(&["b.firmware", "a.kubeadm"]);
        assert_eq!(plan.without(&name("a.kubeadm")), Err(NotNext(name("a.kubeadm"))));
        let plan = plan.without(&name("b.firmware")).expect("it is its turn");
        assert_eq!(plan.without(&name("b.firmware")), Err(NotNext(name("b.firmware"))), "an old plan was read");
        assert_eq!(plan.next_extension(), Some(&name("a.kubeadm")));
        let plan = plan.without(&name("a.kubeadm")).expect("it is its turn");
        assert_eq!((plan.next_extension(), plan.question.clone()), (None, hash("q")));
        assert_eq!(plan.done(), [name("b.firmware"), name("a.kubeadm")]);
        assert_eq!(FrozenPlan::decode(&plan.encode()).expect("an empty plan must decode"), plan);
    }

    #[test]
    fn what_an_unfinished_plan_had_to_run_comes_first_and_once() {
        let check = |unfinished: &[&str], run: &[&str], expected: &[&str]| {
            let unfinished = frozen_plan("older question", "older target", unfinished);
            assert_eq!(plan(run).after(&unfinished, &[]), plan(expected));
        };
        check(&["b.y", "c.z"], &["a.x", "b.y"], &["b.y", "c.z", "a.x"]);
        check(&["b.y"], &[], &["b.y"]);
        check(&[], &["a.x"], &["a.x"]);
    }

    /// The extension that was to change the memory is gone.
    #[test]
    fn who_is_missing_is_left_out_where_the_new_plan_changes_the_same_fields() {
        let claims = |claims: &[(&str, &[&str])]| {
            let steps = claims.iter().map(|(name, fields)| planned(name, fields)).collect();
            UpdatePlan { question: hash("q"), target: hash("t"), steps }.freeze()
        };
        let unfinished = claims(&[("can.memory", &["spec.memory.size", "spec.swap"]), ("can.files", &["spec.files"])]);
        let check = |plan: FrozenPlan, missing: &[&str], expected: &[&str]| {
            let missing: Vec<CanonicalName> = missing.iter().map(|text| name(text)).collect();
            let after = plan.after(&unfinished, &missing);
            assert_eq!(after.remaining(), expected.iter().map(|text| name(text)).collect::<Vec<_>>());
            assert_eq!(FrozenPlan::decode(&after.encode()).expect("it must be readable"), after);
        };
        let both = || claims(&[("can.memory-2", &["spec.memory", "spec.swap"])]);
        check(both(), &["can.memory"], &["can.files", "can.memory-2"]);
        check(both(), &[], &["can.memory", "can.files", "can.memory-2"]);
        check(claims(&[("can.m2", &["spec.memory"])]), &["can.memory"], &["can.memory", "can.files", "can.m2"]);
        check(claims(&[("can.cpu", &["spec.cpus"])]), &["can.memory"], &["can.memory", "can.files", "can.cpu"]);
        check(claims(&[("can.memory", &["spec.memory", "spec.swap"])]), &["can.memory"], &["can.memory", "can.files"]);
        let unknown = frozen_plan("older question", "older target", &["can.memory"]);
        assert_eq!(
            both().after(&unknown, &[name("can.memory")]).remaining().len(),
            2,
            "nobody knows what it was to do"
        );
    }

    #[test]
    fn what_is_promised_stays_known_until_it_is_done() {
        let steps = vec![planned("can.memory", &["spec.memory"]), planned("can.files", &["spec.files"])];
        let plan = UpdatePlan { question: hash("q"), target: hash("t"), steps }.freeze();
        assert_eq!(plan.fields_of(&name("can.memory")), ["spec.memory"]);
        let plan = plan.without_first();
        assert_eq!(plan.fields_of(&name("can.memory")), Vec::<String>::new());
        assert_eq!(plan.fields_of(&name("can.files")), ["spec.files"]);
    }

    #[test]
    fn claims_that_are_too_many_are_not_known() {
        let fields: Vec<String> = (0..500).map(|number| format!("spec.field{number}")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let steps = vec![planned("can.many", &fields), planned("can.few", &["spec.memory"])];
        let plan = UpdatePlan { question: hash("q"), target: hash("t"), steps }.freeze();
        assert_eq!(plan.fields_of(&name("can.many")), Vec::<String>::new());
        assert_eq!(plan.fields_of(&name("can.few")), ["spec.memory"]);
        assert!(plan.encode().len() < MAX_ENCODED_BYTES);
    }

    #[test]
    fn an_error_tells_its_cause_in_bounded_words() {
        let words = |annotation: &str| FrozenPlan::decode(annotation).expect_err("it must be refused").words();
        assert_eq!(words("{}"), "the plan cannot be decoded: missing field `version` at line 1 column 2");
        assert!(words(&json!({ "version": "é".repeat(2000) }).to_string()).chars().count() <= MAX_WORDS);
    }

    #[test]
    fn the_largest_plan_fits() {
        let longest = |number: usize| format!("{number:0>63}.{}", "x".repeat(63));
        let names: Vec<String> = (0..MAX_EXTENSIONS).map(longest).collect();
        let plan = plan(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(FrozenPlan::decode(&plan.encode()).expect("the plan must decode"), plan);
    }

    #[test]
    fn what_is_no_plan_is_an_error_that_says_why() {
        let check = |annotation: &str, expected: &str| {
            let error = FrozenPlan::decode(annotation).expect_err("the annotation must be refused");
            assert_eq!(error.to_string(), expected, "{annotation}");
        };
        let with = |field: &str, value: serde_json::Value| {
            let mut plan: serde_json::Value = serde_json::from_str(&plan(&["a.b"]).encode()).expect("it must be JSON");
            plan[field] = value;
            plan.to_string()
        };
        check("", "the plan cannot be decoded");
        check("[]", "the plan cannot be decoded");
        check(&with("run", json!("a.b")), "the plan cannot be decoded");
        check(r#"{"version":2,"steps":{}}"#, "the plan is of version 2, and only version 1 is known");
        check(&with("question", json!("abc")), "the field question is wrong");
        check(&with("target", json!("abc")), "the field target is wrong");
        check(&with("run", json!(["a"])), "an extension of the plan has no proper name");
        check(&with("run", json!(["a.b", "a.b"])), "a.b is in the plan twice");
        check(&with("run", json!(vec!["a.b"; 65])), "65 extensions are more than the 64 that are accepted");
        check(&" ".repeat(20_000), "20000 bytes are more than the 16384 that are accepted");
    }
}
