//! Runs a control plane until its stdin closes, for people who want to look around and for the tests of the watchdog.

use std::error::Error;
use std::io::Read;

use refit_peers::{ControlPlane, Options, Peers, Program};

fn main() -> Result<(), Box<dyn Error>> {
    let peers = Peers::find_or_build()?;
    let controllers = peers.path(Program::KubeControllerManager).is_some();
    let control_plane = ControlPlane::start(&peers, Options { controllers, ..Options::default() })?;
    println!("KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("process group {}", control_plane.process_group());
    eprintln!("end with Ctrl-D");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
