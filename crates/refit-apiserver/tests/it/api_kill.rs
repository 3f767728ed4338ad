//! A server that is written to over HTTPS is killed at random moments; what it acknowledged must be there afterwards. After
//! some of its deaths a bit of its store is flipped: it does not start then, or has lost nothing.

mod consequences;
mod damage;
mod ledger;
pub mod server;
mod watching;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;
use tempfile::TempDir;

use crate::widgets;
use consequences::Consequences;
use ledger::Ledger;
use server::Server;

/// How often it is killed where [`VARIABLE`] does not say otherwise.
const ROUNDS: u64 = 10;
const VARIABLE: &str = "REFIT_KILL_ROUNDS";
/// After every so many kills a bit is flipped.
const DAMAGE_EVERY: u64 = 3;
const WRITERS: usize = 6;
/// Milliseconds within which the servers are killed, from "hardly begun" to "hundreds of writes".
const LONGEST_LIFE: u64 = 300;
/// Spreads the moments of death over that time: it has no divisor in common with it.
const STRIDE: u64 = 97;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_keeps_what_it_acknowledged_and_finishes_what_it_began() {
    let folder = TempDir::new().expect("there must be a folder");
    let mut ledgers: Vec<Ledger> = (0..WRITERS).map(Ledger::new).collect();
    let mut begun: Option<Consequences> = None;
    let (mut definition, mut refused) = (None, 0);
    let rounds = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    for round in 0..rounds {
        let mut server = Server::start(folder.path()).await;
        let client = server.client().await;
        let uid = install(&client).await;
        assert_eq!(*definition.get_or_insert_with(|| uid.clone()), uid, "the definition must be the same");
        watching::check(&client, &ledgers).await;
        ledger::check(&client, &mut ledgers).await;
        if let Some(begun) = begun.take() {
            begun.check(&client).await;
        }
        let prepared = Consequences::prepare(&client, round).await;
        let told = Arc::<AtomicU64>::default();
        let write = |ledger: Ledger| tokio::spawn(ledger.write_until_gone(widget_api(&client), Arc::clone(&told)));
        let writers: Vec<_> = ledgers.drain(..).map(write).collect();
        tokio::time::sleep(Duration::from_millis(round * STRIDE % LONGEST_LIFE)).await;
        // Every other server gets to something, however slow the disk is.
        while round % 2 == 1 && told.load(Ordering::SeqCst) < 2 * round {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        begun = Some(prepared.begin(&client).await);
        server.kill();
        for writer in writers {
            ledgers.push(writer.await.expect("a writer must not be refused"));
        }
        if round % DAMAGE_EVERY == 1 {
            refused += u64::from(damage::flip_a_bit(folder.path(), round).is_refused());
        }
    }
    let acknowledged: u64 = ledgers.iter().map(Ledger::acknowledged).sum();
    println!("{rounds} kills, {acknowledged} writes acknowledged, {refused} damaged stores refused");
    assert!(acknowledged > rounds, "only {acknowledged} writes were acknowledged in all");
}

/// Makes the definition of widgets when it is not there. Returns its uid.
async fn install(client: &Client) -> String {
    let resource =
        ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let known = definitions.get_opt("widgets.example.com").await.expect("definitions must be served");
    let definition = match known {
        Some(definition) => definition,
        None => {
            let properties = json!({"number": {"type": "integer"}, "text": {"type": "string"}});
            let definition = widgets::definition(json!({"type": "object", "properties": properties}));
            let definition = serde_json::from_value(definition).expect("it must be an object");
            definitions.create(&PostParams::default(), &definition).await.expect("it must be accepted")
        }
    };
    definition.metadata.uid.expect("an object must have a uid")
}

fn widget_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

fn widget_api(client: &Client) -> Api<DynamicObject> {
    Api::default_namespaced_with(client.clone(), &widget_resource())
}
