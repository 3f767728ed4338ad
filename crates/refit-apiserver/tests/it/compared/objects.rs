//! Objects of the built-in kinds. They say what the real server would otherwise fill in.

use serde_json::{Value, json};

/// An object to be made, and the status that it then gets.
pub struct Example {
    pub collection: &'static str,
    pub name: &'static str,
    pub object: Value,
    pub status: Option<Value>,
}

fn example(collection: &'static str, kind: &str, mut object: Value) -> Example {
    let group = collection.strip_prefix("/apis/").and_then(|path| path.split('/').next());
    object["kind"] = kind.into();
    object["apiVersion"] = group.map_or_else(|| "v1".to_owned(), |group| format!("{group}/v1")).into();
    Example { collection, name: "x", object, status: None }.named("x")
}

impl Example {
    fn with_status(mut self, status: Value) -> Self {
        self.status = Some(status);
        self
    }

    fn named(mut self, name: &'static str) -> Self {
        self.object["metadata"]["name"] = name.into();
        Self { name, ..self }
    }
}

pub fn examples() -> Vec<Example> {
    [configuration(), pods(), workloads(), cluster(), storage(), access()].into_iter().flatten().collect()
}

fn configuration() -> Vec<Example> {
    let event = json!({
        "type": "Warning", "reason": "Broke", "message": " it broke\n", "count": 4,
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "fieldPath": "spec.x"},
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2002-01-01T00:00:00Z",
    });
    let data = json!({"data": {"a": "1"}, "binaryData": {"b": "AA=="}});
    vec![
        example("/api/v1/namespaces/default/configmaps", "ConfigMap", data),
        example("/api/v1/namespaces/default/secrets", "Secret", json!({"type": "Opaque", "data": {"a": "AA=="}})),
        example("/api/v1/namespaces/default/events", "Event", event),
        example(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            "Lease",
            json!({"spec": {"holderIdentity": "me"}}),
        ),
    ]
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pods() -> Vec<Example> {
    let spec = json!({
        "nodeName": "n1",
        "initContainers": [{"name": "i", "image": "i"}, {"name": "s", "image": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}],
        "readinessGates": [{"conditionType": "Gate"}],
    });
    let pod = |name, status| example(PODS, "Pod", json!({"spec": spec})).named(name).with_status(status);
    let done = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
    let status = |name: &str, state: &Value, ready: bool, restarts: i64| {
        json!({
            "name": name, "state": state, "ready": ready, "restartCount": restarts, "started": ready,
            "image": "x", "imageID": "", "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2001-01-01T00:00:00Z"}},
        })
    };
    let running = json!({"running": {}});
    vec![
        pod("pending", json!({"phase": "Pending"})),
        pod(
            "gated",
            json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
        ),
        pod(
            "initializing",
            json!({"phase": "Pending", "initContainerStatuses": [
            status("i", &json!({"waiting": {"reason": "PodInitializing"}}), false, 2)]}),
        ),
        pod(
            "broken",
            json!({"phase": "Pending", "initContainerStatuses": [
            status("i", &json!({"terminated": {"exitCode": 3}}), false, 2)]}),
        ),
        pod(
            "running",
            json!({
                "phase": "Running", "podIPs": [{"ip": "10.1.2.3"}], "podIP": "10.1.2.3",
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Gate", "status": "True"}],
                "initContainerStatuses": [status("i", &done, false, 1), status("s", &running, true, 1)],
                "containerStatuses": [status("a", &running, true, 0), status("b", &json!({"waiting": {"reason": "CrashLoopBackOff"}}), false, 5)],
            }),
        ),
        pod(
            "half",
            json!({"phase": "Running", "containerStatuses": [
            status("a", &done, false, 0), status("b", &running, true, 0)]}),
        ),
        pod("succeeded", json!({"phase": "Succeeded", "containerStatuses": [status("a", &done, false, 0)]})),
        pod("failed", json!({"phase": "Failed", "reason": "Evicted"})),
    ]
}

fn workloads() -> Vec<Example> {
    let set = json!({"spec": {
        "selector": {"matchLabels": {"z": "1"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]},
        "template": {
            "metadata": {"labels": {"z": "1", "a": "x"}},
            "spec": {"nodeSelector": {"os": "linux"}, "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]},
        },
    }});
    let budget = json!({"spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"a": "b"}}}});
    let scheduled = json!({
        "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1, "numberMisscheduled": 0,
    });
    let allowed = json!({"disruptionsAllowed": 2, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1});
    vec![
        example("/apis/apps/v1/namespaces/default/daemonsets", "DaemonSet", set).with_status(scheduled),
        example("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "PodDisruptionBudget", budget)
            .with_status(allowed),
    ]
}

fn cluster() -> Vec<Example> {
    let node = json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "old"}},
        "spec": {"unschedulable": true}});
    let information = json!({
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.1", "osImage": "Debian",
        "containerRuntimeVersion": "containerd://2", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "",
        "operatingSystem": "linux", "architecture": "amd64",
    });
    let ready = json!({
        "conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": information,
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "1.2.3.4"}],
    });
    let service = |ports: Value| json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"b": "1", "a": "2"}, "ports": ports}});
    let port = json!([{"name": "w", "port": 80, "protocol": "TCP", "targetPort": 80}, {"name": "d", "port": 53, "protocol": "UDP", "targetPort": 53}]);
    let outside = json!({"spec": {"type": "ExternalName", "externalName": "a.b"}});
    vec![
        example("/api/v1/namespaces", "Namespace", json!({"status": {"phase": "Active"}})).named("other"),
        example("/api/v1/nodes", "Node", node).with_status(ready),
        example("/api/v1/nodes", "Node", json!({})).named("new"),
        example("/api/v1/namespaces/default/services", "Service", service(port)),
        example("/api/v1/namespaces/default/services", "Service", service(json!([]))).named("bare"),
        example("/api/v1/namespaces/default/services", "Service", outside).named("outside"),
    ]
}

fn storage() -> Vec<Example> {
    let volume = json!({"spec": {
        "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast", "hostPath": {"path": "/x", "type": ""},
        "claimRef": {"namespace": "default", "name": "c"},
    }});
    let claim = |volume: &str| {
        json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "storageClassName": "fast",
            "volumeName": volume, "resources": {"requests": {"storage": "5Gi"}},
        }})
    };
    let attachment =
        json!({"spec": {"attacher": "csi.x.io", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}});
    let bound = json!({"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadOnlyMany"]});
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    vec![
        example("/api/v1/persistentvolumes", "PersistentVolume", volume).with_status(json!({"phase": "Bound"})),
        example(claims, "PersistentVolumeClaim", claim("v")).with_status(bound),
        example(claims, "PersistentVolumeClaim", claim("")).named("free").with_status(json!({"phase": "Pending"})),
        example("/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment", attachment)
            .with_status(json!({"attached": true})),
    ]
}

fn access() -> Vec<Example> {
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    let binding = |kind: &str| {
        json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "x"},
            "subjects": [
                {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "User", "name": "v", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "default"},
            ],
        })
    };
    vec![
        example("/api/v1/namespaces/default/serviceaccounts", "ServiceAccount", json!({})),
        example("/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole", rules.clone()),
        example("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding", binding("ClusterRole")),
        example("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "Role", rules),
        example("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "RoleBinding", binding("Role")),
    ]
}
