//! A watch that goes on from before the server was killed.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::api::{DynamicObject, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::ledger::{Ledger, filling, version};
use super::{widget_api, widget_resource};

/// The objects by which a watch is known to have caught up.
pub const MARK: &str = "mark-";

/// The watch is told that it is too late, or it shows everything that came after what was acknowledged.
pub async fn check(client: &Client, ledgers: &[Ledger]) {
    let from = ledgers.iter().map(Ledger::highest).max().unwrap_or_default();
    if from == 0 {
        return;
    }
    let api = widget_api(client);
    let list = api.list(&Default::default()).await.expect("widgets must be served");
    let newer = list.items.iter().filter(|object| version(object) > from).map(ResourceExt::name_any);
    let mut missing: BTreeSet<String> = newer.collect();
    let watch = api.watch(&WatchParams::default(), &from.to_string()).await;
    let mut events = match watch {
        Err(kube::Error::Api(status)) if status.code == 410 => return,
        watch => watch.expect("the watch must begin or be too late").boxed(),
    };
    let mark = format!("{MARK}{from}");
    let object = DynamicObject::new(&mark, &widget_resource()).data(json!({"spec": {"number": 1, "text": filling(1)}}));
    api.create(&PostParams::default(), &object).await.expect("it must be made");
    while let Some(event) = events.next().await {
        match event.expect("the watch must go on") {
            WatchEvent::Error(status) if status.code == 410 => return,
            WatchEvent::Added(object) if object.name_any() == mark => break,
            WatchEvent::Added(object) | WatchEvent::Modified(object) => drop(missing.remove(&object.name_any())),
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => panic!("{status:?}"),
        }
    }
    assert!(missing.is_empty(), "{missing:?} changed after {from} and was not seen");
}
