//! What Slurm's commands print, as values. Only formats that every Slurm since 20.11 prints are read.

use std::collections::BTreeMap;

use plumb_model::{JobExit, JobFact, JobState, SlurmJob};

/// The fields that `sacct` is asked for.
pub const SACCT_FORMAT: &str = "JobID,State,ExitCode,NodeList,Submit";
/// The fields that `sinfo` is asked for: the reason comes last because it may contain anything.
pub const SINFO_FORMAT: &str = "%N|%T|%P|%E";

/// The clocks of this machine and of the controller may differ by so much.
const CLOCKS_DIFFER_S: i64 = 600;
/// Nanoseconds per second.
const NS_PER_S: i64 = 1_000_000_000;

/// What one line says about a job, or about tasks of a job array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLine {
    job: u64,
    /// The tasks that it is about; None for a job that is not an array.
    tasks: Option<Vec<TaskRange>>,
    /// When it was submitted, in seconds since 1970, if the line says so.
    submitted_unix_s: Option<i64>,
    fact: JobFact,
}

/// Some of the tasks of a job array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TaskRange {
    first: u64,
    last: u64,
    step: u64,
}

impl JobLine {
    /// Whether it is about this job, which has the same id.
    fn covers(&self, job: &SlurmJob) -> bool {
        // Slurm counts from 1 again if it loses its state, and accounting remembers the job that had the id before.
        let submitted_s = job.submitted_unix_ns / NS_PER_S;
        if self.submitted_unix_s.is_some_and(|line_s| line_s + CLOCKS_DIFFER_S < submitted_s) {
            return false;
        }
        match (&self.tasks, job.task) {
            (None, None) => true,
            (Some(ranges), Some(task)) => ranges.iter().any(|range| range.covers(task)),
            _ => false,
        }
    }
}

impl TaskRange {
    fn covers(self, task: u64) -> bool {
        (self.first..=self.last).contains(&task) && (task - self.first).is_multiple_of(self.step)
    }

    /// Reads `3`, `0-7` or `0-20:4`.
    fn read(text: &str) -> Option<Self> {
        let (range, step) = match text.split_once(':') {
            Some((range, step)) => (range, step.parse().ok()?),
            None => (text, 1),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let read = Self { first: first.parse().ok()?, last: last.parse().ok()?, step };
        (read.step > 0).then_some(read)
    }
}

/// Reads the tasks of an array: `0-2,7`, or `0-9%4` if at most four may run at once.
fn task_ranges(text: &str) -> Option<Vec<TaskRange>> {
    let ranges = text.split('%').next().unwrap_or(text);
    ranges.split(',').map(TaskRange::read).collect()
}

/// Reads a state: Slurm adds who cancelled a job, and other states may be added to some.
fn job_state(text: &str) -> JobState {
    let word = text.split([' ', '+']).next().unwrap_or(text);
    match word {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
        | "RESV_DEL_HOLD" => JobState::Pending,
        "COMPLETED" => JobState::Completed,
        "FAILED" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => JobState::Failed,
        "CANCELLED" | "REVOKED" => JobState::Cancelled,
        "TIMEOUT" => JobState::Timeout,
        "NODE_FAIL" => JobState::NodeFail,
        "PREEMPTED" => JobState::Preempted,
        "BOOT_FAIL" => JobState::BootFail,
        "DEADLINE" => JobState::Deadline,
        "OUT_OF_MEMORY" => JobState::OutOfMemory,
        // All others are stages of a job that has a node, such as COMPLETING and SUSPENDED.
        _ => JobState::Running,
    }
}

/// Reads `3:0`: the exit code, and the signal.
fn job_exit(text: &str) -> Option<JobExit> {
    let (code, signal) = text.split_once(':')?;
    Some(JobExit { code: code.parse().ok()?, signal: signal.parse().ok()? })
}

/// A text, unless it is one of the words that stand for nothing.
fn stated(text: &str) -> Option<String> {
    let nothing = ["", "(null)", "None", "none", "None assigned", "N/A"];
    (!nothing.contains(&text)).then(|| text.to_owned())
}

/// Reads what `sacct --parsable2 --noheader --allocations --format=…` prints. Lines that cannot be read are left out.
pub fn sacct_jobs(text: &str) -> Vec<JobLine> {
    text.lines().filter_map(sacct_job).collect()
}

fn sacct_job(line: &str) -> Option<JobLine> {
    let fields: Vec<&str> = line.split('|').collect();
    let [id, state, exit, node, submitted] = fields[..] else { return None };
    let (job, tasks) = match id.split_once('_') {
        None => (id, None),
        Some((job, tasks)) => {
            (job, Some(task_ranges(tasks.trim_start_matches('[').trim_end_matches(']'))?))
        }
    };
    let fact = JobFact {
        state: job_state(state),
        // The reason that accounting keeps is the last one for which the job waited: no reason of its end.
        reason: None,
        node: stated(node),
        exit: job_exit(exit),
    };
    let submitted_unix_s = submitted.parse().ok();
    Some(JobLine { job: job.parse().ok()?, tasks, submitted_unix_s, fact })
}

/// Reads what `scontrol --oneliner show job` prints about the jobs of this user. Lines that cannot be read are left out.
pub fn scontrol_jobs(text: &str, uid: u32) -> Vec<JobLine> {
    text.lines().filter_map(|line| scontrol_job(line, uid)).collect()
}

fn scontrol_job(line: &str, uid: u32) -> Option<JobLine> {
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    for word in line.split(' ') {
        if let Some((name, value)) = word.split_once('=') {
            // What the user chose, such as a comment, comes after the fields of Slurm, and may look like them.
            fields.entry(name).or_insert(value);
        }
    }
    // The names of jobs of other users may look like fields.
    if !fields.get("UserId")?.ends_with(&format!("({uid})")) {
        return None;
    }
    let tasks = match fields.get("ArrayTaskId") {
        Some(text) => Some(task_ranges(text)?),
        None => None,
    };
    let job = fields.get("ArrayJobId").or_else(|| fields.get("JobId"))?.parse().ok()?;
    let reason = fields.get("Reason").and_then(|reason| stated(reason));
    let fact = JobFact {
        state: job_state(fields.get("JobState")?),
        // Slurm writes underscores where its words have spaces, so that this line can be split.
        reason: reason.map(|reason| reason.replace(",_", ", ")),
        node: fields.get("NodeList").and_then(|node| stated(node)),
        exit: fields.get("ExitCode").and_then(|exit| job_exit(exit)),
    };
    // The controller has no two jobs of one id.
    Some(JobLine { job, tasks, submitted_unix_s: None, fact })
}

/// What these lines say about each of these jobs; None about a job that no line is about.
pub fn facts_of(jobs: &[&SlurmJob], lines: &[JobLine]) -> Vec<Option<JobFact>> {
    let mut by_job: BTreeMap<u64, Vec<&JobLine>> = BTreeMap::new();
    for line in lines {
        by_job.entry(line.job).or_default().push(line);
    }
    let mut facts = Vec::new();
    for job in jobs {
        let about = by_job.get(&job.job).and_then(|lines| {
            let mut covering = lines.iter().filter(|line| line.covers(job));
            covering.next()
        });
        facts.push(about.map(|line| line.fact.clone()));
    }
    facts
}

/// A node, as `sinfo` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLine {
    /// Its name in Slurm.
    pub name: String,
    /// Its state, without the signs that Slurm adds.
    pub state: String,
    /// Whether it answers.
    pub is_responding: bool,
    /// Whether the partition of this line is the default one.
    pub is_of_default: bool,
    /// Why the administrator, or Slurm, took it out of service.
    pub reason: Option<String>,
}

impl NodeLine {
    /// Whether it cannot take jobs before somebody returns it to service.
    pub fn is_out_of_service(&self) -> bool {
        // A node that does not respond is not among them: it may respond soon, or Slurm sets it down.
        const OUT: [&str; 8] =
            ["down", "drained", "draining", "fail", "failing", "error", "unknown", "inval"];
        OUT.contains(&self.state.as_str())
    }

    /// Why it takes no jobs: `drained: bad fan`.
    pub fn trouble(&self) -> String {
        let state = if self.is_responding {
            self.state.clone()
        } else {
            format!("{}, does not respond", self.state)
        };
        match &self.reason {
            Some(reason) => format!("{state}: {reason}"),
            None => state,
        }
    }
}

/// Reads what `sinfo --noheader --Node` prints: a line per node and partition.
pub fn sinfo_nodes(text: &str) -> Vec<NodeLine> {
    text.lines().filter_map(sinfo_node).collect()
}

fn sinfo_node(line: &str) -> Option<NodeLine> {
    let fields: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
    let [name, state, partition, reason] = fields[..] else { return None };
    let signs = ['*', '~', '#', '!', '%', '$', '@', '^', '-', '+'];
    Some(NodeLine {
        name: name.to_owned(),
        state: state.trim_end_matches(signs).to_lowercase(),
        is_responding: !state.contains('*'),
        is_of_default: partition.ends_with('*'),
        reason: stated(reason),
    })
}

/// The id that `sbatch --parsable` prints: `12`, or `12;cluster`.
pub fn submitted_job(text: &str) -> Option<u64> {
    text.trim().split(';').next()?.parse().ok()
}

/// The number below which all indices of an array must be, from `scontrol show config`.
pub fn max_array_size(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("MaxArraySize"))?;
    line.split_once('=')?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{
        JobLine, facts_of, max_array_size, sacct_jobs, scontrol_jobs, sinfo_nodes, submitted_job,
    };
    use plumb_model::{JobExit, JobFact, JobState, SlurmJob};

    /// Printed by Slurm 22.05 with slurmdbd.
    const SACCT: &str = "3|FAILED|3:0|m1|1796071515
1_0|FAILED|3:0|m1|1796071510
1_2|FAILED|3:0|m1|1796071510
2_[0-5%2]|PENDING|0:0|None assigned|1796071510
6|TIMEOUT|0:0|m1|1796071524
7_4|CANCELLED by 0|0:0|m1|1796071530
";

    /// Printed by Slurm 22.05 without accounting, shortened behind the fields that are read.
    const SCONTROL: &str = "JobId=2 ArrayJobId=1 ArrayTaskId=0 JobName=a b UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=3:0 RunTime=00:00:01 ReqNodeList=(null) ExcNodeList=(null) NodeList=n1 BatchHost=n1 NumNodes=1 Comment=JobState=RUNNING\x20
JobId=1 ArrayJobId=1 ArrayTaskId=3,5-6 JobName=a b UserId=root(0) JobState=PENDING Reason=Resources Dependency=(null) ExitCode=0:0 NodeList= NumNodes=1-1
JobId=5 JobName=a b UserId=root(0) JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n3 Dependency=(null) ExitCode=0:0 ReqNodeList=n3 NodeList= NumNodes=1-1
JobId=7 JobName=a b UserId=root(0) JobState=FAILED Reason=JobLaunchFailure Dependency=(null) ExitCode=0:53 NodeList=n1
";

    fn job(job: u64, task: Option<u64>) -> SlurmJob {
        SlurmJob { position: 0, attempt: 1, job, task, submitted_unix_ns: 0, last_fact: None }
    }

    fn fact(lines: &[JobLine], id: u64, task: Option<u64>) -> Option<JobFact> {
        facts_of(&[&job(id, task)], lines).remove(0)
    }

    #[test]
    fn accounting_is_read() {
        let lines = sacct_jobs(SACCT);
        for (id, task, state, node) in [
            (3, None, JobState::Failed, Some("m1")),
            (1, Some(2), JobState::Failed, Some("m1")),
            (2, Some(5), JobState::Pending, None),
            (6, None, JobState::Timeout, Some("m1")),
            (7, Some(4), JobState::Cancelled, Some("m1")),
        ] {
            let found = fact(&lines, id, task).unwrap();
            assert_eq!((found.state, found.node.as_deref()), (state, node), "{id}");
        }
        assert_eq!(fact(&lines, 1, Some(1)), None);
        assert_eq!(fact(&lines, 9, None), None);
        let later = SlurmJob { submitted_unix_ns: 1_796_080_000 * 1_000_000_000, ..job(3, None) };
        assert_eq!(facts_of(&[&later], &lines), [None]);
    }

    #[test]
    fn the_controller_is_read() {
        let lines = scontrol_jobs(SCONTROL, 0);
        assert!(scontrol_jobs(SCONTROL, 1000).is_empty(), "jobs of others");
        let failed = fact(&lines, 1, Some(0)).unwrap();
        assert_eq!(failed.state, JobState::Failed);
        assert_eq!(failed.exit, Some(JobExit { code: 3, signal: 0 }));
        assert_eq!(failed.node.as_deref(), Some("n1"));
        assert_eq!(fact(&lines, 1, Some(6)).unwrap().state, JobState::Pending);
        assert_eq!(fact(&lines, 1, Some(4)), None);
        let waiting = fact(&lines, 5, None).unwrap();
        assert_eq!(waiting.reason.as_deref(), Some("ReqNodeNotAvail, UnavailableNodes:n3"));
        assert_eq!(waiting.node, None);
        assert_eq!(fact(&lines, 7, None).unwrap().exit, Some(JobExit { code: 0, signal: 53 }));
    }

    #[test]
    fn nodes_are_read() {
        let text = "n1|idle|main*|none\nn2|down*|main*|Not responding\nn3|drained|big|bad fan | x\nn4|allocated~|big|none\nn5|idle\n";
        let nodes = sinfo_nodes(text);
        assert_eq!(nodes.len(), 4);
        assert!(nodes[0].is_of_default && !nodes[0].is_out_of_service());
        assert_eq!(nodes[1].trouble(), "down, does not respond: Not responding");
        assert_eq!(nodes[2].trouble(), "drained: bad fan | x");
        assert!(nodes[1].is_out_of_service() && nodes[2].is_out_of_service());
        assert!(!nodes[3].is_out_of_service() && !nodes[3].is_of_default);
    }

    #[test]
    fn answers_that_are_none_are_not_read() {
        assert_eq!(submitted_job("12;cluster\n"), Some(12));
        assert_eq!(submitted_job("sbatch: error"), None);
        assert_eq!(max_array_size("MaxArraySize            = 1001\n"), Some(1001));
        for line in
            ["", "|||", "x|PENDING|0:0|n1|1", "1_[0-x]|PENDING|0:0||1", "1_[0-4:0]|PENDING|0:0||1"]
        {
            assert_eq!(sacct_jobs(line), Vec::new(), "{line}");
        }
        for line in [
            "",
            "JobId=x UserId=a(0) JobState=FAILED",
            "JobId=1",
            "JobId=1 UserId=a(0) ArrayTaskId=a JobState=FAILED",
        ] {
            assert_eq!(scontrol_jobs(line, 0), Vec::new(), "{line}");
        }
    }
}
