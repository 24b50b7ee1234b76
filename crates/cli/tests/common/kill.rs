//! Promises after `kill -9` at any moment, tried once: shared by the test and the soak.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::processes::PATIENCE;
use super::samples::StoredSamples;
use super::{TestEnvironment, processes};

/// After this time nothing of a killed run may be left, on a machine that does not stall: the soak
/// requires it of every kill, the tests of most.
pub const CLEAN_WITHIN: Duration = Duration::from_secs(2);

/// Invocations of a whole run: two of each point that every machine can measure.
pub const INVOCATIONS: usize = 8;

const RUN: &str = "run kill.toml --dir ../work --with network.rr:rate=500/s --min-invocations 2 \
                   --no-lock --quiet";

/// Points of several kinds: computation, files, several processes, and a command that sleeps while
/// another in a session of its own is to be left behind. With OpenSSH there are servers, too.
const POINTS: &str = r#"
name = "kill"
[[point]]
workload = "cpu.sieve"
set = { limit = 30000 }
[[point]]
workload = "storage.random"
set = { size = "1MiB", operation = "write" }
[[point]]
workload = "scheduler.pipe"
[[point]]
workload = "process.command"
set = { command = '["sh", "-c", "setsid sleep 300 & exec sleep 0.5"]' }
"#;

const SSH: &str = r#"
[[point]]
workload = "ssh.cipher"
"#;

/// When a run is killed.
#[derive(Debug, Clone, Copy)]
pub struct KillTime {
    /// Once a reader sees samples of so many invocations.
    pub invocations: usize,
    /// So long after that.
    pub delay: Duration,
    /// Whether there is a point with servers, which takes longer than all others.
    pub servers: bool,
}

impl KillTime {
    /// A moment for each number: evenly over the run, and in steps that fit none of its phases.
    pub fn of(number: u64) -> Self {
        let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let invocations = usize::try_from(number).unwrap_or(0) % INVOCATIONS;
        let delay = Duration::from_micros((scattered >> 32) % 400_000);
        Self { invocations, delay, servers: number.is_multiple_of(5) && has_ssh() }
    }
}

/// The state at a kill and after it.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    /// Values of samples that a reader had seen before.
    pub seen: usize,
    /// Values of samples that were stored in the end, all of them told once more after the resume.
    pub stored: usize,
    /// Processes that were alive when it came.
    pub processes: usize,
    /// How long cleaning up took.
    pub cleaned_after: Duration,
    /// Whether the run was stored already, so that it could be resumed.
    pub resumed: bool,
}

/// Starts a run, kills it, and checks all that must hold then. None when the run had ended before.
///
/// # Errors
/// What did not hold.
pub fn kill_once(place: &TestEnvironment, moment: KillTime) -> Result<Option<Killed>, String> {
    let points = if moment.servers { format!("{POINTS}{SSH}") } else { POINTS.to_owned() };
    place.write("kill.toml", &points).map_err(|error| error.to_string())?;
    let mut run = place.marked(RUN);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(said)?;
    let (seen, family) = watch(place, &mut run, moment);
    run.kill().map_err(said)?;
    let killed = Instant::now();
    if run.wait().map_err(said)?.signal() != Some(9) {
        return Ok(None);
    }
    cleaned(place, &family)?;
    let cleaned_after = killed.elapsed();
    let (stored, resumed) = resumed(place, &seen)?;
    let seen = seen.len();
    let processes = family.len();
    Ok(Some(Killed { seen, stored, processes, cleaned_after, resumed }))
}

/// Whether the point that needs OpenSSH can be measured here.
fn has_ssh() -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&folders).collect();
    folders.push("/usr/sbin".into());
    ["ssh", "sshd", "ssh-keygen"].iter().all(|tool| folders.iter().any(|f| f.join(tool).exists()))
}

/// Reads the store from outside until the moment has come: the samples that were visible last, and
/// the processes that live.
fn watch(
    place: &TestEnvironment,
    run: &mut Child,
    moment: KillTime,
) -> (StoredSamples, Vec<(u32, u64)>) {
    let mut seen = StoredSamples::default();
    while seen.invocations() < moment.invocations && matches!(run.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(25));
        seen = StoredSamples::visible(place).unwrap_or(seen);
    }
    std::thread::sleep(moment.delay);
    (StoredSamples::visible(place).unwrap_or(seen), processes::family(run.id()))
}

/// No process, mount or temporary file is left, soon.
fn cleaned(place: &TestEnvironment, family: &[(u32, u64)]) -> Result<(), String> {
    let left = || {
        let living = family.iter().filter(|process| processes::lives(**process));
        let living = living.map(|(pid, _)| format!("process {}", processes::describe(*pid)));
        living.chain(place.leftovers()).collect::<Vec<_>>()
    };
    let clean = processes::wait_for(PATIENCE, || left().is_empty().then_some(()));
    clean.ok_or_else(|| format!("{} s after the kill: {}", PATIENCE.as_secs(), left().join(", ")))
}

/// The killed run is told as interrupted with all that was seen of it, and can be completed.
fn resumed(place: &TestEnvironment, seen: &StoredSamples) -> Result<(usize, bool), String> {
    let Some(kept) = StoredSamples::visible(place) else {
        let early = seen.is_empty() && place.run("show").map_err(said)?.code == Some(2);
        let complaint = "samples that were seen are gone";
        let nothing = (0, false);
        return if early { Ok(nothing) } else { Err(complaint.into()) };
    };
    lost(seen, &kept, "after the kill")?;
    if expect(place, "show --json", &["\"status\": \"complete\""]).is_ok() {
        // Its last event was stored, and its process had not ended yet.
        expect(place, "store info", &["1 complete", "intact"])?;
        return Ok((kept.len(), false));
    }
    expect(place, "store info", &["1 interrupted", "intact"])?;
    expect(place, "show", &["interrupted", "plumb run --resume"])?;
    expect(place, "run --resume --dir ../work --no-lock --quiet", &["complete", "in 2 segments"])?;
    let complete = StoredSamples::visible(place).ok_or("the completed run can't be read")?;
    lost(&kept, &complete, "after the resume")?;
    let words = ["\"status\": \"complete\"", "\"failed\": []", "\"not_reached\": []"];
    expect(place, "show --json", &words)?;
    if kept.is_continued_in(&complete) {
        expect(place, "show --json", &["\"resumed\""])?;
    }
    cleaned(place, &[])?;
    Ok((complete.len(), true))
}

fn lost(before: &StoredSamples, after: &StoredSamples, when: &str) -> Result<(), String> {
    match before.lost_in(after) {
        Some(sample) => Err(format!("{when} the sample {sample} is gone or another")),
        None => Ok(()),
    }
}

fn expect(place: &TestEnvironment, arguments: &str, words: &[&str]) -> Result<(), String> {
    let ran = place.run(arguments).map_err(said)?;
    let missing = words.iter().find(|word| !ran.stdout.contains(**word));
    match (ran.code, missing) {
        (Some(0), None) => Ok(()),
        (code, missing) => Err(format!(
            "plumb {arguments}: exit {code:?}, missing {missing:?}\n{}{}",
            ran.stdout, ran.stderr
        )),
    }
}

fn said(error: std::io::Error) -> String {
    error.to_string()
}
