//! `metadata.managedFields`: who owns which fields, and since when.

use std::collections::BTreeMap;
use std::ops::Deref;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Origin;
use super::field_set::FieldSet;
use super::fields_v1::{self, FieldsError};
use super::go::{self, quoted};

/// How many entries of operation Update an object keeps; the oldest of more are merged into one.
const MAX_UPDATERS: usize = 10;
/// The manager of what was merged.
const ANCIENT: &str = "ancient-changes";

/// How an owner came to own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

/// Who an owner is. Appliers are the same in all versions, updaters are not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub manager: String,
    pub operation: Operation,
    /// Empty for appliers.
    pub api_version: String,
    /// Empty for the main resource.
    pub subresource: String,
}

/// What an owner has.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    pub fields: OwnedFields,
    /// The version that the fields were written in.
    pub api_version: String,
    /// When the owner last changed the object; absent where it only took over what was there.
    pub time: Option<Timestamp>,
}

/// The fields of an owner. Most owners' fields do not change in a write, and then their JSON form does not, either.
#[derive(Debug, Clone, Default)]
pub struct OwnedFields {
    set: FieldSet,
    stored: Option<Value>,
}

impl From<FieldSet> for OwnedFields {
    fn from(set: FieldSet) -> Self {
        Self { set, stored: None }
    }
}

impl PartialEq for OwnedFields {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl Deref for OwnedFields {
    type Target = FieldSet;

    fn deref(&self) -> &FieldSet {
        &self.set
    }
}

impl OwnedFields {
    fn into_json(self) -> Value {
        self.stored.unwrap_or_else(|| fields_v1::encode(&self.set))
    }
}

/// All owners of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Managed(pub BTreeMap<Owner, Owned>);

/// Why managedFields cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    #[error("a managed fields entry must be an object")]
    Entry,
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    pub fn applier(manager: &str, subresource: &str) -> Self {
        Self::new(manager, Operation::Apply, "", subresource)
    }

    pub fn updater(manager: &str, api_version: &str, subresource: &str) -> Self {
        Self::new(manager, Operation::Update, api_version, subresource)
    }

    fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// The owner as a conflict names it.
    pub fn described(&self) -> String {
        let mut text = quoted(&self.manager);
        if !self.subresource.is_empty() {
            text += &format!(" with subresource {}", quoted(&self.subresource));
        }
        if self.operation == Operation::Update {
            text += &format!(" using {}", self.api_version);
        }
        text
    }

    /// The text by which Kubernetes sorts owners.
    pub fn sort_key(&self) -> String {
        let mut fields = format!("{{\"manager\":{}", go::json(&self.manager.as_str().into()));
        fields += &format!(",\"operation\":\"{}\"", self.operation.name());
        for (name, value) in [("apiVersion", &self.api_version), ("subresource", &self.subresource)] {
            if !value.is_empty() {
                fields += &format!(",\"{name}\":{}", go::json(&value.as_str().into()));
            }
        }
        fields + "}"
    }
}

/// What a request says about ownership.
#[derive(Debug, Clone, PartialEq)]
pub enum Requested {
    /// Nothing that can be read: as it was.
    Unchanged,
    /// Nobody owns anything any more.
    Cleared,
    /// These owners.
    Owners(Managed),
}

impl Managed {
    /// Reads `metadata.managedFields` of an object that is stored, and so was written by [`Self::into_json`].
    pub fn decode_stored(entries: Option<&Value>) -> Result<Self, ManagedError> {
        let mut managed = Self::decode(entries)?;
        for entry in entries.and_then(Value::as_array).into_iter().flatten() {
            let owned = owner(entry).and_then(|owner| managed.0.get_mut(&owner));
            if let (Some(owned), Some(fields)) = (owned, entry.get("fieldsV1")) {
                owned.fields.stored = Some(fields.clone());
            }
        }
        Ok(managed)
    }

    /// Reads `metadata.managedFields`; absent is empty.
    pub fn decode(entries: Option<&Value>) -> Result<Self, ManagedError> {
        let entries = entries.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let decode = |(index, entry)| decode_entry(index, entry);
        Ok(Self(entries.iter().enumerate().map(decode).collect::<Result<_, _>>()?))
    }

    /// What is asked for by the `metadata.managedFields` of an object to store. `[{}]` clears; an empty list does so
    /// for built-in kinds only.
    pub fn requested(entries: Option<&Value>, origin: Origin) -> Requested {
        let is_cleared = match entries.and_then(Value::as_array).map(Vec::as_slice) {
            Some([]) => origin == Origin::BuiltIn,
            Some([Value::Object(entry)]) => entry.values().all(|value| value.is_null() || value.as_str() == Some("")),
            _ => false,
        };
        match Self::decode(entries) {
            _ if is_cleared => Requested::Cleared,
            Ok(managed) if !managed.0.is_empty() => Requested::Owners(managed),
            _ => Requested::Unchanged,
        }
    }

    /// The entries in Kubernetes' order: by operation, time, manager, version and subresource.
    pub fn into_json(self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        let mut owners: Vec<(Owner, Owned)> = self.0.into_iter().collect();
        owners.sort_by(|(left, left_owned), (right, right_owned)| {
            let key = |owner: &Owner, owned: &Owned| (owner.operation, seconds(owned));
            let by_time = key(left, left_owned).cmp(&key(right, right_owned));
            let by_manager = by_time.then_with(|| left.manager.cmp(&right.manager));
            let by_version = by_manager.then_with(|| left_owned.api_version.cmp(&right_owned.api_version));
            by_version.then_with(|| left.subresource.cmp(&right.subresource))
        });
        Some(owners.into_iter().map(|(owner, owned)| encode_entry(owner, owned)).collect())
    }

    /// Merges the oldest updaters, per version, until there are few enough.
    pub fn cap_updaters(&mut self) {
        let mut updaters: Vec<Owner> =
            self.0.keys().filter(|owner| owner.operation == Operation::Update).cloned().collect();
        let mut too_many = updaters.len().saturating_sub(MAX_UPDATERS);
        if too_many == 0 {
            return;
        }
        updaters.sort_by_cached_key(|owner| (self.0.get(owner).map_or(0, seconds), owner.sort_key()));
        let mut first_of: BTreeMap<String, Owner> = BTreeMap::new();
        for owner in updaters {
            if too_many == 0 {
                return;
            }
            match first_of.get(&owner.api_version) {
                None => {
                    first_of.insert(owner.api_version.clone(), owner);
                }
                Some(first) => {
                    self.merge_ancient(first, &owner);
                    too_many -= 1;
                }
            }
        }
    }

    fn merge_ancient(&mut self, first: &Owner, owner: &Owner) {
        let bucket = Owner::updater(ANCIENT, &owner.api_version, "");
        if !self.0.contains_key(&bucket)
            && let Some(owned) = self.0.remove(first)
        {
            self.0.insert(bucket.clone(), owned);
        }
        let Some(merged) = self.0.get(owner).cloned() else { return };
        if let Some(ancient) = self.0.get_mut(&bucket) {
            ancient.fields = merged.fields.union(&ancient.fields).into();
            ancient.time = merged.time;
        }
        self.0.remove(owner);
    }
}

fn seconds(owned: &Owned) -> i64 {
    owned.time.map_or(0, Timestamp::as_second)
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Owner, Owned), ManagedError> {
    if !entry.is_object() {
        return Err(ManagedError::Entry);
    }
    let owner = owner(entry).ok_or(ManagedError::Operation)?;
    let api_version = text(entry, "apiVersion");
    if api_version.is_empty() {
        return Err(ManagedError::ApiVersion);
    }
    match text(entry, "fieldsType") {
        "FieldsV1" => {}
        "" => return Err(ManagedError::NoFieldsType(index)),
        other => return Err(ManagedError::FieldsType(other.to_owned(), index)),
    }
    let fields = fields_v1::decode(entry.get("fieldsV1").unwrap_or(&Value::Null))?.into();
    let time = entry.get("time").and_then(Value::as_str).and_then(|time| time.parse().ok());
    Ok((owner, Owned { fields, api_version: api_version.to_owned(), time }))
}

/// Whose entry it is; `None` where it does not say how that one owns.
fn owner(entry: &Value) -> Option<Owner> {
    let (operation, api_version) = match text(entry, "operation") {
        "Apply" => (Operation::Apply, ""),
        "Update" => (Operation::Update, text(entry, "apiVersion")),
        _ => return None,
    };
    Some(Owner {
        manager: text(entry, "manager").to_owned(),
        operation,
        api_version: api_version.to_owned(),
        subresource: text(entry, "subresource").to_owned(),
    })
}

fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn encode_entry(owner: Owner, owned: Owned) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    put("apiVersion", owned.api_version.into());
    put("fieldsType", "FieldsV1".into());
    put("fieldsV1", owned.fields.into_json());
    if !owner.manager.is_empty() {
        put("manager", owner.manager.into());
    }
    put("operation", owner.operation.name().into());
    if !owner.subresource.is_empty() {
        put("subresource", owner.subresource.into());
    }
    if let Some(time) = owned.time {
        put("time", json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    }
    Value::Object(entry)
}
