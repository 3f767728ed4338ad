//! What control planes ask of their workload clusters, and how.

use std::sync::Arc;

use refit_controllers::control_plane::{Reach, WorkloadAccess};
use refit_workload::etcd::EtcdConnector;
use refit_workload::{EtcdAccess, KubeWorkload};

/// Over the client of the workload cluster, with etcd reached in this way.
pub fn workload_access(connector: EtcdConnector) -> WorkloadAccess {
    Arc::new(move |Reach { client, cluster, etcd, is_etcd_external }| {
        let etcd = match etcd {
            _ if is_etcd_external => EtcdAccess::External,
            Some(authority) => EtcdAccess::Managed { authority, connector: Arc::clone(&connector) },
            None => EtcdAccess::Unknown { why: "the certificate authority of etcd is not known".to_owned() },
        };
        Arc::new(KubeWorkload::new(client, cluster.namespace, cluster.name, etcd))
    })
}
