//! One user: wants this, then that.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::ListParams;
use refit_api::cluster::Machine;
use refit_plane::Backend;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::dice::Dice;
use crate::story::{Plot, Story};

const MEMORIES: [&str; 4] = ["8Gi", "16Gi", "32Gi", "64Gi"];
/// How often the user changes his mind.
const CHANGES: usize = 7;
/// The longest time that he thinks about it.
const THINKS_MILLIS: u64 = 1_200;
const MOST_MACHINES: usize = 10;

pub struct User {
    story: Story,
    dice: Dice,
    /// The values of the rolling update, to come back to.
    rolling: Value,
    replicas: usize,
    memory: &'static str,
    memory_before: &'static str,
    is_paused: bool,
    is_on_delete: bool,
    deletes_all: bool,
}

impl User {
    pub async fn begin(backend: &Arc<Backend>, name: String, plot: Plot, mut dice: Dice) -> Self {
        let rolling = json!({ "maxSurge": plot.sample.max_surge, "maxUnavailable": plot.sample.max_unavailable });
        let (replicas, deletes_all) = (usize::try_from(plot.sample.replicas).unwrap_or_default(), dice.one_in(3));
        let description = format!("plays {plot:?}");
        let story = Story::begin(backend, &name, plot).await;
        story.note(description);
        let (memory, memory_before) = (MEMORIES[0], MEMORIES[1]);
        let (is_paused, is_on_delete) = (false, false);
        Self { story, dice, rolling, replicas, memory, memory_before, is_paused, is_on_delete, deletes_all }
    }

    /// Wants something else again and again, and in the end what was wanted last, at once.
    pub async fn change_his_mind(&mut self) {
        self.wish_memory(MEMORIES[1]).await;
        for _ in 0..CHANGES {
            sleep(self.dice.up_to_millis(THINKS_MILLIS)).await;
            self.change().await;
        }
        sleep(self.dice.up_to_millis(THINKS_MILLIS)).await;
        self.set_paused(false).await;
        self.set_on_delete(false).await;
    }

    /// All comes to what was wanted last, and then nobody writes. Some delete it all after that.
    pub async fn see_the_end(&self) {
        let replicas = self.replicas;
        let memory = self.memory;
        self.story.until_memory(memory).await;
        self.story.until("as many as wanted", |picture| picture.machines.len() == replicas).await;
        self.story.end().await;
        if self.deletes_all {
            self.story.delete_deployment().await;
            self.story.until_all_gone().await;
            self.story.end().await;
        }
    }

    async fn change(&mut self) {
        match self.dice.below(10) {
            0..=2 => {
                let memory = self.dice.pick(&MEMORIES);
                self.wish_memory(memory).await;
            }
            3 => self.wish_memory(self.memory_before).await,
            4..=5 => {
                self.replicas = 1 + self.dice.below(MOST_MACHINES);
                self.story.patch(json!({ "spec": { "replicas": self.replicas } })).await;
            }
            6 => self.set_paused(!self.is_paused).await,
            7 => self.set_on_delete(!self.is_on_delete).await,
            _ => self.delete_a_machine().await,
        }
    }

    async fn wish_memory(&mut self, memory: &'static str) {
        (self.memory_before, self.memory) = (self.memory, memory);
        self.story.wish_memory(memory).await;
    }

    async fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.story.patch(json!({ "spec": { "paused": is_paused } })).await;
    }

    async fn set_on_delete(&mut self, is_on_delete: bool) {
        self.is_on_delete = is_on_delete;
        let (type_, rolling) =
            if is_on_delete { ("OnDelete", Value::Null) } else { ("RollingUpdate", self.rolling.clone()) };
        let strategy = json!({ "type": type_, "rollingUpdate": rolling });
        self.story.patch(json!({ "spec": { "rollout": { "strategy": strategy } } })).await;
    }

    async fn delete_a_machine(&mut self) {
        let machines = self.story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
        let names: Vec<String> = machines.iter().map(ResourceExt::name_any).collect();
        if !names.is_empty() {
            self.story.delete_machine(&self.dice.pick(&names)).await;
        }
    }
}
