//! Transports: how an agent is started on a machine. A transport carries lines and decides nothing.

mod agent_transport;
mod failure;
mod pipes;
mod process;
mod ssh;

use std::path::PathBuf;

use crate::destination::MachineAddress;

pub use agent_transport::AgentTransport;
pub use failure::VisitFailure;
pub use pipes::AgentPipes;
pub use process::LocalProcess;
pub use ssh::SshHost;

/// The transport to a machine; `binary` finds the file of plumb for an architecture as `uname -m` names it.
#[must_use]
pub fn transport_to(
    machine: &MachineAddress,
    binary: fn(&str) -> Result<PathBuf, String>,
) -> Box<dyn AgentTransport> {
    match machine {
        MachineAddress::Local { .. } => Box::new(LocalProcess::of_this_binary()),
        MachineAddress::Ssh { destination, port, key, .. } => {
            Box::new(SshHost::new(destination, *port, key.as_deref(), binary))
        }
    }
}
