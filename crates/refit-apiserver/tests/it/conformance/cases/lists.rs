//! Facts 40, 41, 45 and 46: lists, pages and selectors.

use serde_json::json;

use crate::conformance::definitions::{WIDGETS, WIDGETS_V2, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";

/// Four widgets with labels.
fn populated(name: &'static str) -> Case {
    (0..4).fold(case(name), |case, number| {
        let mut object = widget(&format!("w{number}"), json!({"size": number, "code": "abcd"[number..=number]}));
        object["metadata"]["labels"] =
            json!({"n": number.to_string(), "parity": if number % 2 == 0 { "even" } else { "odd" }});
        case.post(WIDGETS, object)
    })
}

fn selected(case: Case, queries: &[&str]) -> Case {
    queries.iter().fold(case, |case, query| case.get(&format!("{WIDGETS}?{query}")))
}

pub fn cases() -> Vec<Case> {
    vec![
        populated("40 pages carry the first page's version")
            .get(&format!("{WIDGETS}?limit=2"))
            .post(WIDGETS, widget("w9", json!({})))
            .get(&format!("{WIDGETS}?limit=1&continue=$continue"))
            .get(&format!("{WIDGETS}?limit=1&continue=$continue&resourceVersion=$list"))
            .get(&format!("{WIDGETS}?limit=1&continue=$continue&resourceVersion=0"))
            .get(&format!("{WIDGETS}?limit=1&continue=$continue&resourceVersionMatch=NotOlderThan"))
            .get(&format!("{WIDGETS}?limit=5&continue=$continue")),
        populated("40 the rest is counted without selectors only")
            .get(&format!("{WIDGETS}?limit=1&labelSelector=parity%3Deven"))
            .get(&format!("{WIDGETS}?limit=5&labelSelector=parity%3Deven&continue=$continue"))
            .get(&format!("{WIDGETS}?limit=2&labelSelector=parity%3Deven"))
            .get(&format!("{WIDGETS}?limit=4"))
            .get(&format!("{WIDGETS}?limit=1&continue=garbage"))
            .get(&format!("{WIDGETS}?limit=1&continue=e30")),
        selected(
            populated("40 a list at a version"),
            &[
                "resourceVersion=0",
                "resourceVersion=$list",
                "resourceVersion=$list&resourceVersionMatch=NotOlderThan",
                "resourceVersion=$list&resourceVersionMatch=Exact",
                "resourceVersion=0&resourceVersionMatch=Exact",
                "resourceVersion=abc",
                "resourceVersion=-1",
                "resourceVersionMatch=Exact",
                "resourceVersion=1&resourceVersionMatch=what",
                "sendInitialEvents=true",
                "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            ],
        ),
        populated("41 a list at a version in the future times out")
            .get(&format!("{WIDGETS}?resourceVersion=999999999999")),
        populated("41 a get of a version in the future").get(&format!("{WIDGETS}/w0?resourceVersion=999999999999")),
        selected(
            populated("45 label selectors"),
            &[
                "labelSelector=n%3E1",
                "labelSelector=n%3C1",
                "labelSelector=n%20in%20(0,1)",
                "labelSelector=n%20in%20()",
                "labelSelector=n%20notin%20(0,1)",
                "labelSelector=n,parity!%3Dodd",
                "labelSelector=!n",
                "labelSelector=n%3D",
                "labelSelector=,",
                "labelSelector=n%3D1,",
                "labelSelector=n%20in%20(1",
                "labelSelector=n%20in",
                "labelSelector=n%3D%3D%3D1",
                "labelSelector=bad%20key%3D1",
                "labelSelector=a/b/c",
                "labelSelector=n%3Dbad%20value",
                "labelSelector=n%3Dbad!value",
                "labelSelector=n%3Ex",
                "labelSelector=(",
                "labelSelector=n%20what%20(1)",
                "labelSelector=_bad",
            ],
        ),
        selected(
            populated("45 field selectors"),
            &[
                "fieldSelector=metadata.name%3Dw1",
                "fieldSelector=metadata.name!%3Dw1",
                "fieldSelector=metadata.namespace%3D$ns",
                "fieldSelector=metadata.namespace%3Dother",
                "fieldSelector=spec.code%3Db",
                "fieldSelector=spec.size%3D2",
                "fieldSelector=spec.size%3E2",
                "fieldSelector=spec.tier%3Dbasic",
                "fieldSelector=nosuch",
                "fieldSelector=metadata.name%3Dw1,spec.code%3Db",
                "fieldSelector=metadata.name%3Dw1,spec.code%3Dc",
                "fieldSelector=,",
            ],
        )
        .get(&format!("{WIDGETS_V2}?fieldSelector=spec.code%3Db"))
        .post(MAPS, json!({"metadata": {"name": "a"}}))
        .get(&format!("{MAPS}?fieldSelector=metadata.name%3Da"))
        .get(&format!("{MAPS}?fieldSelector=data.x%3Da")),
        selected(
            populated("46 odd options"),
            &["limit=-1", "limit=0", "watch=false", "watch=0", "allowWatchBookmarks=true"],
        )
        .get(&format!("{WIDGETS}/w0"))
        .get(&format!("{WIDGETS}/w0?pretty=true"))
        .get(&format!("{WIDGETS}/w0?resourceVersion=$rv")),
        populated("lists over all namespaces and of nothing")
            .get("/apis/conf.refit.dev/v1/widgets?fieldSelector=metadata.namespace%3D$ns")
            .get(&format!("{MAPS}?labelSelector=nosuch"))
            .get("/api/v1/configmaps?fieldSelector=metadata.namespace%3D$ns"),
    ]
}
