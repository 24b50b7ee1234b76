//! What is done about a job whose store has not come.

use plumb_model::{JobExit, JobState, MachineEnd, MachineOutcome, SlurmJob};

use crate::error::Exit;

/// Tries per machine: the first, and two more.
pub const MOST_ATTEMPTS: u32 = 3;
/// A store may show in a shared folder this long after its job has ended: NFS keeps directories for a minute.
const ARRIVAL_NS: i64 = 60 * 1_000_000_000;
/// Slurm's own signal for a job whose log it could not open.
const NO_LOG: i32 = 53;
/// What a shell gives a program that is not there, or of another architecture.
const NOT_STARTED: [i32; 2] = [126, 127];

/// A job whose store has not come, and what else is known.
pub struct Situation<'s> {
    /// The last job of the machine.
    pub job: &'s SlurmJob,
    /// The time, in nanoseconds since 1970.
    pub now_unix_ns: i64,
    /// Why the store that came cannot be read.
    pub broken: Option<&'s str>,
    /// Why the only node that may measure this machine takes no jobs.
    pub node_trouble: Option<&'s str>,
    /// The last line of its log.
    pub last_words: Option<String>,
}

/// What is done about it.
#[derive(Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing is done before the next question.
    Wait,
    /// Another job measures the machine.
    Retry,
    /// The machine has no result.
    End(MachineEnd),
}

impl Situation<'_> {
    /// What is done.
    pub fn next_step(&self) -> NextStep {
        let Some((fact, since_unix_ns)) = &self.job.last_fact else { return NextStep::Wait };
        let exit = fact.exit.unwrap_or(JobExit { code: 0, signal: 0 });
        if !fact.state.is_over() {
            return NextStep::Wait;
        }
        if let Some(broken) = self.broken {
            return self.lost(&format!("its store is damaged: {broken}"));
        }
        let usage = i32::from(Exit::Usage.number());
        let nothing = i32::from(Exit::Nothing.number());
        match fact.state {
            JobState::NodeFail | JobState::BootFail | JobState::Timeout | JobState::Preempted => {
                self.lost(fact.state.word())
            }
            JobState::Cancelled => self.end(MachineOutcome::Interrupted, "cancelled", None),
            JobState::Deadline => {
                self.end(MachineOutcome::Failed, "did not start before its deadline", None)
            }
            JobState::OutOfMemory => self.end(MachineOutcome::Failed, "ran out of memory", None),
            JobState::Failed if exit.signal == NO_LOG => self.end(
                MachineOutcome::Failed,
                "the node cannot write to the fleet folder",
                Some("use --folder DIR with a folder on a file system that all nodes share"),
            ),
            JobState::Failed if exit.code == usage => {
                self.end(MachineOutcome::Refused, "plumb refused the command", None)
            }
            JobState::Failed if NOT_STARTED.contains(&exit.code) => self.end(
                MachineOutcome::Unsupported,
                "plumb cannot run on the node",
                Some(
                    "`make dist` builds a plumb that runs with any C library of this architecture",
                ),
            ),
            JobState::Failed if exit.code == nothing => {
                self.end(MachineOutcome::Unsupported, "plumb could not measure anything", None)
            }
            _ if self.now_unix_ns - since_unix_ns < ARRIVAL_NS => NextStep::Wait,
            _ => self.lost("no store arrived"),
        }
    }

    /// The job measured nothing, but another one may.
    fn lost(&self, why: &str) -> NextStep {
        if let Some(trouble) = self.node_trouble {
            return self.end(MachineOutcome::Unreachable, &format!("{why}; {trouble}"), None);
        }
        if self.job.attempt < MOST_ATTEMPTS {
            return NextStep::Retry;
        }
        self.end(MachineOutcome::Failed, &format!("{why}, the last of {MOST_ATTEMPTS} tries"), None)
    }

    /// No other job is to measure the machine.
    fn end(&self, outcome: MachineOutcome, why: &str, hint: Option<&str>) -> NextStep {
        let node = self.job.last_fact.as_ref().and_then(|(fact, _)| fact.node.as_deref());
        let mut text = format!("job {}", self.job.id());
        if let Some(node) = node {
            text += &format!(" on {node}");
        }
        text += &format!(": {why}");
        // What Slurm writes to the log of a job that it ends says nothing more.
        if [JobState::Failed, JobState::Completed].contains(&self.job.state())
            && let Some(words) = &self.last_words
        {
            text += &format!(": {words}");
        }
        NextStep::End(MachineEnd {
            outcome,
            why: Some(text),
            hints: hint.map(str::to_owned).into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ARRIVAL_NS, NextStep, Situation};
    use plumb_model::{JobExit, JobFact, JobState, MachineOutcome, SlurmJob};

    fn job(state: JobState, code: i32, signal: i32, attempt: u32) -> SlurmJob {
        let fact = JobFact {
            state,
            reason: None,
            node: Some("n1".to_owned()),
            exit: Some(JobExit { code, signal }),
        };
        SlurmJob {
            position: 0,
            attempt,
            job: 12,
            task: Some(3),
            submitted_unix_ns: 0,
            last_fact: Some((fact, 0)),
        }
    }

    fn step(job: &SlurmJob, now_unix_ns: i64, node_trouble: Option<&str>) -> NextStep {
        Situation { job, now_unix_ns, broken: None, node_trouble, last_words: None }.next_step()
    }

    #[test]
    fn lost_jobs_are_repeated_twice() {
        for state in [JobState::NodeFail, JobState::Timeout, JobState::Preempted] {
            for attempt in [1, 2] {
                assert_eq!(step(&job(state, 0, 0, attempt), 0, None), NextStep::Retry);
            }
            let NextStep::End(end) = step(&job(state, 0, 0, 3), 0, None) else { panic!() };
            assert_eq!(end.outcome, MachineOutcome::Failed);
            let why = format!("job 12_3 on n1: {}, the last of 3 tries", state.word());
            assert_eq!(end.why, Some(why));
        }
        let lost = job(JobState::NodeFail, 0, 0, 1);
        let NextStep::End(end) = step(&lost, 0, Some("n1 is down")) else { panic!() };
        assert_eq!(end.outcome, MachineOutcome::Unreachable);
    }

    #[test]
    fn a_store_that_does_not_come_is_waited_for() {
        for state in [JobState::Completed, JobState::Forgotten] {
            let ended = job(state, 0, 0, 1);
            assert_eq!(step(&ended, ARRIVAL_NS - 1, None), NextStep::Wait);
            assert_eq!(step(&ended, ARRIVAL_NS, None), NextStep::Retry);
        }
        for state in [JobState::Pending, JobState::Running] {
            assert_eq!(step(&job(state, 0, 0, 1), ARRIVAL_NS, None), NextStep::Wait);
        }
    }

    #[test]
    fn what_another_job_cannot_change_is_not_repeated() {
        for (state, code, signal, outcome) in [
            (JobState::Failed, 2, 0, MachineOutcome::Refused),
            (JobState::Failed, 3, 0, MachineOutcome::Unsupported),
            (JobState::Failed, 126, 0, MachineOutcome::Unsupported),
            (JobState::Failed, 0, 53, MachineOutcome::Failed),
            (JobState::Cancelled, 0, 0, MachineOutcome::Interrupted),
            (JobState::OutOfMemory, 0, 125, MachineOutcome::Failed),
        ] {
            let NextStep::End(end) = step(&job(state, code, signal, 1), 0, None) else {
                panic!("{state:?} {code}:{signal}")
            };
            assert_eq!(end.outcome, outcome);
        }
    }
}
