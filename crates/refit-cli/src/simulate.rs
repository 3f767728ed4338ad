//! `refit simulate`: a rollout played through, from flags or from a scenario file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::policy::InPlacePolicy;
use refit_plan::simulation::{self, Scenario, Strategy, Trace};

use crate::{Error, write};

/// Without a file, machines m1, m2, … of template v1 are rolled out to v2.
#[derive(Debug, Args)]
pub struct Simulate {
    /// A scenario file, `-` for standard input
    #[arg(conflicts_with_all = ["replicas", "max_surge", "max_unavailable", "in_place", "policy", "keep_originals", "on_delete", "seed"])]
    file: Option<PathBuf>,
    /// How many machines there are and stay
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(i32).range(0..=i64::from(simulation::MAX_REPLICAS)))]
    replicas: i32,
    /// How many machines there may be beyond that: a number or a percentage
    #[arg(long, default_value = "1", value_parser = amount)]
    max_surge: IntOrString,
    /// How many machines may be unavailable at a time: a number or a percentage
    #[arg(long, default_value = "0", value_parser = amount)]
    max_unavailable: IntOrString,
    /// Extensions cover every change
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true")]
    in_place: bool,
    /// Prefer, Require or Never: whether machines are updated in place
    #[arg(long, default_value_t)]
    policy: InPlacePolicy,
    /// A surge machine goes again and the originals stay; `false` is upstream's sequence
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    keep_originals: bool,
    /// Machines change when the user deletes them
    #[arg(long)]
    on_delete: bool,
    /// Reconcile in a random order that this number decides
    #[arg(long)]
    seed: Option<u64>,
    /// How the rollout is printed
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

/// How a rollout is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A story
    #[default]
    Text,
    /// One object for each line
    Json,
}

impl Simulate {
    /// Plays the rollout and prints it. A broken invariant, or no end, is an error after all has been printed.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        let scenario = self.file.as_deref().map_or_else(|| Ok(self.scenario()), read)?;
        let trace = simulation::run(&scenario).map_err(Error::Scenario)?;
        let text = match self.output {
            Output::Text => simulation::story(&scenario, &trace),
            Output::Json => json(&trace),
        };
        write(out, &text)?;
        verdict(&trace)
    }

    fn scenario(&self) -> Scenario {
        Scenario {
            strategy: if self.on_delete { Strategy::OnDelete } else { Strategy::RollingUpdate },
            max_surge: self.max_surge.clone(),
            max_unavailable: self.max_unavailable.clone(),
            in_place: self.in_place,
            policy: self.policy,
            keep_originals: self.keep_originals,
            seed: self.seed,
            ..Scenario::simple(self.replicas)
        }
    }
}

pub(crate) fn amount(text: &str) -> Result<IntOrString, String> {
    let amount = text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
    refit_api::int_or_percent::Amount::parse(&amount).map(|_| amount).map_err(|error| error.to_string())
}

fn read(file: &Path) -> Result<Scenario, Error> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|source| Error::Read { file: file.to_owned(), source })?;
    Scenario::from_yaml(&text).map_err(Error::Scenario)
}

fn json(trace: &Trace) -> String {
    let lines = trace.lines.iter().map(serde_json::to_string).chain([serde_json::to_string(&trace.last)]);
    lines.map(|line| line.expect("a trace must be JSON") + "\n").collect()
}

fn verdict(trace: &Trace) -> Result<(), Error> {
    if !trace.is_settled {
        return Err(Error::Unsettled { rounds: simulation::MAX_ROUNDS });
    }
    match trace.last.violations.len() {
        0 => Ok(()),
        count => Err(Error::Violations { count }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::{Arguments, run};

    /// What is printed, and the exit code.
    fn simulate(arguments: &str) -> (String, u8) {
        let words = ["refit", "simulate"].into_iter().chain(arguments.split_whitespace());
        let arguments = Arguments::try_parse_from(words).expect("the arguments must be right");
        let mut out = Vec::new();
        let code = run(arguments, &mut out).map_or_else(|error| error.exit_code(), |()| 0);
        (String::from_utf8(out).expect("text must be printed"), code)
    }

    fn file(name: &str) -> String {
        format!("{}/../refit-plan/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn flags_and_a_file_of_the_same_tell_the_same() {
        let (from_flags, code) = simulate("--replicas 3 --max-surge 1 --max-unavailable 0 --in-place");
        assert_eq!((simulate(&file("kept.yaml")), 0), ((from_flags, code), 0));
        let upstream = simulate("--in-place --keep-originals false -o json");
        assert_eq!(simulate(&format!("{} -o json", file("upstream-surge-1.yaml"))), upstream);
        assert_ne!(simulate("--in-place -o json"), upstream);
    }

    #[test]
    fn json_is_one_object_for_each_line() {
        let (text, code) = simulate("--in-place -o json");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("every line must be JSON")).collect();
        let (last, steps) = lines.split_last().expect("there must be lines");
        assert_eq!((code, last["iterations"].as_u64()), (0, u64::try_from(steps.len()).ok()));
        assert!(steps.iter().zip(1..).all(|(step, number)| step["iteration"] == number));
    }

    #[test]
    fn strategies_and_policies_are_told_apart() {
        assert!(simulate("--on-delete").0.contains("when the user deletes it"));
        assert!(simulate("--policy Never --in-place").0.contains("Updated in place: none"));
        assert!(simulate("--policy Require").0.contains("Created: none. Deleted: none."));
        assert!(simulate("--replicas 4 --max-surge 0 --max-unavailable 50% --in-place").0.contains("Created: none"));
    }

    #[test]
    fn a_rollout_that_takes_too_long_is_printed_and_has_its_own_code() {
        let (text, code) = simulate("--replicas 120 --max-surge 0 --max-unavailable 1 --in-place -o json");
        assert_eq!(code, 4);
        assert!(text.lines().last().is_some_and(|last| last.starts_with("{\"final\":")));
    }

    #[test]
    fn what_is_wrong_has_a_code_and_no_output() {
        assert_eq!(simulate("/nowhere/at/all.yaml"), (String::new(), 1));
        assert_eq!(simulate(&file("kept.txt")), (String::new(), 2));
        assert_eq!(simulate("--max-surge -1".replace(' ', "=").as_str()), (String::new(), 2));
    }

    #[test]
    fn flags_and_a_file_do_not_mix() {
        for flags in ["s.yaml --replicas 3", "s.yaml --in-place", "--replicas -1", "--max-surge many", "--policy never"]
        {
            let words = ["refit", "simulate"].into_iter().chain(flags.split_whitespace());
            assert!(Arguments::try_parse_from(words).is_err(), "{flags}");
        }
    }
}
