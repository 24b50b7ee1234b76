//! Kills the real binary at many moments of a run, as the ordinary tests do at a few.

use std::fmt::Write;
use std::time::{Duration, Instant};

use common::TestEnvironment;
use common::kill::{CLEAN_WITHIN, KillTime, Killed, kill_once};
use common::knobs::{self, RESTORED_WITHIN, RestoredKnobs, kill_prepared};
use common::media::{self, kill_on_medium};

#[expect(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../../../crates/cli/tests/common/mod.rs"]
mod common;
mod quiet;

/// Where the outcome is written unless somebody names another file.
const PAGE: &str = "docs/soak.md";

struct SoakOptions {
    kills: usize,
    from: u64,
    write: String,
}

/// The outcome of all kills.
#[derive(Default)]
struct KillTotals {
    killed: Vec<Killed>,
    /// Runs that had ended before the kill; they are repeated at another moment.
    late: usize,
    failures: Vec<String>,
    /// Kills of runs that change settings of the machine, and what was killed.
    restored: Vec<(knobs::KnobKill, RestoredKnobs)>,
    /// Kills of runs on a medium, and after how long nothing was left.
    on_media: Vec<(media::MediaKill, Duration)>,
}

/// Runs the chore with what was typed after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let plumb = crate::host::build()?;
    let begun = Instant::now();
    let stretches = quiet::stretches(&plumb)?;
    let mut outcome = kill_all(&options, &plumb);
    kill_all_prepared(&options, &plumb, &mut outcome);
    kill_all_on_media(&options, &plumb, &mut outcome);
    outcome.failures.extend(quiet::failures(&stretches));
    let page = page(&options, &outcome, begun.elapsed()) + &quiet::chapter(&stretches);
    print!("{page}");
    std::fs::write(&options.write, &page)
        .map_err(|error| format!("cannot write {}: {error}", options.write))?;
    match outcome.failures.len() {
        0 => Ok(()),
        failures => Err(format!("{failures} checks failed")),
    }
}

fn parse(arguments: &[String]) -> Result<SoakOptions, String> {
    let mut options = SoakOptions { kills: 100, from: 0, write: PAGE.into() };
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--kills" => options.kills = number(value)?,
            [name, value] if name == "--from" => options.from = number(value)? as u64,
            [name, value] if name == "--write" => options.write.clone_from(value),
            _ => return Err(format!("cannot read {}; {}", pair.join(" "), crate::usage::USAGE)),
        }
    }
    Ok(options)
}

fn number(value: &str) -> Result<usize, String> {
    value.parse().map_err(|_| format!("not a number: {value}"))
}

fn kill_all(options: &SoakOptions, plumb: &str) -> KillTotals {
    let mut outcome = KillTotals::default();
    // The moments are repeated in other orders; a run that ends too early repeatedly is a
    // failure too.
    for number in (options.from..).take(2 * options.kills) {
        if outcome.killed.len() + outcome.failures.len() >= options.kills {
            return outcome;
        }
        let moment = KillTime::of(number);
        let place = TestEnvironment::new(plumb).map_err(|error| error.to_string());
        match place.and_then(|place| kill_once(&place, moment)) {
            Ok(Some(killed)) => {
                if killed.cleaned_after > CLEAN_WITHIN {
                    let after = killed.cleaned_after;
                    outcome
                        .failures
                        .push(format!("kill {number} ({moment:?}): clean after {after:?}"));
                }
                outcome.killed.push(killed);
            }
            Ok(None) => outcome.late += 1,
            Err(why) => outcome.failures.push(format!("kill {number} ({moment:?}): {why}")),
        }
        let done = outcome.killed.len();
        let failed = outcome.failures.len();
        eprintln!("{done} of {} kills, {failed} failures", options.kills);
    }
    outcome.failures.push(format!("{} runs ended before their kill", outcome.late));
    outcome
}

/// As many kills again, of plumb, of its keeper and of both, while settings are changed.
fn kill_all_prepared(options: &SoakOptions, plumb: &str, outcome: &mut KillTotals) {
    // A run that ends before its kill does not count, so there are twice as many tries as kills.
    for number in (options.from..).take(2 * options.kills) {
        if outcome.restored.len() == options.kills {
            return;
        }
        let moment = knobs::KnobKill::of(number);
        let place = TestEnvironment::new(plumb).map_err(|error| error.to_string());
        match place.and_then(|place| kill_prepared(&place, moment)) {
            Ok(Some(restored)) => {
                if restored.after > RESTORED_WITHIN {
                    let after = restored.after;
                    outcome
                        .failures
                        .push(format!("knobs {number} ({moment:?}): restored after {after:?}"));
                }
                outcome.restored.push((moment, restored));
            }
            Ok(None) => {}
            Err(why) => outcome.failures.push(format!("knobs {number} ({moment:?}): {why}")),
        }
        eprintln!("{} of {} kills of knobs", outcome.restored.len(), options.kills);
    }
    let made = outcome.restored.len();
    let wanted = options.kills;
    outcome.failures.push(format!("knobs: only {made} of {wanted} runs lived until their kill"));
}

/// As many kills again, of plumb, of its keeper and of both, while media stand.
fn kill_all_on_media(options: &SoakOptions, plumb: &str, outcome: &mut KillTotals) {
    if !knobs::is_root() {
        outcome.failures.push("media need root".into());
        return;
    }
    // A run that ends before its kill does not count, so there are twice as many tries as kills.
    for number in (options.from..).take(2 * options.kills) {
        if outcome.on_media.len() == options.kills {
            return;
        }
        let moment = media::MediaKill::of(number);
        let place = TestEnvironment::new(plumb).map_err(|error| error.to_string());
        match place.and_then(|place| kill_on_medium(&place, moment)) {
            Ok(Some(after)) => {
                if after > CLEAN_WITHIN {
                    outcome
                        .failures
                        .push(format!("media {number} ({moment:?}): gone after {after:?}"));
                }
                outcome.on_media.push((moment, after));
            }
            Ok(None) => {}
            Err(why) => outcome.failures.push(format!("media {number} ({moment:?}): {why}")),
        }
        eprintln!("{} of {} kills on media", outcome.on_media.len(), options.kills);
    }
    let made = outcome.on_media.len();
    let wanted = options.kills;
    outcome.failures.push(format!("media: only {made} of {wanted} runs lived until their kill"));
}

fn page(options: &SoakOptions, outcome: &KillTotals, took: Duration) -> String {
    let KillTotals { killed, late, failures, restored, on_media } = outcome;
    let verdict = match failures.len() {
        0 => "All checks passed.".to_owned(),
        failures => format!("**{failures} checks failed.**"),
    };
    let mut page = format!(
        "# Soak: kill -9 at any moment\n\n\
         Written by `cargo xtask soak --kills {} --from {}` on {} in {} s on {}; do not edit. {verdict}\n\n",
        options.kills,
        options.from,
        crate::host::today(),
        took.as_secs(),
        crate::host::machine(),
    );
    page.push_str(PROMISES);
    for (name, value) in rows(killed, *late) {
        _ = writeln!(page, "| {name} | {value} |");
    }
    page.push_str(SETTINGS);
    for (name, value) in rows_of_knobs(restored) {
        _ = writeln!(page, "| {name} | {value} |");
    }
    page.push_str(MEDIA);
    for (name, value) in rows_of_media(on_media) {
        _ = writeln!(page, "| {name} | {value} |");
    }
    for failure in failures {
        _ = writeln!(page, "\n```text\n{failure}\n```");
    }
    page
}

const PROMISES: &str = "\
A suite of short points (computation, a file, several processes, a command that leaves a process in another session, and, \
in every fifth run, ssh) runs alongside a load, while another process reads the store. plumb gets SIGKILL once a certain number \
of invocations (from none to all but one) have visible samples, or up to 0.4 s later. Then:\n\n\
- every sample that was visible before is unchanged, and the store is intact;\n\
- after 2 s no process, mount or temporary file remains;\n\
- `plumb show` reports `interrupted`; `plumb run --resume` completes the run with exit code 0; the results include all \
earlier samples, and points measured before and after have the flag `resumed`.\n\n\
| | |\n|---|---|\n";

fn rows(killed: &[Killed], late: usize) -> Vec<(&'static str, String)> {
    let unstored = killed.iter().filter(|kill| !kill.resumed).count();
    let with_samples = killed.iter().filter(|kill| kill.seen > 0).count();
    let seen: usize = killed.iter().map(|kill| kill.seen).sum();
    let stored: usize = killed.iter().map(|kill| kill.stored).sum();
    let slowest = killed.iter().map(|kill| kill.cleaned_after).max().unwrap_or_default();
    let most = killed.iter().map(|kill| kill.processes).max().unwrap_or(0);
    vec![
        ("kills", killed.len().to_string()),
        ("before any data was stored", unstored.to_string()),
        ("with visible samples", with_samples.to_string()),
        ("runs that ended before their kill (not counted)", late.to_string()),
        ("values visible before the kills, all found again", seen.to_string()),
        ("values after all resumes", stored.to_string()),
        ("most processes alive at a kill", most.to_string()),
        (
            "longest clean-up",
            format!("{} ms of {} ms allowed", slowest.as_millis(), CLEAN_WITHIN.as_millis()),
        ),
    ]
}

const SETTINGS: &str = "
## Settings of the machine

A run sets huge pages and swappiness for its duration, swappiness for each round and the ICMP limit for each invocation \
(plus, in a fake file tree, turbo and two CPUs' governors). Up to 0.7 s after its start, plumb, its keeper, or both are \
killed; if both, another plumb starts. Within 2 s, every file must have its old value and no journal may remain. As \
root, every second kill uses this machine's real settings.\n\n\
| | |\n|---|---|\n";

const KILLS: &str = "kills of plumb, the keeper, both";

fn kills(victims: &[knobs::Victim]) -> String {
    let of = |victim: knobs::Victim| victims.iter().filter(|other| **other == victim).count();
    let [plumb, keeper, both] =
        [knobs::Victim::Plumb, knobs::Victim::Keeper, knobs::Victim::Both].map(of);
    format!("{plumb}, {keeper}, {both}")
}

fn rows_of_knobs(restored: &[(knobs::KnobKill, RestoredKnobs)]) -> Vec<(&'static str, String)> {
    let victims: Vec<knobs::Victim> = restored.iter().map(|(moment, _)| moment.victim).collect();
    let on_this_machine =
        restored.iter().filter(|(moment, _)| moment.machine == knobs::KnobOwner::Real).count();
    let changed = restored.iter().filter(|(_, restored)| restored.changed > 0).count();
    let slowest = restored.iter().map(|(_, restored)| restored.after).max().unwrap_or_default();
    let allowed = RESTORED_WITHIN.as_millis();
    vec![
        (KILLS, kills(&victims)),
        ("on this machine's real settings", on_this_machine.to_string()),
        ("with settings changed at the moment of the kill", changed.to_string()),
        ("longest restoration", format!("{} ms of {allowed} ms allowed", slowest.as_millis())),
    ]
}

const MEDIA: &str = "
## Media

During a run on a medium (`ram+ext4`, `loop+ext2`, `ram+ext4+fscrypt`, `loop+ext4+loop+ext4`), plumb, its \
keeper, or both are killed up to 0.7 s after the first worker starts. After 2 s no process, mount, loop device or file may \
remain, except empty folders if both were killed.\n\n\
| | |\n|---|---|\n";

fn rows_of_media(killed: &[(media::MediaKill, Duration)]) -> Vec<(&'static str, String)> {
    let victims: Vec<knobs::Victim> = killed.iter().map(|(moment, _)| moment.victim).collect();
    let slowest = killed.iter().map(|(_, after)| *after).max().unwrap_or_default();
    let allowed = CLEAN_WITHIN.as_millis();
    vec![
        (KILLS, kills(&victims)),
        ("longest clean-up", format!("{} ms of {allowed} ms allowed", slowest.as_millis())),
    ]
}
