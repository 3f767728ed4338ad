use serde_json::{Value, json};

use super::*;

fn config(spec: Value) -> KubeadmConfig {
    serde_json::from_value(json!({ "metadata": { "name": "c" }, "spec": spec })).expect("a KubeadmConfig must decode")
}

/// The errors of a spec, on create and on update alike.
fn check(spec: Value, expected: &[&str]) {
    let config = config(spec);
    let created: Vec<String> = config.validate(None).errors.iter().map(ToString::to_string).collect();
    assert_eq!(created, expected);
    assert_eq!(config.validate(Some(&KubeadmConfig::default())), config.validate(None));
}

#[test]
fn nothing_is_defaulted() {
    let written = config(json!({ "files": [{ "path": "/a" }], "verbosity": 2 }));
    let mut defaulted = written.clone();
    defaulted.set_defaults(None);
    assert_eq!(defaulted, written);
}

#[test]
fn file_has_one_source_of_content() {
    let secret = json!({ "secret": { "name": "s", "key": "k" } });
    check(json!({ "files": [{ "path": "/a", "content": "x" }, { "path": "/b", "contentFrom": secret }] }), &[]);
    check(
        json!({ "files": [{ "path": "/a", "content": "x", "contentFrom": secret }] }),
        &[r#"spec.files[0]: Invalid value: "/a": may have content or contentFrom, not both"#],
    );
}

#[test]
fn file_path_is_unique() {
    check(json!({ "files": [{ "path": "/a" }, { "path": "/b" }] }), &[]);
    check(
        json!({ "files": [{ "path": "/a" }, { "path": "/b" }, { "path": "/a" }] }),
        &[r#"spec.files[2].path: Duplicate value: "/a""#],
    );
}

#[test]
fn user_has_one_source_of_the_password() {
    let secret = json!({ "secret": { "name": "s", "key": "k" } });
    check(json!({ "users": [{ "name": "a", "passwd": "hash" }, { "name": "b", "passwdFrom": secret }] }), &[]);
    check(
        json!({ "users": [{ "name": "a", "passwd": "hash", "passwdFrom": secret }] }),
        &[r#"spec.users[0]: Invalid value: "a": may have passwd or passwdFrom, not both"#],
    );
}

#[test]
fn partitions_take_at_most_the_disk() {
    let disk = |percentages: &[i32]| {
        let layout: Vec<Value> = percentages.iter().map(|percentage| json!({ "percentage": percentage })).collect();
        json!({ "diskSetup": { "partitions": [{ "device": "/dev/sda", "diskLayout": layout }] } })
    };
    check(disk(&[60, 40]), &[]);
    check(
        disk(&[60, 41]),
        &["spec.diskSetup.partitions[0].diskLayout: Invalid value: 101: the percentages must add up to at most 100"],
    );
    check(
        disk(&[i32::MAX, i32::MAX]),
        &[
            "spec.diskSetup.partitions[0].diskLayout: Invalid value: 4294967294: the percentages must add up to at most 100",
        ],
    );
}

#[test]
fn bootstrap_token_has_its_form_and_is_not_shown() {
    let token = |token: &str| json!({ "initConfiguration": { "bootstrapTokens": [{ "token": token }] } });
    check(token("abcdef.0123456789abcdef"), &[]);
    let error = "spec.initConfiguration.bootstrapTokens[0].token: Invalid value: \"(not shown)\": must be six and \
                 sixteen lowercase letters or digits, with a dot between";
    for wrong in ["abcdef", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef", "abcdef.0123456789.bcdef"] {
        check(token(wrong), &[error]);
    }
}

#[test]
fn discovery_user_logs_in_one_way() {
    let user = |user: Value| {
        let file = json!({ "kubeConfigPath": "/etc/k", "kubeConfig": { "user": user } });
        json!({ "joinConfiguration": { "discovery": { "file": file } } })
    };
    check(user(json!({ "exec": { "command": "login" } })), &[]);
    check(user(json!({ "authProvider": { "name": "p" } })), &[]);
    check(
        user(json!({ "exec": { "command": "login" }, "authProvider": { "name": "p" } })),
        &["spec.joinConfiguration.discovery.file.kubeConfig.user: Forbidden: may have authProvider or exec, not both"],
    );
}

#[test]
fn ignition_settings_need_its_format() {
    let ignition = json!({ "containerLinuxConfig": { "strict": true } });
    check(json!({ "format": "ignition", "ignition": ignition }), &[]);
    check(json!({ "format": "cloud-config" }), &[]);
    check(
        json!({ "format": "cloud-config", "ignition": ignition }),
        &[r#"spec.format: Invalid value: "cloud-config": must be ignition when ignition is set"#],
    );
    check(
        json!({ "ignition": ignition }),
        &["spec.format: Invalid value: null: must be ignition when ignition is set"],
    );
}

/// Each is fine in cloud-config, and an error in Ignition's format.
#[test]
fn ignition_does_without_what_it_cannot_express() {
    let forbidden = [
        (json!({ "users": [{ "name": "a", "inactive": true }] }), "spec.users[0].inactive"),
        (json!({ "files": [{ "path": "/a", "encoding": "gzip" }] }), "spec.files[0].encoding"),
        (json!({ "files": [{ "path": "/a", "encoding": "gzip+base64" }] }), "spec.files[0].encoding"),
        (json!({ "bootCommands": ["true"] }), "spec.bootCommands"),
        (filesystem("replaceFS", "ntfs"), "spec.diskSetup.filesystems[0].replaceFS"),
        (filesystem("partition", "auto"), "spec.diskSetup.filesystems[0].partition"),
    ];
    for (spec, path) in forbidden {
        check(spec.clone(), &[]);
        check(in_ignition(spec), &[&format!("{path}: Forbidden: not supported when format is ignition")]);
    }
}

#[test]
fn ignition_partitions_by_gpt() {
    let table = |table_type: &str| {
        let partition = json!({ "device": "/dev/sda", "layout": true, "tableType": table_type });
        json!({ "diskSetup": { "partitions": [partition] } })
    };
    check(in_ignition(table("gpt")), &[]);
    check(table("mbr"), &[]);
    check(
        in_ignition(table("mbr")),
        &[r#"spec.diskSetup.partitions[0].tableType: Invalid value: "mbr": must be gpt when format is ignition"#],
    );
}

#[test]
fn ignition_takes_plain_files_and_active_users() {
    let spec = json!({
        "users": [{ "name": "a", "inactive": false }],
        "files": [{ "path": "/a", "encoding": "base64" }, { "path": "/b" }],
        "diskSetup": { "filesystems": [{ "device": "/dev/sda", "filesystem": "ext4" }] },
    });
    check(in_ignition(spec), &[]);
}

fn filesystem(field: &str, value: &str) -> Value {
    let mut filesystem = json!({ "device": "/dev/sda", "filesystem": "ext4" });
    filesystem[field] = value.into();
    json!({ "diskSetup": { "filesystems": [filesystem] } })
}

fn in_ignition(mut spec: Value) -> Value {
    spec["format"] = "ignition".into();
    spec
}
