//! One MachineDeployment that lives through all of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::Machine;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::refit::annotations::IN_PLACE;
use refit_plane::demo::{Facts, Picture};
use refit_plane::sample::{self, Host, WORKERS, Workers as Sample};
use refit_plane::{Backend, Example};
use refit_provider_sim::kinds::SimBootstrapConfig;
use refit_sdk::Paths;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::change::{Change, Want};
use crate::life::Life;
use crate::story::{EVERY, LIMIT, Story, has_memory, has_version};
use crate::stranger::{Reply, Stranger};

/// A label that machines get from their template.
const COLOUR: &str = "example.com/colour";

pub struct Fleet {
    story: Story,
    backend: Arc<Backend>,
    life: Option<Life>,
    /// Says that changes of the bootstrap script are done.
    _stranger: Stranger,
    /// What is wanted, all of it.
    memory: &'static str,
    version: &'static str,
    script: &'static str,
    label: Option<&'static str>,
    replicas: usize,
    /// Machines that were never scaled away, and what they must stay.
    kept: BTreeMap<String, Facts>,
    /// How many of them the user has scaled away since.
    may_go: usize,
}

impl Fleet {
    /// Three machines, within these bounds: surge, and unavailable.
    pub async fn begin(backend: &Arc<Backend>, name: &str, (surge, unavailable): (i32, i32)) -> Self {
        let sample = Sample {
            policy: Some("Require"),
            max_surge: json!(surge),
            max_unavailable: json!(unavailable),
            host: Host { update_seconds: 0, ..Host::default() },
            ..Sample::default()
        };
        let life = Some(Life::begin(backend));
        let story = Story::begin(backend, name, sample).await;
        let claims = Paths::none().bootstrap_of("SimBootstrapConfig", "spec.script");
        let stranger = Stranger::register(&story, claims, Box::new(|_, _| Reply::Usual)).await;
        let kept = story.look().await.facts();
        Self {
            story,
            backend: Arc::clone(backend),
            life,
            _stranger: stranger,
            memory: "8Gi",
            version: sample::VERSION,
            script: "join",
            label: None,
            replicas: 3,
            kept,
            may_go: 0,
        }
    }

    /// Lives through these changes. After each of them all is as wanted, on the same hosts.
    pub async fn live(mut self, changes: &[Change]) {
        for (number, change) in changes.iter().enumerate() {
            self.story.note(format!("chapter {}: {change:?}", number + 1));
            self.change(*change).await;
            let after = self.until_as_wanted().await;
            self.assert_kept(&after);
            self.kept = after.facts();
        }
        self.story.end().await;
        if let Some(life) = self.life.take() {
            life.kill().await;
        }
    }

    /// All are what they were, but for as many as the user wanted fewer.
    fn assert_kept(&mut self, after: &Picture) {
        let before = self.kept.len();
        self.kept.retain(|name, _| after.machines.contains_key(name));
        let lost = before - self.kept.len();
        if lost > std::mem::take(&mut self.may_go) {
            self.story.fail(&format!("{lost} machines are gone"));
        }
        self.story.assert_same(&self.kept, after);
    }

    async fn change(&mut self, change: Change) {
        match change {
            Change::Want(want) => self.want(want).await,
            Change::Overtake(first, second) => {
                self.want(first).await;
                self.until_begun().await;
                self.want(second).await;
            }
            Change::Pause(first, second) => {
                self.want(first).await;
                self.until_begun().await;
                self.story.patch(json!({ "spec": { "paused": true } })).await;
                self.want(second).await;
                self.story.patch(json!({ "spec": { "paused": false } })).await;
            }
            Change::Policy(policy) => {
                self.story.patch(json!({ "metadata": { "annotations": { IN_PLACE: policy } } })).await;
            }
            Change::Reinstall(example, want) => self.reinstall(example, want).await,
            Change::WhileNobodyWorks(want) => {
                self.kill().await;
                self.want(want).await;
                self.life = Some(Life::begin(&self.backend));
            }
            Change::Kill(want) => {
                self.want(want).await;
                self.until_begun().await;
                self.kill().await;
                self.life = Some(Life::begin(&self.backend));
            }
        }
    }

    async fn kill(&mut self) {
        if let Some(life) = self.life.take() {
            life.kill().await;
        }
    }

    /// The user writes all of it at once, as `kubectl apply` does.
    async fn want(&mut self, want: Want) {
        self.memory = want.memory.unwrap_or(self.memory);
        self.version = want.version.unwrap_or(self.version);
        self.script = want.script.unwrap_or(self.script);
        self.label = want.label.or(self.label);
        if let Some(replicas) = want.replicas {
            self.may_go += self.replicas.saturating_sub(replicas);
            self.replicas = replicas;
        }
        let host = Host { memory: self.memory.to_owned(), ..self.story.plot().sample.host.clone() };
        for template in [self.story.plot().template(&host), self.bootstrap_template()] {
            sample::apply(&self.story.client, &template).await.expect("a template must be accepted");
        }
        let machine = json!({
            "version": self.version,
            "infrastructureRef": { "name": host.template() },
            "bootstrap": { "configRef": { "name": self.bootstrap_name() } },
        });
        let metadata = json!({ "labels": { COLOUR: self.label } });
        let template = json!({ "metadata": metadata, "spec": machine });
        self.story.patch(json!({ "spec": { "replicas": self.replicas, "template": template } })).await;
    }

    fn bootstrap_name(&self) -> String {
        format!("{WORKERS}-{}", self.script.replace([' ', '-'], ""))
    }

    fn bootstrap_template(&self) -> Value {
        json!({
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "SimBootstrapConfigTemplate",
            "metadata": { "name": self.bootstrap_name(), "namespace": self.story.name },
            "spec": { "template": { "spec": { "script": self.script } } },
        })
    }

    /// As `helm uninstall` and `helm install` do.
    async fn reinstall(&mut self, example: Example, want: Want) {
        let api: Api<ExtensionConfig> = Api::all(self.story.client.clone());
        let installed = api.get(example.name()).await.expect("the extension must be registered");
        api.delete(example.name(), &DeleteParams::default()).await.expect("it must be deleted");
        until_gone(&api, example.name()).await;
        self.want(want).await;
        self.story.until("the change is noticed", is_noticed).await;
        let mut again = ExtensionConfig { spec: installed.spec, ..ExtensionConfig::default() };
        again.metadata.name = installed.metadata.name;
        again.metadata.annotations = installed.metadata.annotations;
        api.create(&PostParams::default(), &again).await.expect("it must be registered again");
    }

    /// A machine is on its way, or all are there already.
    async fn until_begun(&self) {
        let is_begun = |picture: &Picture| {
            self.is_reached(picture) || picture.machines.values().any(|machine| machine.updating.is_some())
        };
        self.story.until("a machine is being updated", is_begun).await;
    }

    async fn until_as_wanted(&self) -> Picture {
        let what = format!("{} of {} {} are there", self.replicas, self.version, self.memory);
        let after = self.story.until(&what, |picture| self.is_reached(picture)).await;
        let began = Instant::now();
        while !self.has_metadata(&self.story.client).await {
            if began.elapsed() > LIMIT {
                self.story.fail("labels and scripts do not reach the machines");
            }
            sleep(EVERY).await;
        }
        after
    }

    fn is_reached(&self, picture: &Picture) -> bool {
        picture.is_settled()
            && picture.machines.len() == self.replicas
            && has_memory(picture, self.memory)
            && has_version(picture, self.version)
    }

    async fn has_metadata(&self, client: &Client) -> bool {
        let all = ListParams::default();
        let machines: Api<Machine> = Api::namespaced(client.clone(), &self.story.name);
        let configs: Api<SimBootstrapConfig> = Api::namespaced(client.clone(), &self.story.name);
        let machines = machines.list(&all).await.expect("it must be listed");
        let configs = configs.list(&all).await.expect("it must be listed");
        let has_label = |it: &Machine| it.labels().get(COLOUR).map(String::as_str) == self.label;
        let has_script = |it: &SimBootstrapConfig| it.spec.script.as_deref() == Some(self.script);
        machines.iter().all(has_label) && configs.iter().all(has_script)
    }
}

/// The controllers have looked at what is wanted.
fn is_noticed(picture: &Picture) -> bool {
    let generations =
        picture.machine_deployment.as_ref().map(|it| (it.metadata.generation, it.status.observed_generation));
    generations.is_some_and(|(wanted, observed)| wanted == observed)
}

async fn until_gone(api: &Api<ExtensionConfig>, name: &str) {
    let began = Instant::now();
    while api.get_opt(name).await.expect("it must be readable").is_some() {
        assert!(began.elapsed() < LIMIT, "{name} must go");
        sleep(EVERY).await;
    }
}
