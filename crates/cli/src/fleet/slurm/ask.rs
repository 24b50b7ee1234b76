//! Asks Slurm about jobs.

use plumb_model::{JobFact, JobState, SlurmJob};

use crate::error::{CommandError, Result};
use crate::fleet::slurm::answers::{SACCT_FORMAT, facts_of, sacct_jobs, scontrol_jobs};
use crate::fleet::slurm::client;

/// Jobs per question: a process takes at most 128 KiB in one argument.
const JOBS_PER_QUESTION: usize = 5_000;

/// What Slurm knows about jobs, in their order. Accounting is asked first because the controller forgets jobs that have ended; the
/// controller knows why a job waits, and everything that a cluster without accounting knows.
///
/// # Errors
/// When the controller does not answer.
pub fn facts(jobs: &[&SlurmJob]) -> Result<Vec<JobFact>> {
    let mut facts = accounted(jobs)?;
    if !facts.iter().all(says_enough) {
        for (fact, current) in facts.iter_mut().zip(current(jobs)?) {
            // Accounting may have missed the end of a job that the controller no longer knows.
            if !says_enough(fact) {
                *fact = current;
            }
        }
    }
    let forgotten = JobFact { state: JobState::Forgotten, reason: None, node: None, exit: None };
    Ok(facts.into_iter().map(|fact| fact.unwrap_or_else(|| forgotten.clone())).collect())
}

/// Whether the controller has nothing to add: it knows why a job waits, and which jobs there are.
fn says_enough(fact: &Option<JobFact>) -> bool {
    fact.as_ref().is_some_and(|fact| fact.state.is_over())
}

/// What accounting knows about jobs; nothing if the cluster has none, or it does not answer.
fn accounted(jobs: &[&SlurmJob]) -> Result<Vec<Option<JobFact>>> {
    let mut ids: Vec<u64> = jobs.iter().map(|job| job.job).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut lines = Vec::new();
    for ids in ids.chunks(JOBS_PER_QUESTION) {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let arguments = [
            "--parsable2".to_owned(),
            "--noheader".to_owned(),
            "--allocations".to_owned(),
            format!("--format={SACCT_FORMAT}"),
            format!("--jobs={}", ids.join(",")),
        ];
        let answer = client::run("sacct", &arguments)?;
        if !answer.is_success {
            return Ok(vec![None; jobs.len()]);
        }
        lines.extend(sacct_jobs(&answer.stdout));
    }
    Ok(facts_of(jobs, &lines))
}

/// What the controller knows about jobs.
fn current(jobs: &[&SlurmJob]) -> Result<Vec<Option<JobFact>>> {
    let mut arguments = vec!["--oneliner".to_owned(), "show".to_owned(), "job".to_owned()];
    // The command takes one id. For several, one answer about all jobs is cheaper than many.
    let first = jobs.first().map(|job| job.job);
    if let Some(id) = first.filter(|id| jobs.iter().all(|job| job.job == *id)) {
        arguments.push(id.to_string());
    }
    let answer = client::run("scontrol", &arguments)?;
    let is_forgotten = answer.complaint.contains("Invalid job id");
    if !answer.is_success && !is_forgotten {
        return Err(CommandError::nothing(format!("scontrol failed: {}", answer.complaint))
            .hint("`sinfo` shows whether Slurm works"));
    }
    let own = rustix::process::getuid().as_raw();
    Ok(facts_of(jobs, &scontrol_jobs(&answer.stdout, own)))
}
