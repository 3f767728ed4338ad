//! Volumes, claims to them, and where they are attached.

use serde_json::Value;

use super::{AGE, NAME, Printer, Row, created, is_being_deleted, list, name, of_type, or, str, string, text};

/// The annotation that named the storage class before there was a field for it.
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const UNSET: &str = "<unset>";

pub static VOLUMES: Printer = Printer {
    columns: &[
        NAME,
        text("Capacity"),
        text("Access Modes"),
        text("Reclaim Policy"),
        text("Status"),
        text("Claim"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        text("Reason"),
        AGE,
        text("VolumeMode").wide(),
    ],
    row: |volume, now| {
        let spec = &volume["spec"];
        Row::new([
            name(volume),
            or(&spec["capacity"]["storage"], "0").into(),
            access_modes(&spec["accessModes"]).into(),
            string(&spec["persistentVolumeReclaimPolicy"]),
            phase(volume).into(),
            claim(&spec["claimRef"]).into(),
            class(volume),
            spec["volumeAttributesClassName"].as_str().unwrap_or(UNSET).into(),
            string(&volume["status"]["reason"]),
            created(volume, now),
            spec["volumeMode"].as_str().unwrap_or(UNSET).into(),
        ])
    },
};

pub static CLAIMS: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Volume"),
        text("Capacity"),
        text("Access Modes"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        AGE,
        text("VolumeMode").wide(),
    ],
    row: |claim, now| {
        let (spec, status) = (&claim["spec"], &claim["status"]);
        let is_bound = !str(&spec["volumeName"]).is_empty();
        let (capacity, modes) = match is_bound {
            true => (or(&status["capacity"]["storage"], "0").to_owned(), access_modes(&status["accessModes"])),
            false => Default::default(),
        };
        Row::new([
            name(claim),
            phase(claim).into(),
            string(&spec["volumeName"]),
            capacity.into(),
            modes.into(),
            class(claim),
            spec["volumeAttributesClassName"].as_str().unwrap_or(UNSET).into(),
            created(claim, now),
            spec["volumeMode"].as_str().unwrap_or(UNSET).into(),
        ])
    },
};

/// The attacher is called a name, too, as the real server does.
const ATTACHER: super::Column = super::Column { name: "Attacher", ..NAME };

pub static ATTACHMENTS: Printer = Printer {
    columns: &[NAME, ATTACHER, text("PV"), text("Node"), of_type("Attached", "boolean"), AGE],
    row: |attachment, now| {
        let spec = &attachment["spec"];
        Row::new([
            name(attachment),
            string(&spec["attacher"]),
            string(&spec["source"]["persistentVolumeName"]),
            string(&spec["nodeName"]),
            (attachment["status"]["attached"] == true).into(),
            created(attachment, now),
        ])
    },
};

fn phase(object: &Value) -> &str {
    if is_being_deleted(object) { "Terminating" } else { str(&object["status"]["phase"]) }
}

fn class(object: &Value) -> Value {
    let annotation = object["metadata"]["annotations"][OLD_CLASS].as_str();
    annotation.unwrap_or_else(|| str(&object["spec"]["storageClassName"])).into()
}

fn claim(reference: &Value) -> String {
    if !reference.is_object() {
        return String::new();
    }
    format!("{}/{}", str(&reference["namespace"]), str(&reference["name"]))
}

fn access_modes(modes: &Value) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let present = SHORT.iter().filter(|(mode, _)| list(modes).iter().any(|found| found == mode));
    present.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}
