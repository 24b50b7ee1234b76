//! An agent on this machine, as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::agent_transport::AgentTransport;
use super::failure::VisitFailure;
use super::pipes::AgentPipes;

/// Starts an agent on this machine.
#[derive(Debug)]
pub struct LocalProcess {
    program: PathBuf,
    arguments: Vec<String>,
}

impl LocalProcess {
    /// This binary as the agent, also if its file was replaced meanwhile.
    #[must_use]
    pub fn of_this_binary() -> Self {
        Self::new(Path::new("/proc/self/exe"), &["agent"])
    }

    /// Another program in place of the agent.
    #[must_use]
    pub fn new(program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self { program: program.to_path_buf(), arguments }
    }
}

impl AgentTransport for LocalProcess {
    fn open(&self, _is_interrupted: &dyn Fn() -> bool) -> Result<AgentPipes, VisitFailure> {
        AgentPipes::spawn(Command::new(&self.program).args(&self.arguments)).map_err(|error| {
            VisitFailure::Unsupported {
                why: format!("cannot start {}: {error}", self.program.display()),
                fix: "start plumb by its absolute path".to_owned(),
            }
        })
    }
}
