//! Decides how a running host is changed. Pure.
//!
//! The way of a change is in the status of the SimMachine, so that it goes on where it was when a process ends.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_examples::host::HostChange;

use crate::kinds::{SimAttempt, SimHost, SimMachineSpec, SimMachineStatus};
use crate::machine::{after, seconds};

/// The next step of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeStep {
    /// The host is as it should be.
    Done,
    /// Write the status, if nobody has changed the object since, and ask again.
    Write(Box<SimMachineStatus>),
    /// Write the status; this attempt has failed.
    Fail(Box<SimMachineStatus>, String),
    /// It takes until then.
    WaitUntil(Timestamp),
    /// There is no host to be changed.
    NoHost,
    /// The host is dead.
    Unreachable,
}

/// The next step towards a changed host.
///
/// # Guarantees
/// The host keeps its identity and its disk. A change that is there already is done.
pub fn decide(spec: &SimMachineSpec, status: &SimMachineStatus, change: &HostChange, now: Timestamp) -> ChangeStep {
    let Some(host) = &status.host else { return ChangeStep::NoHost };
    let changed = changed(host, spec, change);
    if changed == *host {
        return ChangeStep::Done;
    }
    if spec.failures.is_dead() {
        return ChangeStep::Unreachable;
    }
    let takes = seconds(spec.update_seconds);
    let what = words(change);
    match status.update.as_ref().filter(|update| update.what.as_ref() == Some(&what)) {
        None if !takes.is_zero() => {
            let update = SimAttempt { what: Some(what), start_time: Time(now), failures: None };
            ChangeStep::Write(Box::new(SimMachineStatus { update: Some(update), ..status.clone() }))
        }
        Some(update) if now < after(update.start_time.0, takes) => {
            ChangeStep::WaitUntil(after(update.start_time.0, takes))
        }
        _ => finish(spec, status, SimHost { start_time: Some(Time(now)), ..changed }),
    }
}

fn finish(spec: &SimMachineSpec, status: &SimMachineStatus, host: SimHost) -> ChangeStep {
    let failed = status.failed_updates.unwrap_or(0);
    let wanted = spec.failures.update.unwrap_or(0);
    let over = SimMachineStatus { update: None, ..status.clone() };
    if failed < wanted {
        let words = format!("the simulated host refused the change, as it was told to: {} of {wanted}", failed + 1);
        return ChangeStep::Fail(Box::new(SimMachineStatus { failed_updates: Some(failed + 1), ..over }), words);
    }
    ChangeStep::Write(Box::new(SimMachineStatus { host: Some(host), ..over }))
}

/// The host after the change. A version comes with the image that the spec names; a new image or memory takes a restart.
fn changed(host: &SimHost, spec: &SimMachineSpec, change: &HostChange) -> SimHost {
    let mut new = host.clone();
    match change {
        HostChange::Memory(memory) => new.memory.clone_from(memory),
        HostChange::Version(version) => {
            new.kubernetes_version = Some(version.clone());
            new.image.clone_from(&spec.image);
        }
    }
    if new.memory != host.memory || new.image != host.image {
        new.boot_count = host.boot_count.saturating_add(1);
    }
    new
}

fn words(change: &HostChange) -> String {
    match change {
        HostChange::Memory(memory) => format!("memory {memory}"),
        HostChange::Version(version) => format!("version {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::SimFailures;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a small number must be a timestamp")
    }

    fn host() -> SimHost {
        SimHost {
            id: "host-1".to_owned(),
            disk_id: "disk-1".to_owned(),
            boot_count: 1,
            cpus: 2,
            memory: "8Gi".to_owned(),
            image: Some("one".to_owned()),
            kubernetes_version: Some("v1.34.0".to_owned()),
            start_time: None,
        }
    }

    fn memory(amount: &str) -> HostChange {
        HostChange::Memory(amount.to_owned())
    }

    /// Plays a change second by second. Gives when it was over, how, and the host.
    fn play(spec: &SimMachineSpec, status: &mut SimMachineStatus, change: &HostChange) -> (i64, Result<(), String>) {
        let mut now = 0;
        loop {
            match decide(spec, status, change, at(now)) {
                ChangeStep::Done => return (now, Ok(())),
                ChangeStep::Write(new) => *status = *new,
                ChangeStep::Fail(new, why) => {
                    *status = *new;
                    return (now, Err(why));
                }
                ChangeStep::WaitUntil(_) => now += 1,
                ChangeStep::NoHost => return (now, Err("no host".to_owned())),
                ChangeStep::Unreachable => return (now, Err("unreachable".to_owned())),
            }
        }
    }

    #[test]
    fn a_change_keeps_the_host_and_its_disk() {
        let spec = SimMachineSpec { image: Some("two".to_owned()), ..SimMachineSpec::default() };
        let cases = [
            (
                memory("16Gi"),
                SimHost { memory: "16Gi".to_owned(), boot_count: 2, start_time: Some(Time(at(0))), ..host() },
            ),
            (memory("8Gi"), host()),
            (
                HostChange::Version("v1.35.0".to_owned()),
                SimHost {
                    kubernetes_version: Some("v1.35.0".to_owned()),
                    image: Some("two".to_owned()),
                    boot_count: 2,
                    start_time: Some(Time(at(0))),
                    ..host()
                },
            ),
        ];
        for (change, expected) in cases {
            let mut status = SimMachineStatus { host: Some(host()), ..SimMachineStatus::default() };
            assert_eq!(play(&spec, &mut status, &change), (0, Ok(())));
            assert_eq!(status, SimMachineStatus { host: Some(expected), ..SimMachineStatus::default() });
        }
    }

    #[test]
    fn a_change_takes_its_time_and_fails_as_often_as_told() {
        let failures = SimFailures { update: Some(1), ..SimFailures::default() };
        let spec = SimMachineSpec { update_seconds: Some(3), failures, ..SimMachineSpec::default() };
        let mut status = SimMachineStatus { host: Some(host()), ..SimMachineStatus::default() };
        let (time, failed) = play(&spec, &mut status, &memory("16Gi"));
        assert_eq!((time, failed.is_err(), status.host.as_ref()), (3, true, Some(&host())));
        assert_eq!(play(&spec, &mut status, &memory("16Gi")), (3, Ok(())));
        assert_eq!(status.host.map(|host| host.memory).as_deref(), Some("16Gi"));
    }

    #[test]
    fn another_change_does_not_use_the_time_of_the_one_before() {
        let spec = SimMachineSpec { update_seconds: Some(3), ..SimMachineSpec::default() };
        let what = Some("memory 16Gi".to_owned());
        let update = Some(SimAttempt { what, start_time: Time(at(-3)), failures: None });
        let mut status = SimMachineStatus { host: Some(host()), update, ..SimMachineStatus::default() };
        assert_eq!(play(&spec, &mut status, &memory("32Gi")), (3, Ok(())));
    }

    #[test]
    fn a_dead_host_is_not_changed() {
        let failures = SimFailures { dead: Some(true), ..SimFailures::default() };
        let spec = SimMachineSpec { failures, ..SimMachineSpec::default() };
        let status = SimMachineStatus { host: Some(host()), ..SimMachineStatus::default() };
        assert_eq!(decide(&spec, &status, &memory("16Gi"), at(0)), ChangeStep::Unreachable);
        assert_eq!(decide(&spec, &status, &memory("8Gi"), at(0)), ChangeStep::Done, "it is there already");
    }

    #[test]
    fn without_a_host_there_is_nothing_to_change() {
        let (spec, status) = (SimMachineSpec::default(), SimMachineStatus::default());
        assert_eq!(decide(&spec, &status, &memory("16Gi"), at(0)), ChangeStep::NoHost);
    }
}
