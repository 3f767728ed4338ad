//! Random writes by several managers, on the real kube-apiserver and on the pure functions: object, owners and
//! refusals must be the same.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::model::Model;
use crate::sample::{self, Samples};
use crate::world::{Answer, Owners, Real, Verb, Write};

/// How many writes are compared. `REFIT_APPLY_WRITES` asks for another number.
const WRITES: usize = 600;
/// How many writes one object gets before the next object begins.
const WRITES_PER_OBJECT: usize = 25;
/// Of a hundred writes, how many validation may refuse; those are not compared.
const MAX_INVALID_PERCENT: usize = 10;

#[test]
fn random_writes_end_alike_on_the_real_server() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(compare(&plane));
}

async fn compare(plane: &ControlPlane) {
    let collection = format!("/apis/{}/namespaces/default/{}", sample::API_VERSION, sample::PLURAL);
    let real = Real::connect(plane, &collection).await;
    real.install(&sample::crd()).await;
    let seed = number("REFIT_APPLY_SEED", 1);
    let writes = number("REFIT_APPLY_WRITES", WRITES as u64) as usize;
    let mut samples = Samples(StdRng::seed_from_u64(seed));
    let (mut model, mut history) = (Model::new(), Vec::new());
    let mut counts = Counts::default();
    for number in 0..writes {
        if number % WRITES_PER_OBJECT == 0 {
            history.clear();
        }
        let write = random_write(&mut samples, &format!("o{}", number / WRITES_PER_OBJECT));
        history.push(write.clone());
        let expected = real.send(&write).await;
        counts.count(&expected);
        if expected.is_invalid() {
            continue;
        }
        let found = model.send(&write);
        assert!(found == expected, "write {number}:\n{}found {found}\nreal  {expected}", story(&history));
    }
    counts.check(writes);
}

/// The writes of an object so far, one per line.
fn story(history: &[Write]) -> String {
    history.iter().map(|write| format!("{write}\n")).collect()
}

#[derive(Debug, Default)]
struct Counts {
    stored: usize,
    conflicts: usize,
    invalid: usize,
    refused: usize,
}

impl Counts {
    fn count(&mut self, answer: &Answer) {
        let counter = match answer {
            Answer::Stored(_) => &mut self.stored,
            Answer::Refused { code: 422, .. } => &mut self.invalid,
            Answer::Refused { code: 409, .. } => &mut self.conflicts,
            Answer::Refused { .. } => &mut self.refused,
        };
        *counter += 1;
    }

    fn check(&self, writes: usize) {
        println!("{self:?}");
        assert!(self.invalid * 100 <= writes * MAX_INVALID_PERCENT, "{self:?}: too many writes were not compared");
        assert!(self.stored > writes / 3 && self.conflicts > 0 && self.refused > 0, "{self:?}: too little was seen");
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn random_write(samples: &mut Samples, name: &str) -> Write {
    let manager = samples.pick(&["m1", "m2", "m3", "kubectl"]).to_owned();
    let subresource = if samples.chance(25) { "status" } else { "" };
    let verb = match samples.0.random_range(0..20) {
        0 => Verb::Create,
        1..=3 => Verb::Replace(random_owners(samples)),
        4..=6 => Verb::MergePatch,
        7..=12 => Verb::Apply { force: true },
        _ => Verb::Apply { force: false },
    };
    let subresource = if verb == Verb::Create { "" } else { subresource };
    let mut body = samples.object(name);
    if subresource == "status" && samples.chance(80) {
        body["status"] = samples.status();
    }
    if matches!(verb, Verb::Apply { .. }) && samples.chance(6) {
        spoil(samples, &mut body);
    }
    Write { manager, name: name.to_owned(), subresource, verb, body }
}

fn random_owners(samples: &mut Samples) -> Owners {
    match samples.0.random_range(0..10) {
        0..=5 => Owners::AsRead,
        6 => Owners::Absent,
        7 => Owners::Cleared,
        8 => Owners::WithoutOne,
        _ => Owners::Broken,
    }
}

/// Makes one mistake that apply refuses.
fn spoil(samples: &mut Samples, body: &mut Value) {
    let (field, value) = [
        ("nosuch", json!(1)),
        ("size", json!("one")),
        ("code", json!({"a": [1, null, "x"]})),
        ("on", json!([true])),
        ("group", json!("text")),
        ("tags", json!(["a", "b", "a"])),
        ("tags", json!([null])),
        ("tags", json!({})),
        ("items", json!([{"name": "a"}, {"value": "b"}])),
        ("items", json!([{"name": "a"}, {"name": "a", "value": "b"}])),
        ("items", json!(["a"])),
        ("ports", json!([{"port": 80}, {"port": 80, "protocol": "TCP"}])),
        ("free", json!({"k": 1})),
        ("numbers", json!([1, "two"])),
        ("template", json!({"apiVersion": "v1", "kind": "X", "metadata": {"nosuch": 1}})),
    ][samples.0.random_range(0..15)]
    .clone();
    if !body["spec"].is_object() {
        body["spec"] = json!({});
    }
    body["spec"][field] = value;
}
