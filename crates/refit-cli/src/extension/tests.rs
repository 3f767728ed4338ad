use clap::Parser;
use refit_sdk::{Claims, Extension, MachineUpdate, Paths, Progress, Server, ServerOptions, UpdateFailure, Updater};

use crate::{Arguments, run};

/// What is printed, and the exit code.
fn extension(arguments: &[&str]) -> (String, u8) {
    let words = ["refit", "extension"].into_iter().chain(arguments.iter().copied());
    let arguments = Arguments::try_parse_from(words).expect("the arguments must be right");
    let mut out = Vec::new();
    let code = run(arguments, &mut out).map_or_else(|error| error.exit_code(), |()| 0);
    (String::from_utf8(out).expect("text must be printed"), code)
}

struct Sample(&'static str);

impl Updater for Sample {
    fn claims(&self) -> Claims {
        let word = self.0;
        Claims::decided(move |change| match word {
            // Says something else about machines without a bootstrap config.
            "broken" if change.bootstrap.is_none() => panic!("no bootstrap config"),
            _ => Ok(Paths::none().machine("spec.version")),
        })
    }

    async fn update(&self, _: MachineUpdate) -> Result<Progress, UpdateFailure> {
        Ok(Progress::Done)
    }
}

/// Serves an extension on a thread of its own for the rest of the test.
fn served(word: &'static str) -> String {
    let (say, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
        runtime.block_on(async {
            let extension = Extension::builder(Sample(word)).build().expect("the extension must be right");
            let server = Server::bind(extension, ServerOptions::local()).await.expect("the server must listen");
            say.send(format!("http://{}", server.address().expect("it is known"))).expect("the test must listen");
            server.run(std::future::pending()).await;
        });
    });
    said.recv().expect("the server must start")
}

#[test]
fn a_report_is_printed_and_broken_rules_have_their_own_code() {
    let url = served("right");
    let (text, code) = extension(&["check", "--insecure-plain-http", &url]);
    assert!(code == 0 && text.contains("\n0 broken, 0 warnings, "), "{text}");
    let url = served("broken");
    let arguments = ["check", "--insecure-plain-http", "--handler", "can-update-machine", "-o", "json", &url];
    let (text, code) = extension(&arguments);
    let report: serde_json::Value = serde_json::from_str(&text).expect("it must be JSON");
    let broken = report["findings"].as_array().into_iter().flatten().find(|finding| finding["outcome"] == "broken");
    assert_eq!((code, broken.map(|finding| finding["id"].as_str())), (5, Some(Some("missing-bootstrap"))), "{text}");
}

#[test]
fn nobody_there_and_a_wrong_command_line_have_other_codes() {
    assert_eq!(extension(&["check", "--insecure-plain-http", "http://127.0.0.1:1"]), (String::new(), 6));
    assert_eq!(extension(&["check", "http://127.0.0.1:1"]), (String::new(), 2));
    assert_eq!(extension(&["check", "https://127.0.0.1:1", "--ca-file", "/no/such/file"]), (String::new(), 2));
    assert_eq!(extension(&["check", "https://127.0.0.1:1", "--sample", "/no/such/file"]), (String::new(), 1));
    assert_eq!(extension(&["new", "Not-A-Name"]), (String::new(), 2));
}

#[test]
fn a_new_extension_is_written_once() {
    let folder = std::env::temp_dir().join(format!("refit-new-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder must be made");
    let directory = folder.to_string_lossy().into_owned();
    let arguments = ["new", "mine", "--directory", &directory, "--sdk-path", "sdk"];
    let (text, code) = extension(&arguments);
    let again = extension(&arguments);
    let manifest = std::fs::read_to_string(folder.join("mine/Cargo.toml")).expect("it must be written");
    std::fs::remove_dir_all(&folder).expect("the folder must go");
    assert!(code == 0 && text.contains("src/main.rs\n"), "{text}");
    assert!(manifest.contains("refit-sdk = { path = \"/"), "a relative path must become absolute: {manifest}");
    assert_eq!(again, (String::new(), 1));
}
