//! Built-in kinds, and the Scale of a kind.

use super::*;

#[test]
fn built_in_kinds_always_have_their_structs() {
    let definitions = definitions();
    let built_in = |name: &str, kind: &str| Endpoint {
        schema: parse(&definitions[name], &definitions),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        subresource: String::new(),
        reset: FieldSet::default(),
        origin: Origin::BuiltIn,
    };
    let create = |endpoint: &Endpoint, mut object: Value| {
        update(endpoint, None, &mut object, &Writer { manager: "m", now: Timestamp::UNIX_EPOCH });
        object
    };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]}, "status": {},
    });
    let pod = create(&built_in("io.k8s.api.core.v1.Pod", "Pod"), pod);
    let container = json!({".": {}, "f:image": {}, "f:name": {}, "f:resources": {}});
    let expected = json!({"f:spec": {"f:containers": {r#"k:{"name":"c"}"#: container}}});
    assert_eq!(pod["metadata"]["managedFields"][0]["fieldsV1"], expected);

    let endpoint = built_in("io.k8s.api.core.v1.ConfigMap", "ConfigMap");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}});
    let map = create(&endpoint, map);
    let expected = json!({"f:data": {".": {}, "f:a": {}}});
    assert_eq!(map["metadata"]["managedFields"][0]["fieldsV1"], expected);
    let mut cleared = map.clone();
    cleared["metadata"]["managedFields"] = json!([]);
    update(&endpoint, Some(&map), &mut cleared, &Writer { manager: "m", now: Timestamp::UNIX_EPOCH });
    assert_eq!(cleared["metadata"].get("managedFields"), None);
}

#[test]
fn scaling_takes_the_replicas_without_a_time() {
    let replicas = &["spec", "replicas"];
    let story = Story::new().applies("m1", json!({"spec": {"replicas": 1, "size": 1}}));
    let managed = story.object()["metadata"]["managedFields"].clone();
    let owners = scale::owners_of_scale(Some(&managed), replicas).unwrap();
    let endpoint = Endpoint {
        schema: scale::schema(&object_meta(&definitions())),
        api_version: scale::API_VERSION.to_owned(),
        kind: "Scale".to_owned(),
        subresource: "scale".to_owned(),
        reset: FieldSet::default(),
        origin: Origin::BuiltIn,
    };
    let scale = |count: i64| {
        let metadata = json!({"name": "a", "uid": "u", "managedFields": owners});
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": count}, "status": {"replicas": 0}})
    };
    let mut scaled = scale(5);
    update(&endpoint, Some(&scale(1)), &mut scaled, &Writer { manager: "kubectl", now: story.now });
    let after = scaled["metadata"]["managedFields"].clone();
    let after = scale::owners_of_object(Some(&managed), Some(&after), V1, replicas).unwrap().unwrap();
    let entry = |index: usize| (after[index]["manager"].clone(), after[index]["fieldsV1"].clone());
    assert_eq!(entry(0), (json!("m1"), json!({"f:spec": {"f:size": {}}})));
    assert_eq!(entry(1), (json!("kubectl"), json!({"f:spec": {"f:replicas": {}}})));
    assert_eq!(
        (&after[1]["subresource"], &after[1]["apiVersion"], after[1].get("time")),
        (&json!("scale"), &json!(V1), None)
    );

    let parts =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 7}});
    let refused = apply(&endpoint, Some(&scaled), &parts, &Writer { manager: "m", now: story.now }, false, |_| {});
    let message = "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using autoscaling/v1: \
                   .spec.replicas";
    assert_eq!(refused.unwrap_err().to_string(), message);
}
