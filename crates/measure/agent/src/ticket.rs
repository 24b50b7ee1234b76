//! Tickets: what an agent has to do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumb_model::{Host, Id, Plan, RunRecord};
use serde::{Deserialize, Serialize};

/// The schema of tickets.
pub const TICKET_SCHEMA: &str = "plumb.ticket/1";

/// What an agent measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentWork {
    /// A command that the agent plans: sizes, threads, ceilings and expectations depend on the machine, and only the agent can read
    /// that.
    Command {
        /// The subcommand and its arguments.
        words: Vec<String>,
        /// The texts of the suites that `words` name as files of the near end, by these names.
        suites: BTreeMap<String, String>,
    },
    /// A plan that this kind of machine has carried out before.
    Plan(Box<PlannedWork>),
}

/// A plan, and how an agent carries it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedWork {
    /// The plan; its target directory is made anew.
    #[serde(with = "crate::as_value")]
    pub plan: Plan,
    /// The fingerprint of the only kind of machine that may carry it out; None: any.
    pub fingerprint: Option<String>,
    /// The directory for test files; None: the current one.
    pub dir: Option<PathBuf>,
    /// Whether the agent waits for another plumb that is measuring there.
    pub waits_for_lock: bool,
}

/// What an agent has to do: one line of JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTicket {
    /// The schema, which is always [`TICKET_SCHEMA`].
    pub schema: String,
    /// A random word with which the log begins. Text before it comes from the login shell.
    pub nonce: String,
    /// Identity of the run. The near end chooses it, so that a far end cannot write into another run.
    pub run: Id,
    /// What it measures.
    pub work: AgentWork,
    /// The command line as it was typed at the near end, for the record.
    pub command: Vec<String>,
    /// The name of the machine at the near end; unknown if it keeps its own.
    #[serde(default)]
    pub host: Host,
    /// Labels of the run, next to those of its work.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The record of the run so far, if the connection was lost: its points are completed in a new segment.
    #[serde(default, with = "crate::as_value::optional")]
    pub before: Option<RunRecord>,
    /// The salt of the near end's store: a secret has the same placeholder in all of its runs.
    pub salt: String,
    /// Whether each of its invocations begins together with those of other machines.
    #[serde(default)]
    pub together: bool,
}
