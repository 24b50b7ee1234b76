//! Fleets whose machines Slurm selects: the jobs that measure, and what is known of them.

use serde::{Deserialize, Serialize};

use crate::id::Id;

/// The state of a Slurm job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits in the queue.
    Pending,
    /// It runs, or Slurm is starting it or cleaning up after it.
    Running,
    /// Its script ended with exit code 0.
    Completed,
    /// Its script ended with another exit code, or could not be started.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// It reached its time limit.
    Timeout,
    /// Its node stopped answering. The script may still run there.
    NodeFail,
    /// Another job needed the node.
    Preempted,
    /// Its node could not be started.
    BootFail,
    /// Its deadline passed.
    Deadline,
    /// It needed more memory than it had.
    OutOfMemory,
    /// Slurm does not know it any more.
    Forgotten,
}

impl JobState {
    /// The word by which administrators know it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Timeout => "TIMEOUT",
            Self::NodeFail => "NODE_FAIL",
            Self::Preempted => "PREEMPTED",
            Self::BootFail => "BOOT_FAIL",
            Self::Deadline => "DEADLINE",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::Forgotten => "forgotten by Slurm",
        }
    }

    /// Whether Slurm has ended the job, or has forgotten it.
    #[must_use]
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// How the script of a job ended: its exit code, and the signal that ended it. Signal 53 is Slurm's own: it could not open the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobExit {
    /// The exit code; 0 after a signal.
    pub code: i32,
    /// The signal; 0 without one.
    pub signal: i32,
}

/// What Slurm answers about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFact {
    /// How far Slurm is with it.
    pub state: JobState,
    /// Why it is in this state, in Slurm's words.
    pub reason: Option<String>,
    /// The node that it has, or had.
    pub node: Option<String>,
    /// How its script ended.
    pub exit: Option<JobExit>,
}

/// A job, or a task of a job array: one try to measure one machine of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmJob {
    /// Which machine of the fleet it measures.
    pub position: usize,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// The id of the job, or of the array.
    pub job: u64,
    /// The index in the array.
    pub task: Option<u64>,
    /// When it was submitted, in nanoseconds since 1970 (UTC).
    pub submitted_unix_ns: i64,
    /// What Slurm answered last, and when it first did so; None before the first question.
    pub last_fact: Option<(JobFact, i64)>,
}

impl SlurmJob {
    /// The id as Slurm's commands show and take it: `12`, or `12_3` for a task of an array.
    #[must_use]
    pub fn id(&self) -> String {
        match self.task {
            Some(task) => format!("{}_{task}", self.job),
            None => self.job.to_string(),
        }
    }

    /// Its last known state. Whoever was just submitted waits.
    #[must_use]
    pub fn state(&self) -> JobState {
        self.last_fact.as_ref().map_or(JobState::Pending, |(fact, _)| fact.state)
    }
}

/// A run that came from a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedRun {
    /// Which machine of the fleet measured it.
    pub position: usize,
    /// The try that it is of.
    pub attempt: u32,
    /// The node that measured it, by its name in Slurm.
    pub node: String,
    /// The run, which is in the store.
    pub run: Id,
}

/// What is special about a fleet that Slurm carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmFleet {
    /// Identity of the fleet.
    pub fleet: Id,
    /// The folder with the script, the binary, logs, and the stores that nodes have finished.
    pub folder: String,
    /// The options of sbatch that the user gave, word by word.
    pub options: Vec<String>,
    /// Whether each machine is a node that was named, instead of any node.
    pub is_every: bool,
    /// How many jobs may be queued or running at once.
    pub queued: Option<usize>,
    /// The jobs: by machine, then by attempt.
    pub jobs: Vec<SlurmJob>,
    /// The runs that came, in the order in which they came.
    pub collected: Vec<CollectedRun>,
}
