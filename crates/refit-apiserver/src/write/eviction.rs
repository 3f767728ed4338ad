//! Evictions: deletions of pods that disruption budgets may forbid.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::prepare::time;
use crate::metadata::{is_being_deleted, text};
use crate::status::{Qualified, Status};

/// How many evictions a budget remembers that its controller has not confirmed.
const MAX_UNCONFIRMED: usize = 2_000;
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// What an eviction that is allowed does besides deleting the pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Permission {
    /// Nothing: no budget counts the pod.
    Free,
    /// The budget allows one disruption less, and is now this.
    Spends(Value),
}

/// Decides whether a pod may be evicted, by the budgets that select it.
pub fn judge(pod: &Value, budgets: &[&Value], now: Timestamp) -> Result<Permission, Status> {
    let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"));
    if is_over || is_being_deleted(pod) {
        return Ok(Permission::Free);
    }
    match budgets {
        [] => Ok(Permission::Free),
        [budget] if !is_ready(pod) && lets_unready_go(budget) => Ok(Permission::Free),
        [budget] => spend(budget, text(pod, "name"), now).map(Permission::Spends),
        _ => Err(Status::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            None,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )),
    }
}

/// Whether a budget selects a pod.
pub fn selects(budget: &Value, pod: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    let labels = &pod["metadata"]["labels"];
    let has_labels = || {
        let wanted = selector["matchLabels"].as_object().into_iter().flatten();
        wanted.into_iter().all(|(name, value)| labels.get(name) == Some(value))
    };
    let expressions = || selector["matchExpressions"].as_array().into_iter().flatten();
    selector.is_object() && has_labels() && expressions().all(|expression| holds(expression, labels))
}

fn holds(expression: &Value, labels: &Value) -> bool {
    let value = labels.get(expression["key"].as_str().unwrap_or_default());
    let is_among = || value.is_some_and(|value| expression["values"].as_array().is_some_and(|set| set.contains(value)));
    match expression["operator"].as_str() {
        Some("In") => is_among(),
        Some("NotIn") => !is_among(),
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        _ => false,
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// A pod that does not work anyway may go when the budget says so, or while enough others work.
fn lets_unready_go(budget: &Value) -> bool {
    let (healthy, wanted) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || (healthy >= wanted && wanted > 0)
}

fn count(budget: &Value, name: &str) -> i64 {
    budget["status"][name].as_i64().unwrap_or(0)
}

fn spend(budget: &Value, pod: &str, now: Timestamp) -> Result<Value, Status> {
    let name = text(budget, "name");
    let about = Qualified { group: "policy", name: "poddisruptionbudget" };
    if count(budget, "observedGeneration") < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        let message = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refusal(10, &message));
    }
    let left = count(budget, "disruptionsAllowed");
    if left < 0 {
        return Err(Status::forbidden(about, name, "pdb disruptions allowed is negative"));
    }
    if budget["status"]["disruptedPods"].as_object().is_some_and(|pods| pods.len() > MAX_UNCONFIRMED) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(about, name, why));
    }
    if left == 0 {
        return Err(refusal(0, &exhausted(budget, name)));
    }
    let mut budget = budget.clone();
    budget["status"]["disruptionsAllowed"] = (left - 1).into();
    budget["status"]["disruptedPods"][pod] = time(now);
    Ok(budget)
}

fn exhausted(budget: &Value, name: &str) -> String {
    let conditions = budget["status"]["conditions"].as_array().into_iter().flatten();
    let mut allowed = conditions.into_iter().filter(|condition| condition["type"] == "DisruptionAllowed");
    let said = allowed.next().filter(|condition| condition["status"] == "False");
    let said = said.map(|said| [&said["reason"], &said["message"]].map(|part| part.as_str().unwrap_or_default()));
    let (healthy, wanted) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    match said {
        Some(["SyncFailed", message]) if !message.is_empty() => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
            )
        }
        _ if healthy <= wanted => {
            format!("The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently")
        }
        Some([reason, message]) if !message.is_empty() => {
            format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}")
        }
        _ => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

fn refusal(retry_after_seconds: u32, message: &str) -> Status {
    let causes = json!([{"reason": "DisruptionBudget", "message": message}]);
    let status = Status::new(StatusCode::TOO_MANY_REQUESTS, Some("TooManyRequests"), REFUSED).with("causes", causes);
    if retry_after_seconds > 0 { status.with("retryAfterSeconds", retry_after_seconds) } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pod: Value, budgets: &[Value], expected: &str) {
        let budgets: Vec<&Value> = budgets.iter().collect();
        let found = match judge(&pod, &budgets, Timestamp::UNIX_EPOCH) {
            Ok(Permission::Free) => "free".to_owned(),
            Ok(Permission::Spends(budget)) => format!("{} left", budget["status"]["disruptionsAllowed"]),
            Err(status) => {
                let cause = status.to_json()["details"]["causes"][0]["message"].clone();
                cause.as_str().map_or(status.message, str::to_owned)
            }
        };
        assert_eq!(found, expected, "{pod}");
    }

    fn budget(status: Value) -> Value {
        json!({"metadata": {"name": "b", "generation": 1}, "spec": {}, "status": status})
    }

    #[test]
    fn a_budget_without_disruptions_left_refuses() {
        let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let some = budget(json!({"observedGeneration": 1, "disruptionsAllowed": 2}));
        let none = budget(json!({"observedGeneration": 1, "desiredHealthy": 2, "currentHealthy": 2}));
        check(ready.clone(), &[], "free");
        check(ready.clone(), std::slice::from_ref(&some), "1 left");
        check(
            ready.clone(),
            std::slice::from_ref(&none),
            "The disruption budget b needs 2 healthy pods and has 2 currently",
        );
        check(ready.clone(), &[budget(json!({}))], "The disruption budget b is still being processed by the server.");
        check(
            ready,
            &[some, none.clone()],
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        );
        check(json!({"status": {"phase": "Running"}}), std::slice::from_ref(&none), "free");
        check(json!({"status": {"phase": "Failed"}}), &[none], "free");
    }

    #[test]
    fn budgets_select_by_labels_and_expressions() {
        let pod = json!({"metadata": {"labels": {"a": "1"}}});
        let check = |selector: Value, expected: bool| {
            assert_eq!(selects(&json!({"spec": {"selector": selector}}), &pod), expected);
        };
        check(json!({}), true);
        check(Value::Null, false);
        check(json!({"matchLabels": {"a": "1"}}), true);
        check(json!({"matchLabels": {"a": "2"}}), false);
        check(json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}), true);
        check(json!({"matchExpressions": [{"key": "b", "operator": "Exists"}]}), false);
        check(json!({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}), true);
    }
}
