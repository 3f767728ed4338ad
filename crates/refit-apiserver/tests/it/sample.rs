//! A custom resource that has every kind of list and map, and random objects of it.

use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use serde_json::{Map, Value, json};

pub const GROUP: &str = "apply.refit.dev";
pub const API_VERSION: &str = "apply.refit.dev/v1";
pub const KIND: &str = "Sample";
pub const PLURAL: &str = "samples";

/// What kubectl keeps of its last client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Maps and lists are nullable, since apply leaves null where it takes out the last of them.
pub fn schema() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "nullable": true, "additionalProperties": text});
    let sealed = json!({"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text});
    let set = json!({"type": "array", "nullable": true, "x-kubernetes-list-type": "set", "items": text});
    let part = json!({"type": "object", "nullable": true, "properties": {"x": text, "y": text}});
    let port = json!({
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": text,
            "labels": texts,
        },
    });
    let item =
        json!({"type": "object", "required": ["name"], "properties": {"name": text, "value": text, "sub": part}});
    let spec = json!({
        "type": "object",
        "nullable": true,
        "properties": {
            "size": {"type": "integer"},
            "ratio": {"type": "number"},
            "code": {"type": "string", "nullable": true},
            "on": {"type": "boolean"},
            "tier": {"type": "string", "default": "basic"},
            "free": texts,
            "sealed": sealed,
            "group": {"type": "object", "nullable": true, "properties": {"a": text, "b": {"type": "integer"}, "inner": part}},
            "tags": set,
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "ports": keyed(&["port", "protocol"], &port),
            "items": keyed(&["name"], &item),
            "any": {"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true},
            "limit": {"x-kubernetes-int-or-string": true},
            "template": {
                "type": "object",
                "nullable": true,
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
    });
    let condition = json!({"type": "object", "required": ["type"], "properties": {"type": text, "status": text}});
    let status = json!({
        "type": "object",
        "nullable": true,
        "properties": {"phase": text, "conditions": keyed(&["type"], &condition)},
    });
    json!({"type": "object", "properties": {"spec": spec, "status": status}})
}

fn keyed(keys: &[&str], item: &Value) -> Value {
    json!({
        "type": "array",
        "nullable": true,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
        "items": item,
    })
}

pub fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "sample", "kind": KIND, "listKind": "SampleList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema()},
            }],
        },
    })
}

/// Random objects out of few names and values, so that they often meet.
pub struct Samples(pub StdRng);

impl Samples {
    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.0.random_range(0..from.len())]
    }

    /// An object with some spec, and sometimes labels, finalizers and a status.
    pub fn object(&mut self, name: &str) -> Value {
        let mut object = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}});
        if self.chance(90) {
            object["spec"] = self.spec();
        }
        if self.chance(30) {
            object["metadata"]["labels"] = self.texts();
        }
        if self.chance(20) {
            object["metadata"]["ownerReferences"] = self.owner_references();
        }
        if self.chance(10) {
            object["metadata"]["finalizers"] = self.distinct(&["refit.dev/a", "refit.dev/b"], |_, name| name.into());
        }
        if self.chance(20) {
            object["status"] = self.status();
        }
        if self.chance(10) {
            let last =
                json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": self.spec()});
            object["metadata"]["annotations"] = json!({LAST_APPLIED: last.to_string()});
        }
        object
    }

    pub fn status(&mut self) -> Value {
        let mut status = Map::new();
        if self.chance(60) {
            status.insert("phase".to_owned(), self.word().into());
        }
        if self.chance(60) {
            let conditions = self.distinct(&["Ready", "Up", "Done"], |samples, name| {
                let mut condition = json!({"type": name});
                if samples.chance(70) {
                    condition["status"] = samples.word().into();
                }
                condition
            });
            status.insert("conditions".to_owned(), conditions);
        }
        Value::Object(status)
    }

    pub fn spec(&mut self) -> Value {
        let mut spec = Map::new();
        for name in FIELDS {
            if self.chance(25) {
                let value = self.field(name);
                spec.insert((*name).to_owned(), value);
            }
        }
        Value::Object(spec)
    }

    fn field(&mut self, name: &str) -> Value {
        match name {
            "size" => self.number().into(),
            "ratio" => [json!(1), json!(1.5), json!(2.0)][self.0.random_range(0..3)].clone(),
            "code" if self.chance(20) => Value::Null,
            "on" => self.chance(50).into(),
            "free" | "sealed" => self.texts(),
            "group" => self.group(),
            "tags" => self.distinct(&["a", "b", "c", "d"], |_, tag| tag.into()),
            "numbers" => (0..self.0.random_range(0..3)).map(|_| Value::from(self.number())).collect(),
            "ports" => self.ports(),
            "items" => self.items(),
            "any" => self.any(3),
            "limit" => {
                if self.chance(50) {
                    self.number().into()
                } else {
                    self.word().into()
                }
            }
            "template" => {
                json!({"apiVersion": "v1", "kind": "X", "metadata": {"labels": self.texts()}, "spec": self.any(2)})
            }
            _ => self.word().into(),
        }
    }

    fn group(&mut self) -> Value {
        let mut group = json!({});
        if self.chance(50) {
            group["a"] = self.word().into();
        }
        if self.chance(50) {
            group["b"] = self.number().into();
        }
        if self.chance(50) {
            group["inner"] = self.part();
        }
        group
    }

    fn part(&mut self) -> Value {
        let mut part = json!({});
        for name in ["x", "y"] {
            if self.chance(50) {
                part[name] = self.word().into();
            }
        }
        part
    }

    fn ports(&mut self) -> Value {
        self.distinct(&["80", "443", "80U", "443U"], |samples, name| {
            let (number, is_udp) = name.strip_suffix('U').map_or((name, false), |number| (number, true));
            let mut port = json!({"port": number.parse::<i64>().expect("a port must be a number")});
            if is_udp {
                port["protocol"] = "UDP".into();
            } else if samples.chance(50) {
                port["protocol"] = "TCP".into();
            }
            if samples.chance(50) {
                port["name"] = samples.word().into();
            }
            if samples.chance(40) {
                port["labels"] = samples.texts();
            }
            port
        })
    }

    fn items(&mut self) -> Value {
        self.distinct(&["a", "b", "c", "d"], |samples, name| {
            let mut item = json!({"name": name});
            if samples.chance(60) {
                item["value"] = samples.word().into();
            }
            if samples.chance(40) {
                item["sub"] = samples.part();
            }
            item
        })
    }

    fn owner_references(&mut self) -> Value {
        self.distinct(&["u-1", "u-2"], |samples, uid| {
            let name = samples.word();
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
        })
    }

    /// A map of anything.
    fn any(&mut self, depth: u32) -> Value {
        let mut map = json!({});
        for name in ["a", "b", "c"] {
            if !self.chance(50) {
                continue;
            }
            map[name] = match self.0.random_range(0..6) {
                0 if depth > 0 => self.any(depth - 1),
                1 => json!([self.number(), {"deep": self.word()}]),
                2 => self.number().into(),
                3 => Value::Null,
                _ => self.word().into(),
            };
        }
        map
    }

    pub fn texts(&mut self) -> Value {
        let mut map = json!({});
        for name in ["k", "l", "m"] {
            if self.chance(45) {
                map[name] = self.word().into();
            }
        }
        map
    }

    /// Some of these, each once, in any order.
    fn distinct(&mut self, names: &[&str], mut make: impl FnMut(&mut Self, &str) -> Value) -> Value {
        let mut names = names.to_vec();
        let mut list = Vec::new();
        while !names.is_empty() && self.chance(65) {
            let name = names.swap_remove(self.0.random_range(0..names.len()));
            list.push(make(self, name));
        }
        Value::Array(list)
    }

    fn word(&mut self) -> &'static str {
        self.pick(&["one", "two"])
    }

    fn number(&mut self) -> i64 {
        i64::from(self.0.next_u32() % 2)
    }
}

const FIELDS: &[&str] = &[
    "size", "ratio", "code", "on", "tier", "free", "sealed", "group", "tags", "numbers", "ports", "items", "any",
    "limit", "template",
];
