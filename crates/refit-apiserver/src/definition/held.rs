//! What a definition holds in memory for as long as it is there.

use serde_json::Value;

use crate::budget::{EXPRESSION_BYTES_PER_BYTE, SCHEMA_NODE_BYTES, VALUE_BYTES};

/// What is made of a definition takes up at most so much: nodes of schemas, compiled rules, defaults, and the text for OpenAPI.
/// Regular expressions are kept elsewhere, within a bound of their own.
pub fn held_bytes(definition: &Value) -> usize {
    match definition {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE_BYTES,
        // Once where it is used, and once in the document.
        Value::String(text) => VALUE_BYTES + 2 * text.len(),
        Value::Array(items) => VALUE_BYTES + items.iter().map(held_bytes).sum::<usize>(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let expression = match (name.as_str(), value) {
                    ("rule" | "messageExpression", Value::String(text)) => EXPRESSION_BYTES_PER_BYTE * text.len(),
                    _ => 0,
                };
                2 * name.len() + expression + held_bytes(value)
            };
            SCHEMA_NODE_BYTES + members.iter().map(member).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use refit_api::crd;

    use super::*;
    use crate::budget::{CLUSTER_DEFINITIONS_BYTES, DEFINITION_HELD_BYTES};
    use crate::schema::Schema;

    #[test]
    fn a_node_is_not_larger_than_it_counts() {
        assert!(size_of::<Schema>() + 3 * size_of::<(String, usize)>() <= SCHEMA_NODE_BYTES, "{}", size_of::<Schema>());
    }

    #[test]
    fn all_that_cluster_api_defines_has_room_ten_times() {
        let held: Vec<usize> = crd::all().iter().map(held_bytes).collect();
        assert!(held.iter().all(|held| held * 10 <= DEFINITION_HELD_BYTES), "{held:?}");
        assert!(held.iter().sum::<usize>() * 10 <= CLUSTER_DEFINITIONS_BYTES, "{held:?}");
    }
}
