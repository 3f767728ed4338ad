//! The cloud-config of a host: files, commands, users and disks around kubeadm.

use refit_api::bootstrap::{DiskSetup, Encoding, File, Filesystem, KubeadmConfigSpec, Partition, TableType, User};
use serde_json::{Map, Value, json};

use super::{CertificateFile, Facts, yaml};
use crate::kubeadm_config::Role;

/// cloud-init fills in `{{ ds.meta_data... }}` in what begins like this.
const HEADER: &str = "## template: jinja\n#cloud-config\n";
const INIT_FILE: &str = "/run/kubeadm/kubeadm.yaml";
const JOIN_FILE: &str = "/run/kubeadm/kubeadm-join-config.yaml";
/// Infrastructure providers look for this file to know that the Machine is up. Fixed by Cluster API's contract.
const SUCCESS: &str = "echo success > /run/cluster-api/bootstrap-success.complete";
/// Makes the folder of the file above.
const PLACEHOLDER: &str = "/run/cluster-api/placeholder";

/// The whole text. `kubeadm` is what kubeadm reads.
pub fn render(spec: &KubeadmConfigSpec, role: Role, facts: &Facts<'_>, files: &[File], kubeadm: &str) -> String {
    let certificates = match role {
        Role::Init | Role::JoinControlPlane => facts.certificates,
        Role::JoinWorker => &[],
    };
    let path = kubeadm_file(role);
    let own = [of_root(path, "0640", kubeadm), of_root(PLACEHOLDER, "0640", "Makes the folder.\n")];
    let written = certificates.iter().map(certificate).chain(files.iter().map(file)).chain(own);
    let sections = [
        ("write_files", Some(Value::Array(written.collect()))),
        ("bootcmd", list(&spec.boot_commands)),
        ("runcmd", Some(json!(commands(spec, role)))),
        ("ntp", ntp(spec)),
        ("users", (!facts.sources.users.is_empty()).then(|| facts.sources.users.iter().map(user).collect())),
        ("disk_setup", disks(&spec.disk_setup)),
        ("fs_setup", filesystems(&spec.disk_setup)),
        ("mounts", (!spec.mounts.is_empty()).then(|| json!(spec.mounts))),
    ];
    let sections = sections.into_iter().filter_map(|(name, value)| Some(yaml::write_field(name, &value?)));
    HEADER.to_owned() + &sections.collect::<String>()
}

fn kubeadm_file(role: Role) -> &'static str {
    match role {
        Role::Init => INIT_FILE,
        Role::JoinControlPlane | Role::JoinWorker => JOIN_FILE,
    }
}

fn commands(spec: &KubeadmConfigSpec, role: Role) -> Vec<String> {
    let what = match role {
        Role::Init => "init",
        Role::JoinControlPlane | Role::JoinWorker => "join",
    };
    let verbosity = spec.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
    let kubeadm = format!("kubeadm {what} --config {}{verbosity} && {SUCCESS}", kubeadm_file(role));
    let before = spec.pre_kubeadm_commands.iter().cloned();
    before.chain([kubeadm]).chain(spec.post_kubeadm_commands.iter().cloned()).collect()
}

fn certificate(file: &CertificateFile) -> Value {
    of_root(&file.path, if file.is_private { "0600" } else { "0640" }, &file.content)
}

fn of_root(path: &str, permissions: &str, content: &str) -> Value {
    json!({ "path": path, "owner": "root:root", "permissions": permissions, "content": content })
}

fn file(file: &File) -> Value {
    fields([
        ("path", Some(json!(file.path))),
        ("owner", file.owner.as_ref().map(|it| json!(it))),
        ("permissions", file.permissions.as_ref().map(|it| json!(it))),
        ("encoding", file.encoding.map(encoding)),
        ("append", file.append.filter(|append| *append).map(Value::from)),
        ("content", Some(json!(file.content.as_deref().unwrap_or_default()))),
    ])
}

fn encoding(encoding: Encoding) -> Value {
    json!(match encoding {
        Encoding::Base64 => "base64",
        Encoding::Gzip => "gzip",
        Encoding::GzipBase64 => "gzip+base64",
    })
}

fn user(user: &User) -> Value {
    let text = |value: &Option<String>| value.as_ref().map(|it| json!(it));
    fields([
        ("name", Some(json!(user.name))),
        ("passwd", text(&user.passwd)),
        ("gecos", text(&user.gecos)),
        ("groups", text(&user.groups)),
        ("homedir", text(&user.home_dir)),
        ("inactive", user.inactive.map(Value::from)),
        ("lock_passwd", user.lock_password.map(Value::from)),
        ("shell", text(&user.shell)),
        ("primary_group", text(&user.primary_group)),
        ("sudo", text(&user.sudo)),
        ("ssh_authorized_keys", list(&user.ssh_authorized_keys)),
    ])
}

fn ntp(spec: &KubeadmConfigSpec) -> Option<Value> {
    let (enabled, servers) = (spec.ntp.enabled, list(&spec.ntp.servers));
    (enabled.is_some() || servers.is_some())
        .then(|| fields([("enabled", enabled.map(Value::from)), ("servers", servers)]))
}

fn disks(setup: &DiskSetup) -> Option<Value> {
    let disks: Map<String, Value> =
        setup.partitions.iter().map(|disk| (disk.device.clone(), partitions(disk))).collect();
    (!disks.is_empty()).then_some(Value::Object(disks))
}

fn partitions(disk: &Partition) -> Value {
    let table = disk.table_type.map(|table| match table {
        TableType::Mbr => json!("mbr"),
        TableType::Gpt => json!("gpt"),
    });
    let layout = disk.disk_layout.iter().map(|part| match &part.partition_type {
        Some(kind) => json!([part.percentage, partition_code(kind)]),
        None => json!(part.percentage),
    });
    let layout: Vec<Value> = layout.collect();
    let layout = if layout.is_empty() { disk.layout.map(Value::from) } else { Some(Value::Array(layout)) };
    fields([("table_type", table), ("layout", layout), ("overwrite", disk.overwrite.map(Value::from))])
}

/// What cloud-init calls a kind of partition. Others are given as they are: identifiers of GPT.
fn partition_code(kind: &str) -> &str {
    match kind {
        "Linux" => "83",
        "LinuxSwap" => "82",
        "LinuxRAID" => "fd",
        "LVM" => "8e",
        "Fat32" => "0c",
        "NTFS" => "07",
        "LinuxExtended" => "85",
        other => other,
    }
}

fn filesystems(setup: &DiskSetup) -> Option<Value> {
    (!setup.filesystems.is_empty()).then(|| setup.filesystems.iter().map(filesystem).collect())
}

fn filesystem(filesystem: &Filesystem) -> Value {
    let text = |value: &Option<String>| value.as_ref().map(|it| json!(it));
    fields([
        ("label", text(&filesystem.label)),
        ("filesystem", Some(json!(filesystem.filesystem))),
        ("device", Some(json!(filesystem.device))),
        ("partition", text(&filesystem.partition)),
        ("overwrite", filesystem.overwrite.map(Value::from)),
        ("replace_fs", text(&filesystem.replace_fs)),
        ("extra_opts", list(&filesystem.extra_opts)),
    ])
}

fn list(items: &[String]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn fields<const N: usize>(all: [(&str, Option<Value>); N]) -> Value {
    Value::Object(all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}
