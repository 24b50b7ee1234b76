//! What must hold for the machine's settings after `kill -9` at any moment, tried once: shared by the
//! test and the soak.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::TestEnvironment;
use super::processes::{PATIENCE, children, family, lives, signal, wait_for};

/// After this time every setting must be as it was, on a machine that does not stall: the soak
/// requires it of every kill, the tests of most.
pub const RESTORED_WITHIN: Duration = Duration::from_secs(2);

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// plumb: its keeper restores.
    Plumb,
    /// The keeper: plumb restores.
    Keeper,
    /// Both in the same instant: whoever comes next restores.
    Both,
}

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobOwner {
    /// A tree of files.
    Tree,
    /// This machine; needs root.
    Real,
}

/// When who is killed, and on what.
#[derive(Debug, Clone, Copy)]
pub struct KnobKill {
    /// The process that is killed.
    pub victim: Victim,
    /// The machine whose settings are changed.
    pub machine: KnobOwner,
    /// So long after the keeper was there.
    pub delay: Duration,
}

impl KnobKill {
    /// A moment for each number: every victim on every machine, in steps that fit no phase of a run.
    pub fn of(number: u64) -> Self {
        let victim = [Victim::Plumb, Victim::Keeper, Victim::Both][(number % 3) as usize];
        let machine =
            if number.is_multiple_of(2) && is_root() { KnobOwner::Real } else { KnobOwner::Tree };
        let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Self { victim, machine, delay: Duration::from_micros(scattered % 700_000) }
    }
}

/// The state at a kill and after it.
#[derive(Debug, Clone, Copy)]
pub struct RestoredKnobs {
    /// Settings that were changed when it came.
    pub changed: usize,
    /// How long restoring took; with both killed, from the next start of plumb.
    pub after: Duration,
}

const TREE: [(&str, &str); 7] = [
    ("proc/sys/kernel/random/boot_id", "5ea1ed\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/net/ipv4/icmp_ratelimit", "1000\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
];

/// Settings for the length of the run, of a round and of an invocation.
const SET: &str = "--set thp=always --set sysctl.vm.swappiness=11 --set icmp-limit=off@invocation \
                   --set sysctl.vm.swappiness=12@round --set cooldown=20ms@invocation";
const SET_TREE: &str = " --set governor=performance --set turbo=off@round";

/// Kills a run that changes settings, and checks that they are as they were. None when it had ended
/// before.
///
/// # Errors
/// What did not hold.
pub fn kill_prepared(
    place: &TestEnvironment,
    at: KnobKill,
) -> Result<Option<RestoredKnobs>, String> {
    let _one_at_a_time = (at.machine == KnobOwner::Real).then(lock).transpose().map_err(said)?;
    let root = root(place, at.machine).map_err(said)?;
    let before = settings(&root);
    let more = if at.machine == KnobOwner::Tree { SET_TREE } else { "" };
    let run = format!("run cpu.sieve --min-invocations 500 --no-lock -q {SET}{more}");
    let mut plumb = place.marked(&run);
    if at.machine == KnobOwner::Tree {
        plumb.env("PLUMB_ROOT", &root);
    }
    let mut plumb = plumb.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(said)?;
    let keeper = wait_for(PATIENCE, || children(plumb.id(), "keeper").first().copied());
    std::thread::sleep(at.delay);
    let changed = differing(&before, &settings(&root)).len();
    if !matches!(plumb.try_wait(), Ok(None)) {
        return Ok(None);
    }
    kill(at.victim, &mut plumb, keeper.ok_or("it has no keeper")?).map_err(said)?;
    let killed = Instant::now();
    if at.victim == Victim::Both {
        let mut next = place.plumb("list -q");
        if at.machine == KnobOwner::Tree {
            next.env("PLUMB_ROOT", &root);
        }
        next.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(said)?;
    }
    let left = || differing(&before, &settings(&root));
    let restored = wait_for(PATIENCE, || left().is_empty().then(|| killed.elapsed()));
    let ended = wait_for(PATIENCE, || plumb.try_wait().ok().flatten());
    let after =
        restored.ok_or_else(|| format!("after {} s: {}", PATIENCE.as_secs(), left().join(", ")))?;
    let journals = wait_for(PATIENCE, || journals(place, &root).is_empty().then_some(()));
    journals.ok_or("a journal is left")?;
    ended.ok_or("plumb did not end")?;
    Ok(Some(RestoredKnobs { changed, after }))
}

/// Kills both in the same instant, and waits for their end.
///
/// # Errors
/// When one can't be killed.
pub fn kill_both(plumb: &mut Child, keeper: u32) -> std::io::Result<()> {
    let keepers = family(keeper);
    // Stopped first, so that neither sees the other's end; and the keeper dies first, because the kernel
    // wakes a stopped group whose parent is gone.
    for name in ["STOP", "KILL"] {
        signal(name, keeper)?;
        signal(name, plumb.id())?;
    }
    plumb.wait()?;
    let dead = || (!keepers.iter().any(|process| lives(*process))).then_some(());
    let _ = wait_for(PATIENCE, dead);
    Ok(())
}

/// Kills whoever it is.
///
/// # Errors
/// When that can't be done.
pub fn kill(victim: Victim, plumb: &mut Child, keeper: u32) -> std::io::Result<()> {
    match victim {
        Victim::Plumb => plumb.kill(),
        Victim::Keeper => signal("KILL", keeper),
        Victim::Both => kill_both(plumb, keeper),
    }
}

fn root(place: &TestEnvironment, machine: KnobOwner) -> std::io::Result<PathBuf> {
    if machine == KnobOwner::Real {
        return Ok("/".into());
    }
    let root = place.root().join("machine");
    for (path, text) in TREE {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&root))?;
        fs::write(path, text)?;
    }
    Ok(root)
}

/// The values of all settings that a run changes: of a list, the word in brackets.
fn settings(root: &std::path::Path) -> Vec<(&'static str, String)> {
    let value = |path: &str| {
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        let word = text.split(['[', ']']).nth(1);
        word.map_or(text.clone(), |word| format!("{word}\n"))
    };
    TREE.iter().skip(1).map(|(path, _)| (*path, value(path))).collect()
}

/// What is not as it was. A list's file in a tree holds, once written, the word alone.
fn differing(before: &[(&str, String)], now: &[(&str, String)]) -> Vec<String> {
    let same = |one: &str, other: &str| one == other || (one == "madvise\n" && other == "madvise");
    let pairs = before.iter().zip(now).filter(|((_, was), (_, is))| !same(was, is));
    pairs.map(|((path, was), (_, is))| format!("{path} was {was:?}, is {is:?}")).collect()
}

/// The journals that are left: root's below the machine, a user's in the home folder.
fn journals(place: &TestEnvironment, root: &std::path::Path) -> Vec<PathBuf> {
    let roots = root.join("var/lib/plumb/journals");
    let users = place.root().join("home/.local/state/plumb/journals");
    let entries =
        [roots, users].into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

/// Only one test at a time changes this machine.
fn lock() -> std::io::Result<fs::File> {
    let file = fs::File::create(std::env::temp_dir().join("plumb-test-knobs.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Whether this process may do anything.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

fn said(error: std::io::Error) -> String {
    error.to_string()
}
