//! kube-proxy and CoreDNS, against a real API server: the embedded one has no Deployments.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_api::bootstrap::{ClusterConfiguration, DNS};
use refit_peers::{ControlPlane, Options, require_peers};
use refit_workload::{Skips, WorkloadCluster};

use crate::kubernetes::{CONFIG, NEW};
use crate::world::{World, words};

/// A cluster on a real server; nothing where there is no Go to build it with.
async fn real() -> Option<(World, ControlPlane)> {
    let peers = require_peers()?;
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.expect("the kubeconfig must be complete")).expect("a client must start");
    Some((World::on(client).await, plane))
}

fn with_coredns(tag: &str) -> ClusterConfiguration {
    let dns = DNS { image_tag: Some(tag.to_owned()), ..DNS::default() };
    ClusterConfiguration { dns, ..ClusterConfiguration::default() }
}

const PROXIES: [&str; 2] = ["other:v1", "registry.k8s.io/kube-proxy:v1.33.0"];

#[tokio::test]
async fn kube_proxy_follows_where_there_is_no_coredns() {
    let world = World::start().await;
    let workload = world.workload();
    let (wanted, skips) = (with_coredns("v1.12.0"), Skips::default());
    workload.update_addons(NEW, &wanted, skips).await.expect("what is not there is left out");
    world.add_kube_proxy().await;
    workload.update_addons(NEW, &wanted, Skips { kube_proxy: true, ..skips }).await.expect("nothing is to be done");
    assert_eq!(world.kube_proxy().await[1], "registry.k8s.io/kube-proxy:v1.32.0");
    workload.update_addons(NEW, &wanted, skips).await.expect("it must follow");
    assert_eq!(world.kube_proxy().await, PROXIES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addons_follow_where_they_may_and_hold_up_nobody() {
    let Some((world, _plane)) = real().await else { return };
    let workload = world.workload();
    workload.update_addons(NEW, &with_coredns("v1.12.0"), Skips::default()).await.expect("there are none");
    world.add_kube_proxy().await;
    world.add_coredns().await;
    world.add_kubeadm_config(CONFIG).await;

    let refused = words(workload.update_addons(NEW, &with_coredns("v1.9.0"), Skips::default()).await);
    let expected = "Deployment kube-system/coredns of the workload cluster is left as it is: CoreDNS is not downgraded \
                    from 1.11.1 to 1.9.0; set dns.imageTag to 1.11.1 or higher";
    assert_eq!(refused, expected);
    assert_eq!(world.kube_proxy().await, PROXIES);
    assert_eq!(world.kubeadm_config().await.0, CONFIG, "kubeadm is not told of what does not happen");

    let skips = Skips { coredns: true, ..Skips::default() };
    workload.update_addons(NEW, &with_coredns("v1.12.0"), skips).await.expect("nothing is to be done");
    assert_eq!(world.coredns().await, ["other:v1", "registry.k8s.io/coredns/coredns:v1.11.1"]);
    for _ in 0..2 {
        workload.update_addons(NEW, &with_coredns("v1.12.0"), Skips::default()).await.expect("they must follow");
        assert_eq!(world.kube_proxy().await, PROXIES);
        assert_eq!(world.coredns().await, ["other:v1", "registry.k8s.io/coredns/coredns:v1.12.0"]);
        assert!(world.kubeadm_config().await.0.contains("dns:\n  imageTag: v1.12.0\n"));
    }
}
