//! Starts Slurm's own commands.

use std::path::Path;
use std::process::{Command, Stdio};

use plumb_workload_kit::ended;

use crate::error::{CommandError, Result};
use crate::locate;

/// Variables of Slurm that do not reach its commands. Those of sbatch win over the lines of a script, and differ between the shell in
/// which a fleet was submitted and the one, or the cron job, that collects it; those of a job are of the job in which plumb runs.
const WITHOUT: [&str; 4] = ["SBATCH_", "SLURM_ARRAY_", "SLURM_JOB_", "SLURM_CLUSTERS"];

/// What a command printed, and whether it succeeded.
pub struct SlurmAnswer {
    /// Whether its exit code was 0.
    pub is_success: bool,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr, without the name of the command that Slurm puts before each line.
    pub complaint: String,
}

/// Runs one of Slurm's commands to its end.
///
/// # Errors
/// When it is not installed, or cannot be started.
pub fn run(program: &str, arguments: &[String]) -> Result<SlurmAnswer> {
    if locate::on_path(Path::new(program)).is_none() {
        return Err(CommandError::nothing(format!(
            "{program} is not installed here, so plumb cannot use Slurm"
        ))
        .hint("run this on a login node of the cluster")
        .hint("on Debian and Ubuntu, install slurm-client"));
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.env("LC_ALL", "C");
    // Without this, Slurm shortens long lists of array tasks.
    command.env("SLURM_BITSTR_LEN", "0");
    // Seconds since 1970: the time zones of this machine and of the cluster do not matter.
    command.env("SLURM_TIME_FORMAT", "%s");
    for (variable, _) in std::env::vars_os() {
        if WITHOUT.iter().any(|beginning| variable.to_string_lossy().starts_with(beginning)) {
            command.env_remove(variable);
        }
    }
    let output = ended::output(&mut command)
        .map_err(|error| CommandError::nothing(format!("cannot run {program}: {error}")))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let prefix = format!("{program}: ");
    let complaints: Vec<&str> = stderr
        .lines()
        .map(|line| line.trim_start_matches(&prefix).trim_start_matches("error: ").trim())
        .filter(|line| !line.is_empty())
        .collect();
    Ok(SlurmAnswer {
        is_success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        complaint: complaints.join("; "),
    })
}

/// Runs one of Slurm's commands that has to succeed; what it printed.
///
/// # Errors
/// When it is not installed, or fails.
pub fn ask(program: &str, arguments: &[&str]) -> Result<String> {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let answer = run(program, &arguments)?;
    if answer.is_success {
        return Ok(answer.stdout);
    }
    Err(CommandError::nothing(format!("{program} failed: {}", answer.complaint))
        .hint("`sinfo` shows whether Slurm works"))
}
