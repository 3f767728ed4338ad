//! `refit demo` as a process: what it shows is true, and its exit code says so.

use std::process::{Child, Command, Stdio};

use refit_plane::demo::Demo;

fn start(demo: Demo) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refit"));
    command.args(["demo", demo.name()]).stdout(Stdio::piped()).spawn().expect("refit must run")
}

#[test]
fn every_demonstration_shows_what_it_should() {
    // All at a time: mostly they wait.
    let running = Demo::ALL.map(|demo| (demo, start(demo)));
    for (demo, process) in running {
        let output = process.wait_with_output().expect("it must end");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{demo}: {told}");
        assert!(told.contains("all as it should be") && !told.contains("WRONG"), "{demo}: {told}");
    }
}
