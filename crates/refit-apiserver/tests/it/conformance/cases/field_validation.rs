//! Facts 18 to 20: unknown and doubled fields, and bad options.

use http::Method;
use serde_json::json;

use crate::conformance::definitions::{WIDGETS, changed, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";
const JSON: &str = "application/json";

pub fn cases() -> Vec<Case> {
    let odd = json!({"size": 1, "nosuch": 1, "items": [{"name": "a", "odd": 2}], "any": {"kept": 1}});
    let doubled = r#"{"apiVersion":"conf.refit.dev/v1","kind":"Widget","metadata":{"name":"d","name":"d"},"spec":{"size":1,"size":2,"nosuch":1}}"#;
    let a = format!("{WIDGETS}/a");
    let mut cases = vec![
        case("18 unknown fields are warned of even when the request fails")
            .post(WIDGETS, widget("a", json!({"nosuch": 1, "size": "x"})))
            .post(MAPS, json!({"metadata": {"name": "Bad_", "odd": 1}, "nosuch": 1})),
        case("18 strict patches are invalid")
            .post(WIDGETS, widget("a", json!({})))
            .merge(&format!("{a}?fieldValidation=Strict"), json!({"spec": {"nosuch": 1}}))
            .merge(&format!("{a}?fieldValidation=Warn"), json!({"spec": {"nosuch": 1}}))
            .merge(&format!("{a}?fieldValidation=Ignore"), json!({"spec": {"nosuch": 1}}))
            .json(&format!("{a}?fieldValidation=Strict"), json!([{"op": "add", "path": "/spec/nosuch", "value": 1}]))
            .json(&format!("{a}?fieldValidation=Warn"), json!([{"op": "add", "path": "/spec/nosuch", "value": 1}]))
            .raw(
                Method::PATCH,
                &format!("{a}?fieldValidation=Strict"),
                "application/merge-patch+json",
                r#"{"spec":{"size":1,"size":2}}"#,
            )
            .raw(
                Method::PATCH,
                &format!("{a}?fieldValidation=Warn"),
                "application/merge-patch+json",
                r#"{"spec":{"size":1,"size":2}}"#,
            )
            .raw(
                Method::PATCH,
                &format!("{a}?fieldValidation=Strict"),
                "application/json-patch+json",
                r#"[{"op":"add","path":"/spec/size","value":1,"value":2}]"#,
            )
            .raw(
                Method::PATCH,
                &format!("{a}?fieldValidation=Warn"),
                "application/json-patch+json",
                r#"[{"op":"add","path":"/spec/size","value":1,"value":2,"odd":1}]"#,
            ),
        case("18 strict patches of built-in kinds are invalid")
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .merge(&format!("{MAPS}/a?fieldValidation=Strict"), json!({"nosuch": 1}))
            .merge(&format!("{MAPS}/a"), json!({"nosuch": 1}))
            .strategic(&format!("{MAPS}/a?fieldValidation=Strict"), json!({"nosuch": 1}))
            .strategic(&format!("{MAPS}/a"), json!({"nosuch": 1, "data": {"a": "b"}}))
            .raw(
                Method::PATCH,
                &format!("{MAPS}/a"),
                "application/strategic-merge-patch+json",
                r#"{"data":{"a":"1","a":"2"}}"#,
            ),
        case("19 apply refuses what the schema does not know")
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"nosuch": 1})))
            .apply(&format!("{a}?fieldManager=m&fieldValidation=Ignore"), widget("a", json!({"nosuch": 1})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"size": "x"})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"tags": ["a", "a"]})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"items": [{"name": "x"}, {"name": "x"}]})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"items": [{"value": "x"}]})))
            .apply(&format!("{a}?fieldManager=m"), widget("a", json!({"code": null})))
            .apply(&format!("{MAPS}/a?fieldManager=m"), json!({"apiVersion": "v1", "kind": "ConfigMap", "nosuch": 1}))
            .apply(
                &format!("{MAPS}/a?fieldManager=m"),
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}}),
            )
            .apply(
                &format!("{MAPS}/a?fieldManager=m"),
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": null}}),
            )
            .raw(
                Method::PATCH,
                &format!("{a}?fieldManager=m"),
                "application/apply-patch+yaml",
                "apiVersion: conf.refit.dev/v1\nkind: Widget\nspec:\n  size: 1\n  size: 2\n",
            )
            .raw(
                Method::PATCH,
                &format!("{a}?fieldManager=m&fieldValidation=Strict"),
                "application/apply-patch+yaml",
                "apiVersion: conf.refit.dev/v1\nkind: Widget\nspec:\n  size: 1\n  size: 2\n",
            ),
        case("20 bad options are invalid")
            .post(&format!("{WIDGETS}?fieldValidation=x"), widget("a", json!({})))
            .post(&format!("{WIDGETS}?dryRun="), widget("a", json!({})))
            .post(&format!("{WIDGETS}?dryRun=x&dryRun=All"), widget("a", json!({})))
            .post(&format!("{WIDGETS}?fieldManager={}", "m".repeat(129)), widget("a", json!({})))
            .post(&format!("{WIDGETS}?fieldManager=a%00b"), widget("a", json!({})))
            .post(WIDGETS, widget("a", json!({})))
            .put(&format!("{a}?dryRun=x"), changed("a", json!({})))
            .merge(&format!("{a}?force=true"), json!({}))
            .merge(&format!("{a}?force=maybe"), json!({}))
            .merge(&format!("{a}?dryRun=x&fieldValidation=y"), json!({}))
            .apply(&a, widget("a", json!({})))
            .apply(&format!("{a}?fieldManager=m&force=maybe"), widget("a", json!({})))
            .delete(&format!("{a}?dryRun=x"), json!(null))
            .delete(&format!("{a}?propagationPolicy=x"), json!(null))
            .delete(&format!("{a}?gracePeriodSeconds=x"), json!(null))
            .delete(&format!("{a}?gracePeriodSeconds=-5&dryRun=All"), json!(null))
            .get(&format!("{WIDGETS}?resourceVersionMatch=x"))
            .get(&format!("{WIDGETS}?timeoutSeconds=x"))
            .get(&format!("{WIDGETS}?limit=x"))
            .get(&format!("{a}?resourceVersion=abc"))
            .get(&format!("{a}?resourceVersion=0"))
            .get(&format!("{a}?nosuch=1")),
    ];
    for (mode, query) in [
        ("18 unknown fields: default", ""),
        ("18 unknown fields: Warn", "?fieldValidation=Warn"),
        ("18 unknown fields: Ignore", "?fieldValidation=Ignore"),
        ("18 unknown fields: Strict", "?fieldValidation=Strict"),
    ] {
        cases.push(
            case(mode)
                .post(&format!("{WIDGETS}{query}"), widget("a", odd.clone()))
                .raw(Method::POST, &format!("{WIDGETS}{query}"), JSON, doubled)
                .post(WIDGETS, widget("base", json!({})))
                .put(&format!("{WIDGETS}/base{query}"), changed("base", odd.clone()))
                .post(&format!("{MAPS}{query}"), json!({"metadata": {"name": "a", "odd": 1}, "nosuch": 1, "data": {"a": "b"}}))
                .raw(Method::POST, &format!("{MAPS}{query}"), JSON, r#"{"metadata":{"name":"b"},"data":{"a":"1","a":"2"},"nosuch":1}"#)
                .raw(Method::POST, &format!("{MAPS}{query}"), JSON, r#"{"metadata":{"name":"c","name":"c","labels":{"a":"1","a":"2"}},"Data":{"a":"1"}}"#)
                .raw(Method::POST, &format!("{MAPS}{query}"), "application/yaml", "metadata:\n  name: d\ndata:\n  a: x\n  a: z\nnosuch: 1\n")
                .raw(Method::POST, &format!("{WIDGETS}{query}"), "application/yaml", "apiVersion: conf.refit.dev/v1\nkind: Widget\nmetadata:\n  name: why\nspec:\n  size: 1\n  size: 2\n  nosuch: 1\n"),
        );
    }
    cases
}
