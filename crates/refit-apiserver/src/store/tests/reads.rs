use super::*;

#[tokio::test]
async fn an_empty_store_has_a_version_that_is_not_zero() {
    let store = Store::in_memory();
    assert_eq!(store.revision(), Revision::FIRST);
    assert_eq!(store.list(&scope(), None, None), Ok(Snapshot { revision: Revision::FIRST, records: vec![] }));
}

#[tokio::test]
async fn objects_show_their_version_in_text_and_value() {
    let store = Store::in_memory();
    let made = create(&store, "a", 1).await;
    let read = store.get(&key("a")).unwrap();
    assert_eq!(read, made);
    assert_eq!(read.value()["metadata"]["resourceVersion"], made.revision().to_string());
    assert_eq!(serde_json::from_slice::<Value>(read.json()).unwrap(), *read.value());
}

#[tokio::test]
async fn readers_share_one_decoded_value() {
    let store = Store::in_memory();
    create(&store, "a", 1).await;
    let (one, other) = (store.get(&key("a")).unwrap().value(), store.get(&key("a")).unwrap().value());
    assert!(Arc::ptr_eq(&one, &other));
}

#[tokio::test]
async fn a_scope_is_one_resource_of_one_cluster_and_perhaps_one_namespace() {
    let store = Store::in_memory();
    for (cluster, resource, namespace, name) in [
        ("main", "g/a", "x", "1"),
        ("main", "g/a", "x", "2"),
        ("main", "g/a", "xx", "3"),
        ("main", "g/a", "", "4"),
        ("main", "g/ab", "x", "5"),
        ("other", "g/a", "x", "6"),
    ] {
        let write = Write::create(Key::new(cluster, resource, namespace, name), object(name, 0));
        store.commit(vec![write]).await.unwrap();
    }
    let check = |scope: Scope, expected: &[&str]| assert_eq!(names(&store.list(&scope, None, None).unwrap()), expected);
    check(Scope::resource("main", "g/a"), &["4", "1", "2", "3"]);
    check(Scope::resource("main", "g/a").in_namespace("x"), &["1", "2"]);
    check(Scope::resource("main", "g/a").in_namespace(""), &["4"]);
    check(Scope::resource("other", "g/a"), &["6"]);
    check(Scope::resource("main", "g/b"), &[]);
    assert_eq!(store.clusters(), ["main".into(), "other".into()]);
    assert_eq!(store.resources("main"), ["g/a".into(), "g/ab".into()]);
}

#[tokio::test]
async fn later_pages_show_the_state_of_the_first() {
    let store = Store::in_memory();
    let (a, b) = (create(&store, "a", 1).await, create(&store, "b", 1).await);
    let d = create(&store, "d", 1).await;
    let first = store.list(&scope(), None, None).unwrap();
    delete(&store, &a).await;
    delete(&store, &b).await;
    create(&store, "b", 2).await;
    create(&store, "c", 1).await;
    replace(&store, &d, 2).await;
    let rest = store.list(&scope(), Some(first.revision), Some(&key("a"))).unwrap();
    assert_eq!(rest.records, [b, d]);
    assert_eq!(rest.revision, first.revision);
    assert_eq!(names(&store.list(&scope(), None, None).unwrap()), ["b", "c", "d"]);
}

#[tokio::test]
async fn a_page_behind_a_key_outside_the_scope_begins_with_the_scope() {
    let store = Store::in_memory();
    create(&store, "a", 1).await;
    let foreign = Key::new(CLUSTER, RESOURCE, "aaa", "z");
    let page = store.list(&scope().in_namespace("default"), None, Some(&foreign)).unwrap();
    assert_eq!(names(&page), ["a"]);
}

#[tokio::test]
async fn versions_that_are_forgotten_or_still_to_come_cannot_be_listed() {
    let store = Store::in_memory_with(few(2));
    let first = store.revision();
    for name in ["a", "b", "c"] {
        create(&store, name, 1).await;
    }
    let current = store.revision();
    assert_eq!(store.list(&scope(), Some(first), None), Err(ListError::TooOld { oldest: Revision(first.0 + 1) }));
    assert_eq!(names(&store.list(&scope(), Some(Revision(first.0 + 1)), None).unwrap()), ["a"]);
    assert_eq!(store.list(&scope(), Some(Revision(current.0 + 1)), None), Err(ListError::TooNew { current }));
}
