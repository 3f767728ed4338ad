//! Known rollouts, told as stories. `UPDATE_GOLDEN=1` writes the stories anew; the diff shows what has changed.

use std::path::{Path, PathBuf};

use refit_plan::simulation::{Scenario, Trace, run, story};

fn scenarios(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(!files.is_empty(), "{} has no scenarios", folder.display());
    files
}

fn play(file: &Path) -> (Scenario, Trace) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let scenario = Scenario::from_yaml(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let trace = run(&scenario).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(trace.is_settled && trace.last.violations.is_empty(), "{}", story(&scenario, &trace));
    (scenario, trace)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a switch for people who run the test, not for what is tested")]
fn rollouts_are_told_as_before() {
    let is_update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for file in scenarios("golden") {
        let (scenario, trace) = play(&file);
        let (told, golden) = (story(&scenario, &trace), file.with_extension("txt"));
        if is_update {
            std::fs::write(&golden, &told).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(told, expected, "{} has changed; UPDATE_GOLDEN=1 accepts it", golden.display());
    }
}

#[test]
fn rollouts_that_went_wrong_once_stay_right() {
    for file in scenarios("regressions") {
        play(&file);
    }
}

/// The line that the format was specified with.
#[test]
fn a_line_is_printed_as_specified() {
    let text = "{maxSurge: 1, replicas: 3, template: v2, inPlace: true, keepOriginals: false, machineSets: \
                [{name: ms1, template: v1, machines: [m1, m2, m3]}], schedule: [md, ms2, md, ms1]}";
    let trace = run(&Scenario::from_yaml(text).unwrap()).unwrap();
    let expected = r#"{"iteration":4,"reconcile":"ms1","machineSets":[{"name":"ms1","specReplicas":2,"replicas":2,"available":2,"upToDate":0,"machines":["m2","m3"],"updating":[],"pendingAcknowledge":[],"deleting":[]},{"name":"ms2","specReplicas":1,"replicas":1,"available":1,"upToDate":1,"machines":["m1","m4"],"updating":["m1"],"pendingAcknowledge":["m1"],"deleting":[]}],"created":[],"deleted":[],"moved":[{"machine":"m1","from":"ms1","to":"ms2"}],"notes":[]}"#;
    assert_eq!(serde_json::to_string(&trace.lines[3]).unwrap(), expected);
    let last = serde_json::to_value(&trace.last).unwrap();
    assert_eq!(last["iterations"], trace.lines.len());
    assert_eq!(last["final"]["machineSets"][1]["machines"], serde_json::json!(["m1", "m2", "m4"]));
    assert!(last["violations"].as_array().unwrap().is_empty());
}
