//! Tickets: what an agent has to do.

use std::collections::BTreeMap;

use plumb_model::{Host, Id, RunRecord};
use serde::{Deserialize, Serialize};

/// The schema of tickets.
pub const TICKET_SCHEMA: &str = "plumb.ticket/1";

/// What an agent has to do: one line of JSON on its standard input.
///
/// It contains the words of a command and not a finished plan: sizes, threads, ceilings and expectations depend on the machine, and
/// only the agent can read that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTicket {
    /// The schema, which is always [`TICKET_SCHEMA`].
    pub schema: String,
    /// A random word with which the log begins. Text before it comes from the login shell.
    pub nonce: String,
    /// Identity of the run. The near end chooses it, so that a far end cannot write into another run.
    pub run: Id,
    /// The subcommand and its arguments.
    pub words: Vec<String>,
    /// The command line as it was typed at the near end, for the record.
    pub command: Vec<String>,
    /// The texts of the suites that `words` name as files of the near end, by these names.
    #[serde(default)]
    pub suites: BTreeMap<String, String>,
    /// The name of the machine at the near end; unknown if it keeps its own.
    #[serde(default)]
    pub host: Host,
    /// Labels of the run, next to those in `words`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The record of the run so far, if the connection was lost: its points are completed in a new segment.
    #[serde(default, with = "crate::as_value::optional")]
    pub before: Option<RunRecord>,
    /// The salt of the near end's store: a secret has the same placeholder in all of its runs.
    pub salt: String,
}
