//! What a demonstration is played on: a management plane of its own, and who tells the story.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use refit_api::cluster::MachineDeployment;
use refit_api::controlplane::KubeadmControlPlane;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::picture::{Facts, MachineView, Picture};
use super::{DemoError, STEP_LIMIT, Say, story};
use crate::backend::{Backend, EmbeddedOptions};
use crate::examples::Example;
use crate::sample::{self, CLUSTER, CONTROL_PLANE, WORKERS};
use crate::workers::Workers;

/// How often it is looked at what there is: several times while a simulated update runs.
const EVERY: Duration = Duration::from_millis(100);

/// What a demonstration is about.
pub(super) trait Sample {
    fn namespace(&self) -> &str;
    fn objects(&self) -> Vec<Value>;
    /// What is made, for people.
    fn words(&self) -> String;
}

/// A management plane in memory, and what was seen of it last.
pub(super) struct Stage<'a, S> {
    sample: S,
    backend: Backend,
    workers: Workers,
    client: Client,
    last: Picture,
    say: Say<'a>,
    began: Instant,
    wrong: usize,
    /// The most machines that were seen being updated at a time.
    most_updating: usize,
}

impl<'a, S: Sample> Stage<'a, S> {
    /// Starts everything, with these extensions.
    pub(super) async fn set(sample: S, examples: &[Example], say: Say<'a>) -> Result<Self, DemoError> {
        let backend = Backend::embedded(&EmbeddedOptions::default()).await?;
        let workers = Workers::start(&backend, examples).await?;
        let client = backend.client().await?;
        let (last, began) = (Picture::default(), Instant::now());
        let mut stage = Self { sample, backend, workers, client, last, say, began, wrong: 0, most_updating: 0 };
        let names: Vec<&str> = examples.iter().map(|example| example.name()).collect();
        stage.tell(&format!("a management cluster in memory; extensions: {}", listed(&names)));
        Ok(stage)
    }

    /// One line of the story, with the time since it began.
    pub(super) fn tell(&mut self, text: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        (self.say)(&format!("{seconds:6.1}s  {text}"));
    }

    /// Makes the sample, and waits until its machines are there.
    pub(super) async fn create(&mut self) -> Result<Picture, DemoError> {
        self.tell(&format!("creating {}", self.sample.words()));
        for object in self.sample.objects() {
            sample::apply(&self.client, &object).await?;
        }
        self.follow("the machines are there", Picture::is_settled).await
    }

    /// Serves and registers one more extension.
    pub(super) async fn add(&mut self, example: Example) -> Result<(), DemoError> {
        self.tell(&format!("registering the extension {}", example.name()));
        Ok(self.workers.add(&self.backend, example).await?)
    }

    /// Tells what happens until it has come to something.
    pub(super) async fn follow(
        &mut self,
        what: &str,
        is_reached: impl Fn(&Picture) -> bool,
    ) -> Result<Picture, DemoError> {
        let until = Instant::now() + STEP_LIMIT;
        loop {
            let picture = self.look().await?;
            if is_reached(&picture) {
                return Ok(picture);
            }
            if Instant::now() > until {
                return Err(DemoError::TooLong { what: what.to_owned() });
            }
            sleep(EVERY).await;
        }
    }

    /// Tells what happens for a while.
    pub(super) async fn watch_for(&mut self, time: Duration) -> Result<Picture, DemoError> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.look().await?;
            sleep(EVERY).await;
        }
        self.look().await
    }

    /// Says of something whether it holds.
    pub(super) fn check(&mut self, what: &str, holds: bool) {
        self.wrong += usize::from(!holds);
        let mark = if holds { "ok   " } else { "WRONG" };
        (self.say)(&format!("  {mark} {what}"));
    }

    /// Every machine is still what it was: the same object, node, provider id, host and disk.
    pub(super) fn check_same(&mut self, before: &BTreeMap<String, Facts>, after: &Picture) {
        let now = after.facts();
        let same = |fact: fn(&Facts) -> &Option<String>| {
            before.iter().all(|(name, facts)| {
                fact(facts).is_some() && now.get(name).is_some_and(|found| fact(found) == fact(facts))
            })
        };
        self.check("the same Machines, none deleted (uid)", same(|facts| &facts.uid));
        self.check("the same nodes (uid)", same(|facts| &facts.node_uid));
        self.check("the same provider ids", same(|facts| &facts.provider_id));
        self.check("the same hosts and disks", same(|facts| &facts.host) && same(|facts| &facts.disk));
    }

    /// Machines were updated one after another.
    pub(super) fn check_one_at_a_time(&mut self) {
        let most = self.most_updating;
        self.check("never more than one machine was being updated", most == 1);
    }

    /// Something holds of every machine.
    pub(super) fn check_all(&mut self, what: &str, picture: &Picture, holds: impl Fn(&MachineView) -> bool) {
        self.check(what, !picture.machines.is_empty() && picture.machines.values().all(holds));
    }

    /// Ends everything, and says what came of it.
    pub(super) async fn end(mut self) -> Result<(), DemoError> {
        let wrong = self.wrong;
        if wrong == 0 {
            self.tell("all as it should be");
        }
        self.workers.stop().await;
        self.backend.stop().await;
        if wrong == 0 { Ok(()) } else { Err(DemoError::Wrong { count: wrong }) }
    }

    async fn look(&mut self) -> Result<Picture, DemoError> {
        let workload = self.backend.workloads().client(self.sample.namespace(), CLUSTER);
        let picture = Picture::take(&self.client, &workload, self.sample.namespace()).await?;
        for line in story::lines(&self.last, &picture) {
            self.tell(&line);
        }
        let updating = picture.machines.values().filter(|machine| machine.updating.is_some()).count();
        self.most_updating = self.most_updating.max(updating);
        self.last = picture.clone();
        Ok(picture)
    }
}

impl Stage<'_, sample::Workers> {
    /// Makes a template, and has the MachineDeployment use it; `version` too where one is given.
    pub(super) async fn change(&mut self, host: &sample::Host, version: Option<&str>) -> Result<(), DemoError> {
        sample::apply(&self.client, &self.sample.machine_template(host)).await?;
        let mut machine = json!({ "infrastructureRef": { "name": host.template() } });
        if let Some(version) = version {
            machine["version"] = json!(version);
        }
        self.patch(json!({ "spec": { "template": { "spec": machine } } })).await
    }

    /// Changes the MachineDeployment.
    pub(super) async fn patch(&mut self, patch: Value) -> Result<(), DemoError> {
        let api: Api<MachineDeployment> = Api::namespaced(self.client.clone(), &self.sample.namespace);
        api.patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }
}

impl Stage<'_, sample::ControlPlane> {
    /// Changes the KubeadmControlPlane.
    pub(super) async fn patch(&mut self, patch: Value) -> Result<(), DemoError> {
        let api: Api<KubeadmControlPlane> = Api::namespaced(self.client.clone(), &self.sample.namespace);
        api.patch(CONTROL_PLANE, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Every member of etcd is still what it was.
    pub(super) fn check_etcd(&mut self, before: &BTreeMap<String, Facts>, after: &Picture) {
        let now = after.facts();
        let is_same = |(name, facts): (&String, &Facts)| {
            facts.etcd_member.is_some() && now.get(name).is_some_and(|found| found.etcd_member == facts.etcd_member)
        };
        self.check("the same members of etcd (id)", before.iter().all(is_same));
        self.check("etcd has a leader", after.etcd_leader.is_some());
    }
}

impl Sample for sample::Workers {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn objects(&self) -> Vec<Value> {
        Self::objects(self)
    }

    fn words(&self) -> String {
        format!("Cluster {CLUSTER} and MachineDeployment {WORKERS} with {} machines", self.replicas)
    }
}

impl Sample for sample::ControlPlane {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn objects(&self) -> Vec<Value> {
        Self::objects(self)
    }

    fn words(&self) -> String {
        let Self { replicas, version, .. } = self;
        let machines = if *replicas == 1 { "machine" } else { "machines" };
        format!("Cluster {CLUSTER} and KubeadmControlPlane {CONTROL_PLANE} with {replicas} {machines} of {version}")
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
