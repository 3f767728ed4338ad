use serde_json::{Value, json};

use super::*;
use crate::read::accept::MetaVersion;
use crate::resource::Catalog;
use crate::store::{Key, Scope, Store, Write};
use crate::table::IncludeObject;

const TABLE: View = View::Table(MetaVersion::V1, IncludeObject::Object);
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

async fn records(count: usize, bytes: usize) -> Vec<Record> {
    let store = Store::in_memory();
    for number in 0..count {
        let name = format!("m{number:04}");
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                           "data": {"text": "- x: \"y\"\n".repeat(bytes / 10), "empty": ""}});
        let key = Key::new("", "configmaps", "default", name.as_str());
        store.commit(vec![Write::create(key, value)]).await.expect("it must be stored");
    }
    store.list(&Scope::resource("", "configmaps"), None, None).expect("it must be listed").records
}

/// The pieces of a list, which must be one text that says the same as JSON says.
fn pieces(view: View, encoding: Encoding, records: &[Record]) -> (Vec<usize>, Value) {
    let resource = Catalog::new([]).find("", "v1", "configmaps").expect("it must be served").clone();
    let page = (Revision(7), &Page::default());
    let mut list = ListText::new((view, encoding), &resource, records.to_vec(), page, NOW);
    let (mut text, mut lengths) = (Vec::new(), Vec::new());
    while !list.is_done() {
        let (piece, is_whole) = list.piece(&list.budget(1_000_000));
        assert!(is_whole && piece.len() < list.held_bytes());
        lengths.push(piece.len());
        text.extend(piece);
        list.advance();
    }
    let value = match encoding {
        Encoding::Yaml => serde_saphyr::from_slice(&text).expect("it must be YAML"),
        _ => serde_json::from_slice(&text).expect("it must be JSON"),
    };
    (lengths, value)
}

#[tokio::test]
async fn pieces_are_one_text_in_every_form_and_none_grows_with_the_list() {
    for (count, bytes) in [(0, 0), (1, 10), (3, 10), (300, 2_000), (10, 200_000)] {
        let records = records(count, bytes).await;
        for view in [View::Full, View::Metadata(MetaVersion::V1), TABLE] {
            let (lengths, json) = pieces(view, Encoding::Json, &records);
            let (_, yaml) = pieces(view, Encoding::Yaml, &records);
            assert_eq!(json, yaml, "{view:?}");
            let member = if view == TABLE { "rows" } else { "items" };
            assert_eq!(json[member].as_array().map(Vec::len), Some(count), "{view:?}");
            assert_eq!(json["metadata"]["resourceVersion"], "7");
            assert!(lengths.len() >= count * bytes / (PIECE_BYTES + bytes), "{view:?} {lengths:?}");
            assert!(lengths.iter().all(|length| *length < piece_bytes(bytes.max(PIECE_BYTES))), "{lengths:?}");
        }
    }
}
