//! Which volumes of a Node are waited for before its host goes, in upstream's words.
//!
//! A volume counts as attached when the Node's status names it or a VolumeAttachment for the Node says so. Volumes of Pods
//! that a drain leaves alone are not waited for: they stay until the host goes.

use std::collections::BTreeSet;
use std::fmt::Write;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;

use super::drain::PodName;
use super::observed::VolumesState;

/// How many names a line lists.
const NAMES_SHOWN: usize = 5;

/// Everything that counts.
#[derive(Debug, Clone, Copy)]
pub struct VolumesView<'a> {
    pub node: &'a Node,
    /// Of the workload cluster, of those at least that are for the Node.
    pub attachments: &'a [VolumeAttachment],
    /// All of the workload cluster.
    pub volumes: &'a [PersistentVolume],
    /// All that are bound to the Node.
    pub pods: &'a [Pod],
    /// Those of them that a drain [leaves alone](super::drain::DrainPlan::left_alone).
    pub left_alone: &'a [PodName],
}

/// What is attached, by what is known of it.
#[derive(Default)]
struct Attached {
    claims: BTreeSet<String>,
    unclaimed: BTreeSet<String>,
    unknown_on_node: BTreeSet<String>,
    unknown_attachments: BTreeSet<String>,
}

/// Whether volumes are left that have to go, and which.
pub fn inspect(view: &VolumesView<'_>) -> VolumesState {
    match attached(view) {
        Err(why) => VolumesState::Failed { why },
        Ok(attached) => match attached.words() {
            words if words.is_empty() => VolumesState::Detached,
            words => VolumesState::Attached { words },
        },
    }
}

fn attached(view: &VolumesView<'_>) -> Result<Attached, String> {
    let status = view.node.status.as_ref();
    let on_node = status.and_then(|status| status.volumes_attached.as_ref()).into_iter().flatten();
    let mut attached = Attached {
        unknown_on_node: on_node.map(|volume| volume.name.clone()).collect(),
        unknown_attachments: attached_volumes(view)?,
        ..Attached::default()
    };
    let ignored = claims_left_alone(view);
    for volume in view.volumes {
        let is_on_node = handle(volume).is_some_and(|handle| attached.unknown_on_node.remove(&handle));
        let is_attached = attached.unknown_attachments.remove(volume.metadata.name.as_deref().unwrap_or_default());
        if !is_on_node && !is_attached {
            continue;
        }
        match claim(volume) {
            Some(claim) if ignored.contains(&claim) => {}
            Some(claim) => drop(attached.claims.insert(claim)),
            None => drop(attached.unclaimed.insert(volume.metadata.name.clone().unwrap_or_default())),
        }
    }
    Ok(attached)
}

/// The volumes that are attached to the Node by VolumeAttachments.
fn attached_volumes(view: &VolumesView<'_>) -> Result<BTreeSet<String>, String> {
    let is_attached = |attachment: &&VolumeAttachment| {
        attachment.status.as_ref().is_some_and(|status| status.attached)
            && Some(&attachment.spec.node_name) == view.node.metadata.name.as_ref()
    };
    let attached = view.attachments.iter().filter(is_attached);
    let volume = |attachment: &VolumeAttachment| {
        attachment.spec.source.persistent_volume_name.clone().ok_or_else(|| {
            let name = attachment.metadata.name.as_deref().unwrap_or_default();
            format!("spec.source.persistentVolumeName for VolumeAttachment {name} is not set")
        })
    };
    attached.map(volume).collect()
}

fn claims_left_alone(view: &VolumesView<'_>) -> BTreeSet<String> {
    let pods = view.pods.iter().filter(|pod| view.left_alone.contains(&PodName::of(pod)));
    let claims = |pod: &Pod| {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        claims.map(|claim| format!("{namespace}/{}", claim.claim_name)).collect::<Vec<_>>()
    };
    pods.flat_map(claims).collect()
}

/// What the status of a Node calls the volume.
fn handle(volume: &PersistentVolume) -> Option<String> {
    let csi = volume.spec.as_ref()?.csi.as_ref()?;
    Some(format!("kubernetes.io/csi/{}^{}", csi.driver, csi.volume_handle))
}

fn claim(volume: &PersistentVolume) -> Option<String> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    let is_claim = claim.kind.as_deref() == Some("PersistentVolumeClaim");
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    is_claim.then(|| format!("{}/{}", text(&claim.namespace), text(&claim.name)))
}

impl Attached {
    /// A line for each sort; empty if nothing is attached.
    fn words(&self) -> String {
        let sorts = [
            ("PersistentVolumeClaims", &self.claims),
            ("PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim", &self.unclaimed),
            ("Node with .status.volumesAttached entries not matching a PersistentVolume", &self.unknown_on_node),
            (
                "VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume",
                &self.unknown_attachments,
            ),
        ];
        let lines = sorts.into_iter().filter(|(_, names)| !names.is_empty());
        lines.map(|(sort, names)| format!("* {sort}: {}", listed(names))).collect::<Vec<_>>().join("\n")
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    let mut text = shown.join(", ");
    let more = names.len().saturating_sub(NAMES_SHOWN);
    if more > 0 {
        let _ = write!(text, ", ... ({more} more)");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn decoded<T: DeserializeOwned>(values: Value) -> T {
        serde_json::from_value(values).expect("it must decode")
    }

    fn volume(name: &str, claim: Value) -> Value {
        let csi = json!({ "driver": "d", "volumeHandle": name });
        json!({ "metadata": { "name": name }, "spec": { "csi": csi, "claimRef": claim } })
    }

    fn attachment(node: &str, volume: Value, attached: bool) -> Value {
        json!({
            "metadata": { "name": "va" },
            "spec": { "attacher": "d", "nodeName": node, "source": { "persistentVolumeName": volume } },
            "status": { "attached": attached },
        })
    }

    /// A Node with the volumes in its status, and what else there is.
    fn check(on_node: &[&str], attachments: Value, volumes: Value, left_alone: bool, expected: &VolumesState) {
        let on_node: Vec<Value> = on_node.iter().map(|name| json!({ "name": name, "devicePath": "" })).collect();
        let node: Node = decoded(json!({ "metadata": { "name": "n" }, "status": { "volumesAttached": on_node } }));
        let claimed = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "pvc" } }]);
        let pods = json!([{ "metadata": { "namespace": "ns", "name": "p", "uid": "u" }, "spec": { "containers": [], "volumes": claimed } }]);
        let pods: Vec<Pod> = decoded(pods);
        let left_alone: Vec<PodName> = pods.iter().filter(|_| left_alone).map(PodName::of).collect();
        let (attachments, volumes): (Vec<_>, Vec<_>) = (decoded(attachments), decoded(volumes));
        let view = VolumesView {
            node: &node,
            attachments: &attachments,
            volumes: &volumes,
            pods: &pods,
            left_alone: &left_alone,
        };
        assert_eq!(inspect(&view), *expected);
    }

    #[test]
    fn volumes_are_waited_for_unless_their_pods_stay() {
        let claim = json!({ "kind": "PersistentVolumeClaim", "namespace": "ns", "name": "pvc" });
        let words = |words: &str| VolumesState::Attached { words: words.to_owned() };
        let detached = VolumesState::Detached;
        let one = json!([volume("a", claim.clone())]);
        check(&[], json!([]), one.clone(), false, &detached);
        check(&["kubernetes.io/csi/d^a"], json!([]), one.clone(), false, &words("* PersistentVolumeClaims: ns/pvc"));
        check(&["kubernetes.io/csi/d^a"], json!([]), one.clone(), true, &detached);
        check(
            &[],
            json!([attachment("n", json!("a"), true)]),
            one.clone(),
            false,
            &words("* PersistentVolumeClaims: ns/pvc"),
        );
        check(&[], json!([attachment("n", json!("a"), false)]), one.clone(), false, &detached);
        check(&[], json!([attachment("other", json!("a"), true)]), one, false, &detached);
        let unclaimed = words("* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: a");
        check(&["kubernetes.io/csi/d^a"], json!([]), json!([volume("a", json!(null))]), true, &unclaimed);
        let unknown = words(
            "* Node with .status.volumesAttached entries not matching a PersistentVolume: x\n\
             * VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: y",
        );
        check(&["x"], json!([attachment("n", json!("y"), true)]), json!([]), true, &unknown);
        let many: Vec<String> = (1..=7).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let listed =
            "* Node with .status.volumesAttached entries not matching a PersistentVolume: 1, 2, 3, 4, 5, ... (2 more)";
        check(&many, json!([]), json!([]), false, &words(listed));
    }

    #[test]
    fn an_attachment_without_a_volume_is_a_failure() {
        let why = "spec.source.persistentVolumeName for VolumeAttachment va is not set".to_owned();
        check(&[], json!([attachment("n", json!(null), true)]), json!([]), false, &VolumesState::Failed { why });
    }
}
