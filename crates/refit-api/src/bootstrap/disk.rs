//! Partitions and filesystems of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Partitions and filesystems to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct DiskSetup {
    /// Disks to partition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub partitions: Vec<Partition>,
    /// Filesystems to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub filesystems: Vec<Filesystem>,
}

/// A disk to partition.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "message": "exactly one of the fields in [layout diskLayout] must be set",
    "rule": "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1",
}]))]
pub struct Partition {
    /// The disk.
    #[schemars(length(min = 1, max = 256))]
    pub device: String,
    /// Whether it gets one partition that takes all of it; with `false` it gets none. Not together with `diskLayout`.
    pub layout: Option<bool>,
    /// Whether a disk that has partitions is partitioned anew. Everything on it is lost.
    pub overwrite: Option<bool>,
    /// The kind of partition table; `mbr` when unset.
    pub table_type: Option<TableType>,
    /// The partitions, in order. Not together with `layout`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub disk_layout: Vec<PartitionSpec>,
}

/// The kind of partition table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TableType {
    Mbr,
    Gpt,
}

/// One partition of a disk.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartitionSpec {
    /// How much of the disk it takes.
    #[schemars(range(min = 1, max = 100))]
    pub percentage: i32,
    /// What it is for; `Linux` when unset.
    #[schemars(length(min = 1, max = 36), extend("x-kubernetes-validations" = [{
        "message": "partitionType must be one of Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended or a full GPT partition GUID",
        "rule": "self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')",
    }]))]
    pub partition_type: Option<String>,
}

/// A filesystem to make.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Filesystem {
    /// The disk.
    #[schemars(length(min = 1, max = 256))]
    pub device: String,
    /// The kind of filesystem.
    #[schemars(length(min = 1, max = 128))]
    pub filesystem: String,
    /// Its label.
    #[schemars(length(min = 1, max = 512))]
    pub label: Option<String>,
    /// The partition: a number, `auto`, `any` or `none`.
    #[schemars(length(min = 1, max = 128))]
    pub partition: Option<String>,
    /// Whether a filesystem that is there already is overwritten.
    pub overwrite: Option<bool>,
    /// The kind of filesystem to replace. Microsoft Azure only.
    #[serde(rename = "replaceFS")]
    #[schemars(length(min = 1, max = 128))]
    pub replace_fs: Option<String>,
    /// Further arguments of the command that makes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_opts: Vec<String>,
}
