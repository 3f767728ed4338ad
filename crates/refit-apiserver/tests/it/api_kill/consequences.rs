//! What goes on after a deletion was acknowledged: dependents of owners, contents of namespaces.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Client, Resource, ResourceExt};

const DEPENDENTS: usize = 12;
/// How often it is asked whether everything is gone, before the test fails: three minutes in all.
const MAX_ASKS: usize = 7200;
const ASK_INTERVAL: Duration = Duration::from_millis(25);

/// Two owners with dependents, and a namespace with contents.
pub struct Consequences {
    round: u64,
}

impl Consequences {
    pub async fn prepare(client: &Client, round: u64) -> Self {
        let it = Self { round };
        let namespace = Namespace { metadata: named(it.namespace()), ..Default::default() };
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .expect("it must be made");
        let contents: Api<ConfigMap> = Api::namespaced(client.clone(), &it.namespace());
        for number in 0..DEPENDENTS {
            make(&contents, named(format!("c{number}"))).await;
        }
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        for owner in it.owners() {
            let made = make(&maps, named(owner.clone())).await;
            for number in 0..DEPENDENTS {
                let mut dependent = named(format!("{owner}-{number}"));
                let reference = made.owner_ref(&()).expect("a stored object must have a reference");
                // Foreground deletion waits for dependents that say so.
                let reference = OwnerReference { block_owner_deletion: Some(true), ..reference };
                dependent.owner_references = Some(vec![reference]);
                make(&maps, dependent).await;
            }
        }
        it
    }

    /// Begins what takes a while. Each deletion is acknowledged when this returns.
    pub async fn begin(self, client: &Client) -> Self {
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let [background, foreground] = self.owners();
        maps.delete(&background, &DeleteParams::background()).await.expect("it must be deleted");
        maps.delete(&foreground, &DeleteParams::foreground()).await.expect("it must be deleted");
        namespaces.delete(&self.namespace(), &DeleteParams::default()).await.expect("it must be deleted");
        self
    }

    /// All of it goes away, and nothing else.
    pub async fn check(&self, client: &Client) {
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        for _ in 0..MAX_ASKS {
            let left = maps.list(&ListParams::default()).await.expect("they must be listed");
            let left = left.iter().any(|map| map.name_any().starts_with(&self.prefix()));
            let namespace = namespaces.get_opt(&self.namespace()).await.expect("it must be asked for");
            if !left && namespace.is_none() {
                let all: Api<ConfigMap> = Api::namespaced(client.clone(), &self.namespace());
                let contents = all.list(&ListParams::default()).await.expect("they must be listed");
                assert!(contents.items.is_empty(), "a namespace goes after its contents");
                namespaces.get("default").await.expect("the others must stay");
                return;
            }
            tokio::time::sleep(ASK_INTERVAL).await;
        }
        let left = maps.list(&ListParams::default()).await.map(|maps| maps.iter().map(ResourceExt::name_any).collect());
        let left: Vec<String> = left.expect("they must be listed");
        panic!("what was begun in round {} must be finished after the restart, with none of {left:?}", self.round);
    }

    fn prefix(&self) -> String {
        format!("owner-{}-", self.round)
    }

    fn owners(&self) -> [String; 2] {
        ["background", "foreground"].map(|policy| format!("{}{policy}", self.prefix()))
    }

    fn namespace(&self) -> String {
        format!("space-{}", self.round)
    }
}

fn named(name: String) -> ObjectMeta {
    ObjectMeta { name: Some(name), ..Default::default() }
}

async fn make(maps: &Api<ConfigMap>, metadata: ObjectMeta) -> ConfigMap {
    let map = ConfigMap { metadata, ..Default::default() };
    maps.create(&PostParams::default(), &map).await.expect("it must be made")
}
