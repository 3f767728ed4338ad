//! The same objects on two real kube-apiservers, one with upstream's CRDs and one with ours: what the one accepts, the
//! other accepts and stores alike; what the one refuses, the other refuses, for the same reasons.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_api::crd;
use refit_api::rollout::MachineRollout;
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::differences::documented_differences;
use crate::upstream;
use crate::violations::{example, minimal, violations};

/// Requests in flight on one server.
const CONCURRENCY: usize = 8;
/// How long a CRD may take until its kind is served; a second is usual.
const ESTABLISH_LIMIT: Duration = Duration::from_secs(180);

#[test]
fn our_crds_accept_and_refuse_what_upstreams_do() {
    let Some(peers) = require_peers() else { return };
    let Some(pairs) = crd_pairs() else { return };
    let start = || ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let (upstream_plane, our_plane) = (start(), start());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let (upstream, ours) = (Server::connect(&upstream_plane).await, Server::connect(&our_plane).await);
        for (upstreams_crd, our_crd) in &pairs {
            upstream.install(upstreams_crd).await;
            ours.install(our_crd).await;
            compare(upstreams_crd, &upstream, &ours).await;
            check_additions(our_crd, &ours).await;
        }
        ours.install(&crd::of::<MachineRollout>()).await;
    });
}

/// Upstream's CRD and ours for every kind that upstream has; nothing where upstream's files cannot be had.
fn crd_pairs() -> Option<Vec<(Value, Value)>> {
    let pair = |ours: Value| {
        let (group, plural) = (text(&ours["spec"]["group"]), text(&ours["spec"]["names"]["plural"]));
        upstream::crd(&group, &plural).map(|upstream| (upstream, ours))
    };
    let is_upstream =
        |crd: &Value| crd["spec"]["group"].as_str().is_some_and(|group| group.ends_with("cluster.x-k8s.io"));
    crd::all().into_iter().filter(is_upstream).map(pair).collect()
}

/// Sends every case of a kind to both servers.
async fn compare(crd: &Value, upstream: &Server, ours: &Server) {
    let names = &crd["spec"]["names"];
    let (kind, plural) = (text(&names["kind"]), text(&names["plural"]));
    let on_purpose = documented_differences();
    let is_compared = |case: &Case| !on_purpose.iter().any(|row| row.covers(&plural, &case.rule));
    let cases: Vec<Case> = cases(crd).into_iter().filter(is_compared).collect();
    let stored = cases.iter().find(|case| case.rule == "spec minimal").expect("there must be a minimal object");
    futures::join!(upstream.create(crd, stored), ours.create(crd, stored));
    let answers = futures::stream::iter(&cases).map(async |case| {
        let (upstream, ours) = futures::join!(upstream.judge(crd, case), ours.judge(crd, case));
        (case, upstream, ours)
    });
    let answers: Vec<_> = answers.buffered(CONCURRENCY).collect().await;
    for (case, upstream, ours) in &answers {
        assert_eq!(upstream, ours, "{kind}: {}: upstream's CRD (left) and ours (right)", case.rule);
    }
    let refused = answers.iter().filter(|(_, upstream, _)| matches!(upstream, Answer::Refused { .. })).count();
    let accepted = answers.len() - refused;
    assert!(accepted > 0 && refused > accepted, "{kind}: {accepted} accepted, {refused} refused: too few to tell");
    println!("{kind}: {accepted} objects accepted alike, {refused} refused alike");
}

/// What our CRD knows beyond upstream's is accepted, too.
async fn check_additions(our_crd: &Value, ours: &Server) {
    let cases = cases(our_crd);
    let mut whole = cases.into_iter().find(|case| case.rule == "spec whole").expect("there must be a whole object");
    if let Some(strategy) = whole.object.pointer_mut("/spec/rollout/strategy") {
        strategy["type"] = "InPlace".into();
        assert_eq!(strategy["fallback"], "RollingUpdate");
    }
    let answer = ours.judge(our_crd, &whole).await;
    assert!(matches!(answer, Answer::Accepted(_)), "{}: {answer:?}", our_crd["metadata"]["name"]);
}

/// An object to send, and what is special about it.
struct Case {
    rule: String,
    part: Part,
    object: Value,
}

/// The part of an object that a case is about. A new object's status is not looked at, so that goes to its own endpoint.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Spec,
    Status,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Status => "status",
        }
    }
}

/// An object with everything in it, one with as little as possible, and objects that break one rule each, in their spec
/// and in their status.
fn cases(crd: &Value) -> Vec<Case> {
    let parts = &served_version(crd)["schema"]["openAPIV3Schema"]["properties"];
    let case = |rule: String, part: Part, value: Option<Value>| {
        let mut object = json!({
            "apiVersion": format!("{}/v1beta2", text(&crd["spec"]["group"])),
            "kind": crd["spec"]["names"]["kind"],
            "metadata": { "name": "example" },
        });
        if let Some(value) = value {
            object[part.name()] = value;
        }
        Case { rule, part, object }
    };
    let mut cases = vec![case("no spec".to_owned(), Part::Spec, None)];
    for part in [Part::Spec, Part::Status].into_iter().filter(|part| parts.get(part.name()).is_some()) {
        let (schema, name) = (&parts[part.name()], part.name());
        cases.push(case(format!("{name} whole"), part, Some(example(schema))));
        cases.push(case(format!("{name} minimal"), part, Some(minimal(schema))));
        let broken = violations(schema).into_iter();
        cases.extend(broken.map(|broken| case(format!("{name}{}", broken.rule), part, Some(broken.value))));
    }
    cases
}

fn text(value: &Value) -> String {
    value.as_str().expect("names in a CRD must be strings").to_owned()
}

fn served_version(crd: &Value) -> &Value {
    let versions = crd["spec"]["versions"].as_array().expect("a CRD must have versions");
    versions.iter().find(|version| version["name"] == "v1beta2").expect("a CRD must have the version v1beta2")
}

/// What a server says to an object.
#[derive(Debug, PartialEq)]
enum Answer {
    /// Stored like this.
    Accepted(Value),
    Refused {
        code: u16,
        causes: BTreeSet<(String, String, String)>,
        message: Option<String>,
    },
}

struct Server {
    client: Client,
}

impl Server {
    async fn connect(plane: &ControlPlane) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.expect("the kubeconfig must be complete"));
        Self { client: client.expect("a client must be made") }
    }

    /// Creates the CRD and waits until its kind is served.
    async fn install(&self, crd: &Value) {
        let crds: Api<DynamicObject> = Api::all_with(self.client.clone(), &crd_resource());
        let object = serde_json::from_value(crd.clone()).expect("a CRD must be an object");
        crds.create(&PostParams::default(), &object).await.expect("the real kube-apiserver must take the CRD");
        let name = crd["metadata"]["name"].as_str().expect("a CRD must have a name");
        let is_established = async || {
            let conditions = crds.get(name).await.expect("the CRD must be there").data["status"]["conditions"].clone();
            conditions
                .as_array()
                .is_some_and(|all| all.iter().any(|c| c["type"] == "Established" && c["status"] == "True"))
        };
        tokio::time::timeout(ESTABLISH_LIMIT, async {
            while !is_established().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{name} is not established"));
    }

    /// Creates the object whose status the cases write.
    async fn create(&self, crd: &Value, case: &Case) {
        let object = serde_json::from_value(case.object.clone()).expect("a case must be an object");
        self.api(crd)
            .create(&PostParams::default(), &object)
            .await
            .expect("an object with nothing broken must be taken");
    }

    async fn judge(&self, crd: &Value, case: &Case) -> Answer {
        let dry_run = PostParams { dry_run: true, ..Default::default() };
        let api = self.api(crd);
        let mut object: DynamicObject = serde_json::from_value(case.object.clone()).expect("a case must be an object");
        let result = match case.part {
            Part::Spec => {
                object.metadata.name = Some("another".to_owned());
                api.create(&dry_run, &object).await
            }
            Part::Status => {
                let stored = api.get("example").await.expect("the example must be there");
                object.metadata.resource_version = stored.metadata.resource_version;
                api.replace_status("example", &dry_run, &object).await
            }
        };
        match result {
            Ok(stored) => Answer::Accepted(stored.data),
            Err(kube::Error::Api(status)) => refusal(&status),
            Err(error) => panic!("{}: {error}", case.rule),
        }
    }

    fn api(&self, crd: &Value) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: text(&crd["spec"]["group"]),
            version: "v1beta2".to_owned(),
            api_version: format!("{}/v1beta2", text(&crd["spec"]["group"])),
            kind: text(&crd["spec"]["names"]["kind"]),
            plural: text(&crd["spec"]["names"]["plural"]),
        };
        match crd["spec"]["scope"].as_str() {
            Some("Cluster") => Api::all_with(self.client.clone(), &resource),
            _ => Api::namespaced_with(self.client.clone(), "default", &resource),
        }
    }
}

/// The causes in any order, as Go's maps give them; the message where there are none.
fn refusal(status: &kube::core::Status) -> Answer {
    let causes: BTreeSet<_> = status
        .details
        .iter()
        .flat_map(|details| &details.causes)
        .map(|cause| (cause.field.clone(), cause.reason.clone(), cause.message.clone()))
        .collect();
    let message = causes.is_empty().then(|| status.message.clone());
    Answer::Refused { code: status.code, causes, message }
}

fn crd_resource() -> ApiResource {
    ApiResource {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    }
}
