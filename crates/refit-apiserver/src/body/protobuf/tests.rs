use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A field of bytes.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("a test's field must be short");
    assert!(length < 0x80);
    [&[number << 3 | 2, length], content].concat()
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC, &bytes(1, &type_meta), &bytes(2, object), &bytes(4, b"")].concat()
}

fn check(api_version: &str, kind: &str, object: &[u8], mut expected: Value) {
    expected["apiVersion"] = api_version.into();
    expected["kind"] = kind.into();
    assert_eq!(parse(&envelope(api_version, kind, object)), Ok(expected));
}

#[test]
fn maps_bytes_and_flags_are_read() {
    let metadata = [bytes(1, b"c"), bytes(2, b""), bytes(8, &[])].concat();
    let data = |key: &[u8], value: &[u8]| [bytes(1, key), bytes(2, value)].concat();
    let object =
        [bytes(1, &metadata), bytes(2, &data(b"k", b"v")), bytes(3, &data(b"b", &[0, 1])), varint(4, 0)].concat();
    let expected =
        json!({"metadata": {"name": "c"}, "data": {"k": "v"}, "binaryData": {"b": "AAE="}, "immutable": false});
    check("v1", "ConfigMap", &object, expected);
}

#[test]
fn times_have_the_precision_of_their_type() {
    let time = [varint(1, 100), [2 << 3, 0xe8, 0x07].to_vec()].concat();
    let spec = [bytes(1, b"me"), varint(2, 15), bytes(3, &time), varint(5, 0)].concat();
    let expected = json!({"metadata": {}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15,
        "acquireTime": "1970-01-01T00:01:40.000001Z", "leaseTransitions": 0}});
    check("coordination.k8s.io/v1", "Lease", &[bytes(1, &[]), bytes(2, &spec)].concat(), expected);
}

#[test]
fn percentages_numbers_and_inlined_types_are_read() {
    let percent = [varint(1, 1), varint(2, 0), bytes(3, b"50%")].concat();
    let spec = bytes(3, &percent);
    check("policy/v1", "PodDisruptionBudget", &bytes(2, &spec), json!({"spec": {"maxUnavailable": "50%"}}));
    let volume = [bytes(1, b"v"), bytes(2, &bytes(2, &bytes(1, b"")))].concat();
    let spec = bytes(1, &volume);
    check("v1", "Pod", &bytes(2, &spec), json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}));
}

#[test]
fn what_is_no_message_is_refused() {
    let truncated = envelope("v1", "ConfigMap", &[0x0a, 0x7f]);
    for body in [&b"{}"[..], b"k8s", b"k8s\0", &envelope("v1", "Nothing", &[]), &truncated] {
        assert!(parse(body).is_err(), "{body:?}");
    }
}

proptest! {
    #[test]
    fn no_message_makes_it_panic(object in prop::collection::vec(any::<u8>(), 0..100), kind in "Pod|Node|Event") {
        let _ = parse(&envelope("v1", &kind, &object));
    }
}
