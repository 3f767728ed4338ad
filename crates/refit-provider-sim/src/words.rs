//! The names that this provider puts on objects.

/// On SimClusters: the workload cluster goes before them.
pub const CLUSTER_FINALIZER: &str = "simcluster.infrastructure.cluster.x-k8s.io";
/// On SimMachines: the Node and the host go before them.
pub const MACHINE_FINALIZER: &str = "simmachine.infrastructure.cluster.x-k8s.io";
/// The field manager of everything that the provider writes.
pub const MANAGER: &str = "refit-provider-sim";
/// The type of the secrets of Cluster API.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";
/// The key of such a secret under which the content is.
pub const SECRET_KEY: &str = "value";

/// Where the Pods of a control plane are.
pub const KUBE_SYSTEM: &str = "kube-system";

/// The reasons of the condition `Ready`.
pub mod reasons {
    /// Cluster API has not put it under its owner yet.
    pub const WAITING_FOR_OWNER: &str = "WaitingForOwner";
    /// The Cluster's infrastructure is not there yet.
    pub const WAITING_FOR_CLUSTER: &str = "WaitingForClusterInfrastructure";
    /// The Machine has no bootstrap data yet.
    pub const WAITING_FOR_BOOTSTRAP_DATA: &str = "WaitingForBootstrapData";
    /// The host is on its way.
    pub const PROVISIONING: &str = "Provisioning";
    /// The last attempt failed, as it was told to.
    pub const PROVISIONING_FAILED: &str = "ProvisioningFailed";
    /// The host does not answer, as it was told to.
    pub const DEAD: &str = "Dead";
    /// It is there.
    pub const PROVISIONED: &str = "Provisioned";
}

/// The secret by which the workload cluster of a Cluster is reached.
pub fn kubeconfig_secret(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}
