//! Kinds with few columns: configuration, namespaces, leases, access.

use serde_json::Value;

use super::{AGE, NAME, Printer, Row, count, created, list, name, str, string, text};

pub static CONFIG_MAPS: Printer = Printer {
    columns: &[NAME, text("Data"), AGE],
    row: |object, now| {
        let entries = count(&object["data"]) + count(&object["binaryData"]);
        Row::new([name(object), entries.into(), created(object, now)])
    },
};

pub static SECRETS: Printer = Printer {
    columns: &[NAME, text("Type"), text("Data"), AGE],
    row: |object, now| {
        let entries = count(&object["data"]).into();
        Row::new([name(object), string(&object["type"]), entries, created(object, now)])
    },
};

pub static NAMESPACES: Printer = Printer {
    columns: &[NAME, text("Status"), AGE],
    row: |object, now| Row::new([name(object), string(&object["status"]["phase"]), created(object, now)]),
};

pub static SERVICE_ACCOUNTS: Printer =
    Printer { columns: &[NAME, AGE], row: |object, now| Row::new([name(object), created(object, now)]) };

pub static LEASES: Printer = Printer {
    columns: &[NAME, text("Holder"), AGE],
    row: |object, now| Row::new([name(object), string(&object["spec"]["holderIdentity"]), created(object, now)]),
};

/// Bindings of roles, with and without a namespace.
pub static ROLE_BINDINGS: Printer = Printer {
    columns: &[NAME, text("Role"), AGE, text("Users").wide(), text("Groups").wide(), text("ServiceAccounts").wide()],
    row: |object, now| {
        let role = format!("{}/{}", str(&object["roleRef"]["kind"]), str(&object["roleRef"]["name"]));
        let accounts = |subject: &Value| format!("{}/{}", str(&subject["namespace"]), str(&subject["name"]));
        let named = |subject: &Value| str(&subject["name"]).to_owned();
        Row::new([
            name(object),
            role.into(),
            created(object, now),
            subjects(object, "User", named),
            subjects(object, "Group", named),
            subjects(object, "ServiceAccount", accounts),
        ])
    },
};

fn subjects(binding: &Value, kind: &str, show: impl Fn(&Value) -> String) -> Value {
    let subjects = list(&binding["subjects"]).iter().filter(|subject| subject["kind"] == kind);
    subjects.map(show).collect::<Vec<_>>().join(", ").into()
}
