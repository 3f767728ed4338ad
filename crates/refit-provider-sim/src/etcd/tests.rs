//! What etcd allows, and what it refuses.

use proptest::prelude::*;

use super::*;

fn report(host: &str, state: MemberState) -> MemberReport {
    let text = |prefix: &str| format!("{prefix}-{host}");
    MemberReport { name: text("node"), host: text("host"), process: "1".to_owned(), state }
}

const UP: MemberState = MemberState::Up(None);

/// An etcd whose hosts have reported this, one after another.
fn etcd(reports: &[(&str, MemberState)]) -> SimEtcd {
    reports.iter().fold(SimEtcd::default(), |etcd, (host, state)| {
        etcd.observe(&report(host, *state)).expect("it must be taken in")
    })
}

fn id(etcd: &SimEtcd, host: &str) -> u64 {
    let found = etcd.members.iter().find(|member| member.name == format!("node-{host}"));
    found.expect("there must be such a member").id
}

fn leader(etcd: &SimEtcd) -> Option<&str> {
    etcd.members.iter().find(|member| Some(member.id) == etcd.leader).map(|member| member.name.as_str())
}

#[test]
fn the_first_member_leads_and_the_others_join() {
    let one = etcd(&[("a", UP)]);
    assert_eq!(leader(&one), Some("node-a"));
    let three = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    assert_eq!((leader(&three), three.members().map(<[_]>::len)), (Some("node-a"), Ok(3)));
    assert!(three.members.iter().all(|member| member.has_started && !member.is_learner));
    assert_eq!(three.observe(&report("b", UP)), Ok(three.clone()), "nothing new");
}

#[test]
fn who_has_not_started_is_a_learner_and_votes_once_it_runs() {
    let starting = etcd(&[("a", UP), ("b", MemberState::Down)]);
    assert!(starting.members[1].is_learner && !starting.members[1].has_started);
    assert_eq!(starting.members().map(<[_]>::len), Ok(2), "a learner does not count for the quorum");
    let started = starting.observe(&report("b", UP)).expect("it must start");
    assert!(!started.members[1].is_learner && started.members[1].has_started);
    let unreachable = etcd(&[("a", UP), ("b", MemberState::Unreachable)]);
    assert_eq!(unreachable.members.len(), 1, "a host that does not answer cannot join");
}

#[test]
fn without_a_quorum_nothing_answers_and_nothing_can_be_changed() {
    let whole = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    let two = whole.lose_host("host-a");
    assert_eq!((leader(&two).is_some(), two.members().map(<[_]>::len)), (true, Ok(3)), "the lost member stays");
    let one = two.lose_host("host-b");
    let refused = EtcdRefusal::NoQuorum { up: 1, voters: 3, quorum: 2 };
    assert_eq!(one.leader, None);
    assert_eq!(one.members(), Err(refused.clone()));
    assert_eq!(one.remove(id(&one, "a")), Err(refused.clone()));
    assert_eq!(one.move_leader(id(&one, "c")), Err(refused.clone()));
    assert_eq!(one.observe(&report("d", UP)), Err(refused));
    let lost = one.lose_host("host-c");
    let again = lost.observe(&report("d", UP)).expect("a new etcd must begin");
    assert_eq!((again.members.len(), leader(&again)), (1, Some("node-d")));
}

#[test]
fn a_member_goes_only_where_the_others_keep_a_quorum() {
    let three = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    let two = three.remove(id(&three, "a")).expect("two of three must remain");
    assert!(leader(&two).is_some() && two.members.len() == 2);
    let one = two.remove(id(&two, "b")).expect("one of two must remain");
    let last = EtcdRefusal::LastVoter { name: "node-c".to_owned() };
    assert_eq!(one.remove(id(&one, "c")), Err(last));
    let degraded = three.lose_host("host-a");
    let refused = EtcdRefusal::WouldLoseQuorum { name: "node-b".to_owned() };
    assert_eq!(degraded.remove(id(&degraded, "b")), Err(refused));
    assert!(degraded.remove(id(&degraded, "a")).is_ok(), "who is lost may go");
    assert_eq!(three.remove(7), Err(EtcdRefusal::UnknownMember { id: 7 }));
}

#[test]
fn a_removed_member_does_not_come_back_while_its_host_is_there() {
    let three = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    let two = three.remove(id(&three, "c")).expect("two of three must remain");
    assert_eq!(two.observe(&report("c", UP)), Ok(two.clone()));
    let gone = two.lose_host("host-c");
    assert!(gone.removed_hosts.is_empty() && gone.members.len() == 2);
}

#[test]
fn leadership_moves_by_request_and_leaves_a_process_that_ends() {
    let three = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    let moved = three.move_leader(id(&three, "c")).expect("c must lead");
    assert_eq!(leader(&moved), Some("node-c"));
    let restarted = moved.observe(&MemberReport { process: "2".to_owned(), ..report("c", UP) });
    let restarted = restarted.expect("it must be taken in");
    assert!(leader(&restarted).is_some_and(|leader| leader != "node-c"));
    assert_eq!(restarted.members().map(<[_]>::len), Ok(3));
    let follower = moved.observe(&MemberReport { process: "2".to_owned(), ..report("a", UP) });
    assert_eq!(follower.map(|etcd| etcd.leader), Ok(moved.leader), "a follower takes nothing with it");
    let learner = three.observe(&report("d", MemberState::Down)).expect("it must join");
    let refused = EtcdRefusal::CannotLead { name: "node-d".to_owned() };
    assert_eq!(learner.move_leader(id(&learner, "d")), Err(refused));
    let alone = etcd(&[("a", UP)]).observe(&MemberReport { process: "2".to_owned(), ..report("a", UP) });
    assert_eq!(alone.as_ref().map(leader), Ok(Some("node-a")), "who is alone leads again");
}

#[test]
fn a_member_that_is_missing_joins_as_another_one() {
    let three = etcd(&[("a", UP), ("b", UP), ("c", UP)]);
    let two = three.observe(&report("c", MemberState::Missing)).expect("it must be taken in");
    assert_eq!(two.members.len(), 2);
    let again = two.observe(&report("c", MemberState::Up(Some(SimEtcdAlarm::NoSpace)))).expect("it must join");
    assert_ne!(id(&three, "c"), id(&again, "c"));
    assert_eq!(again.members[2].alarm, Some(SimEtcdAlarm::NoSpace));
}

/// Something that happens to an etcd.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Report(u8, MemberState),
    Restart(u8),
    LoseHost(u8),
    Remove(u8),
    Move(u8),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let host = 0..6_u8;
    let state = prop_oneof![4 => Just(UP), 1 => Just(MemberState::Down), 1 => Just(MemberState::Unreachable)];
    let one = prop_oneof![
        6 => (host.clone(), state).prop_map(|(host, state)| Happening::Report(host, state)),
        1 => host.clone().prop_map(Happening::Restart),
        1 => host.clone().prop_map(Happening::LoseHost),
        3 => host.clone().prop_map(Happening::Remove),
        2 => host.prop_map(Happening::Move),
    ];
    prop::collection::vec(one, 0..60)
}

fn happen(etcd: &SimEtcd, happening: Happening) -> Result<SimEtcd, EtcdRefusal> {
    let member = |at: u8| etcd.members.get(usize::from(at)).map_or(7, |member| member.id);
    match happening {
        Happening::Report(host, state) => etcd.observe(&report(&host.to_string(), state)),
        Happening::Restart(host) => {
            etcd.observe(&MemberReport { process: etcd.term.to_string(), ..report(&host.to_string(), UP) })
        }
        Happening::LoseHost(host) => Ok(etcd.lose_host(&format!("host-{host}"))),
        Happening::Remove(at) => etcd.remove(member(at)),
        Happening::Move(at) => etcd.move_leader(member(at)),
    }
}

/// Counts as a textbook does. Knows nothing of how changes come to be.
fn has_majority(etcd: &SimEtcd) -> bool {
    let voters = etcd.members.iter().filter(|member| !member.is_learner);
    let (all, up) = voters.fold((0, 0), |(all, up), voter| (all + 1, up + usize::from(voter.is_up)));
    up * 2 > all
}

proptest! {
    #[test]
    fn no_change_that_etcd_allows_breaks_its_quorum(happenings in happenings()) {
        let mut etcd = SimEtcd::default();
        for happening in happenings {
            let before = etcd.clone();
            let Ok(after) = happen(&etcd, happening) else { continue };
            etcd = after;
            let is_asked_of_etcd = matches!(happening, Happening::Remove(_) | Happening::Move(_) | Happening::Report(_, UP));
            if is_asked_of_etcd && has_majority(&before) {
                prop_assert!(has_majority(&etcd), "{happening:?} broke {before:?}");
            }
            let leads = etcd.members.iter().find(|member| Some(member.id) == etcd.leader);
            prop_assert_eq!(has_majority(&etcd), leads.is_some_and(|one| one.is_up && !one.is_learner), "{:?}", &etcd);
            let hosts: Vec<&String> = etcd.members.iter().map(|one| &one.host).filter(|host| !host.is_empty()).collect();
            let distinct: BTreeSet<&&String> = hosts.iter().collect();
            prop_assert_eq!(hosts.len(), distinct.len(), "two members on one host");
            prop_assert!(hosts.iter().all(|host| !etcd.removed_hosts.contains(*host)));
            if !matches!(happening, Happening::Remove(_) | Happening::Report(..) | Happening::Restart(_)) {
                prop_assert_eq!(etcd.members.len(), before.members.len(), "only who is removed goes");
            }
            if let Happening::Report(host, state) = happening {
                let again = etcd.observe(&report(&host.to_string(), state));
                prop_assert_eq!(again, Ok(etcd.clone()), "twice equals once");
            }
        }
    }
}
