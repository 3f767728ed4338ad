//! Starts that cannot succeed.

use std::net::{Ipv4Addr, TcpListener};

use super::*;
use crate::require_peers;

/// Starts on ports of which one is taken: the failure must be one after which others are tried.
fn check_taken(take: fn(&mut Ports, u16)) {
    let Some(peers) = require_peers() else { return };
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut ports = Ports::pick().unwrap();
    take(&mut ports, taken.local_addr().unwrap().port());
    let programs = Programs::of(&peers, Options::default()).unwrap();
    let error = ControlPlane::start_on(&programs, ports).unwrap_err();
    assert!(error.is_port_taken(), "{error}");
}

#[test]
fn taken_port_of_kube_apiserver_is_recognised() {
    check_taken(|ports, taken| ports.apiserver = taken);
}

#[test]
fn taken_port_of_etcd_is_recognised() {
    check_taken(|ports, taken| ports.etcd_clients = taken);
    check_taken(|ports, taken| ports.etcd_peers = taken);
}

#[test]
fn failed_start_quotes_the_log() {
    let Some(peers) = require_peers() else { return };
    let mut programs = Programs::of(&peers, Options::default()).unwrap();
    // kubectl does not know the arguments of kube-apiserver, says so, and ends.
    programs.apiserver = programs.kubectl;
    let error = ControlPlane::start_on(&programs, Ports::pick().unwrap()).unwrap_err();
    assert!(error.to_string().contains("unknown flag: --etcd-servers"), "{error}");
    assert!(!error.is_port_taken());
}
