//! What became of the machines of a fleet.

use plumb_agent::{AgentEnd, VisitFailure};
use plumb_model::{Event, Id, MachineEnd, MachineOutcome, RunRecord, Stamped};
use plumb_store::{ErrorKind, Store, Writer, short};

use crate::error::{CommandError, Exit, Result};

/// The run of a machine.
pub struct MachineRun {
    /// The name of the machine.
    pub name: String,
    run: Id,
    /// None before its turn, and once its visit is over.
    writer: Option<Box<dyn Writer>>,
    /// Whether something of it is stored.
    has_begun: bool,
    /// Whether its end is stored, and nobody stopped it.
    is_complete: bool,
    /// Why its events are no longer taken, though the store works.
    refused: Option<String>,
    /// How its visit ended; None while it goes on.
    ended: Option<std::result::Result<AgentEnd, VisitFailure>>,
    /// What became of it; None while its visit goes on.
    machine_end: Option<MachineEnd>,
}

impl MachineRun {
    /// A run that has not begun.
    pub fn new(name: &str, run: Id) -> Self {
        Self {
            name: name.to_owned(),
            run,
            writer: None,
            has_begun: false,
            is_complete: false,
            refused: None,
            ended: None,
            machine_end: None,
        }
    }

    /// Its run, if it is stored whole.
    pub fn complete_run(&self) -> Option<Id> {
        let outcome = self.machine_end.as_ref().map(|end| end.outcome);
        (outcome == Some(MachineOutcome::Complete)).then_some(self.run)
    }

    /// Why it has no whole run, with its exit code.
    pub fn error(&self) -> CommandError {
        let end = self.machine_end.as_ref();
        let outcome = end.map_or(MachineOutcome::Interrupted, |end| end.outcome);
        let why = end
            .and_then(|end| end.why.clone())
            .unwrap_or_else(|| format!("{}; see `plumb show {}`", outcome.word(), short(self.run)));
        let hints = end.map(|end| end.hints.clone()).unwrap_or_default();
        hints.iter().fold(CommandError::new(self.exit(), why), |error, hint| error.hint(hint))
    }

    /// Its turn has come.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(&mut self, store: &Store) -> Result<()> {
        self.writer = Some(store.writer()?);
        Ok(())
    }

    /// Stores an event of it; whether it is taken. An event that contradicts others is not, and no event after it.
    ///
    /// # Errors
    /// When the store is full or locked.
    pub fn take(&mut self, stamped: &Stamped) -> Result<bool> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.refused.is_none()) else {
            return Ok(false);
        };
        match writer.write(stamped) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Store => return Err(error.into()),
            Err(error) => {
                self.refused = Some(error.to_string());
                return Ok(false);
            }
        }
        self.has_begun |= matches!(stamped.event, Event::RunStarted { .. });
        self.is_complete = matches!(stamped.event, Event::RunEnded { interrupted: false, .. });
        Ok(true)
    }

    /// What is stored of it so far; None if it has not begun.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub fn so_far(&self, store: &Store) -> Result<Option<RunRecord>> {
        Ok(if self.has_begun { Some(store.record(self.run)?) } else { None })
    }

    /// Its visit is over; what became of it.
    pub fn end(&mut self, ended: std::result::Result<AgentEnd, VisitFailure>) -> MachineEnd {
        self.writer = None;
        let ended = match (self.refused.take(), ended) {
            (Some(why), _) => Err(VisitFailure::Failed(why)),
            // Whatever the agent says, only what is stored counts.
            (None, Ok(end)) if !end.interrupted && !self.is_complete => Err(VisitFailure::Failed(
                "the log is truncated: it has no end-of-run record".to_owned(),
            )),
            (None, ended) => ended,
        };
        let end = machine_end(&ended);
        self.ended = Some(ended);
        end
    }

    /// Keeps what became of it, without secrets.
    pub fn keep_end(&mut self, end: MachineEnd) {
        self.machine_end = Some(end);
    }

    /// The exit code that the machine alone would give.
    fn exit(&self) -> Exit {
        match &self.ended {
            Some(Ok(end)) if end.interrupted => Exit::Interrupted,
            Some(Ok(end)) if end.failed > 0 || end.unclean.is_some() => Exit::Failed,
            Some(Ok(end)) if end.measured == 0 || (end.explicit && end.unsupported > 0) => {
                Exit::Nothing
            }
            Some(Ok(_)) => Exit::Fine,
            None | Some(Err(VisitFailure::Interrupted)) => Exit::Interrupted,
            Some(Err(VisitFailure::Refused { exit, .. })) => {
                let known = [Exit::Interrupted, Exit::Usage, Exit::Nothing];
                known.into_iter().find(|known| known.number() == *exit).unwrap_or(Exit::Failed)
            }
            Some(Err(VisitFailure::Unreachable { .. } | VisitFailure::Unsupported { .. })) => {
                Exit::Nothing
            }
            Some(Err(_)) => Exit::Failed,
        }
    }
}

fn machine_end(ended: &std::result::Result<AgentEnd, VisitFailure>) -> MachineEnd {
    match ended {
        Ok(end) => MachineEnd {
            outcome: match end {
                end if end.interrupted => MachineOutcome::Interrupted,
                end if end.measured == 0 && end.failed > 0 => MachineOutcome::Failed,
                end if end.measured == 0 => MachineOutcome::Unsupported,
                _ => MachineOutcome::Complete,
            },
            why: end.unclean.as_ref().map(|why| format!("could not clean up: {why}")),
            hints: Vec::new(),
        },
        Err(failure) => MachineEnd {
            outcome: outcome(failure),
            why: Some(failure.to_string()),
            hints: match failure {
                VisitFailure::Unreachable { fix, .. } | VisitFailure::Unsupported { fix, .. } => {
                    vec![fix.clone()]
                }
                // The hints of a run that broke off are about resuming it there.
                VisitFailure::Refused { hints, .. }
                    if outcome(failure) != MachineOutcome::Failed =>
                {
                    hints.clone()
                }
                _ => Vec::new(),
            },
        },
    }
}

fn outcome(failure: &VisitFailure) -> MachineOutcome {
    match failure {
        VisitFailure::Unreachable { .. } => MachineOutcome::Unreachable,
        VisitFailure::Unsupported { .. } => MachineOutcome::Unsupported,
        VisitFailure::Interrupted => MachineOutcome::Interrupted,
        VisitFailure::Refused { exit, .. } if *exit == Exit::Usage.number() => {
            MachineOutcome::Refused
        }
        VisitFailure::Refused { exit, .. } if *exit == Exit::Nothing.number() => {
            MachineOutcome::Unsupported
        }
        VisitFailure::Refused { exit, .. } if *exit == Exit::Interrupted.number() => {
            MachineOutcome::Interrupted
        }
        VisitFailure::Refused { .. }
        | VisitFailure::Lost(_)
        | VisitFailure::Failed(_)
        | VisitFailure::NotTaken(_) => MachineOutcome::Failed,
    }
}

/// The exit code of these runs together.
pub fn exit(runs: &[MachineRun]) -> Exit {
    exit_of_machines(runs.iter().map(MachineRun::exit))
}

/// The exit code for several machines: if some have a result and others do not, that is a failure; if none has, its own code says why.
pub fn exit_of_machines(exits: impl Iterator<Item = Exit>) -> Exit {
    let exits: Vec<Exit> = exits.collect();
    let with_result = [Exit::Fine, Exit::Inconclusive, Exit::Regression];
    let has_result = exits.iter().any(|exit| with_result.contains(exit));
    match exits.into_iter().min().unwrap_or(Exit::Nothing) {
        Exit::Usage | Exit::Nothing if has_result => Exit::Failed,
        worst => worst,
    }
}
