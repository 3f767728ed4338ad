//! `refit crds`: all CRDs, or those of the kinds that were named.

use refit_api::crd;
use serde_json::Value;

use crate::Error;

/// The CRDs of the named kinds, each once and in the order of [`crd::all`]; of all kinds when none is named.
pub fn select(names: &[String]) -> Result<Vec<Value>, Error> {
    let all = crd::all();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|crd| is_called(crd, name))) {
        let known = all.iter().filter_map(|crd| crd["spec"]["names"]["plural"].as_str().map(str::to_owned)).collect();
        return Err(Error::UnknownKind { name: unknown.clone(), known });
    }
    let wanted = |crd: &Value| names.is_empty() || names.iter().any(|name| is_called(crd, name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Whether kubectl would know the kind by this name.
fn is_called(crd: &Value, name: &str) -> bool {
    let names = &crd["spec"]["names"];
    let short_names = names["shortNames"].as_array().into_iter().flatten();
    let mut known =
        [&names["kind"], &names["plural"], &names["singular"], &crd["metadata"]["name"]].into_iter().chain(short_names);
    known.any(|known| known.as_str().is_some_and(|known| known.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &[&str]) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let found = select(&names).expect("the names must be known");
        let found: Vec<&str> = found.iter().filter_map(|crd| crd["spec"]["names"]["kind"].as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_kind_is_found_by_every_name_that_kubectl_knows() {
        for name in ["Machine", "machine", "machines", "ma", "machines.cluster.x-k8s.io"] {
            check(&[name], &["Machine"]);
        }
        check(&["md", "MachineDeployment"], &["MachineDeployment"]);
    }

    #[test]
    fn no_names_select_all() {
        assert_eq!(select(&[]).expect("all must be selected").len(), crd::all().len());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = select(&["machin".to_owned()]).expect_err("there must be no such kind").to_string();
        assert!(error.contains("\"machin\"") && error.contains("machinedeployments"), "{error}");
    }
}
