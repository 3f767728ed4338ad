//! Services.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{AGE, NAME, Printer, Row, created, labels, list, name, none_if_empty, number, str, string, text};

pub static SERVICES: Printer = Printer {
    columns: &[
        NAME,
        text("Type"),
        text("Cluster-IP"),
        text("External-IP"),
        text("Port(s)"),
        AGE,
        text("Selector").wide(),
    ],
    row,
};

fn row(service: &Value, now: Timestamp) -> Row {
    let spec = &service["spec"];
    let internal = list(&spec["clusterIPs"]).first().map_or("<none>", str);
    Row::new([
        name(service),
        string(&spec["type"]),
        internal.into(),
        external(service).into(),
        none_if_empty(ports(spec)).into(),
        created(service, now),
        labels(&spec["selector"]).into(),
    ])
}

/// Where it is reached from outside, which depends on its type.
fn external(service: &Value) -> String {
    let spec = &service["spec"];
    let addresses = list(&spec["externalIPs"]).iter().map(str);
    match str(&spec["type"]) {
        "ClusterIP" | "NodePort" => none_if_empty(addresses.collect::<Vec<_>>().join(",")),
        "LoadBalancer" => {
            let balanced: BTreeSet<&str> = list(&service["status"]["loadBalancer"]["ingress"])
                .iter()
                .map(|ingress| ingress["ip"].as_str().unwrap_or_else(|| str(&ingress["hostname"])))
                .filter(|address| !address.is_empty())
                .collect();
            let all = balanced.into_iter().chain(addresses).collect::<Vec<_>>().join(",");
            if all.is_empty() { "<pending>".to_owned() } else { all }
        }
        "ExternalName" => str(&spec["externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(spec: &Value) -> String {
    let port = |port: &Value| match (number(&port["port"]), number(&port["nodePort"]), str(&port["protocol"])) {
        (inside, 0, protocol) => format!("{inside}/{protocol}"),
        (inside, outside, protocol) => format!("{inside}:{outside}/{protocol}"),
    };
    list(&spec["ports"]).iter().map(port).collect::<Vec<_>>().join(",")
}
