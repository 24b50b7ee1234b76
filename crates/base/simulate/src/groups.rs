//! Every bar of the validation, listed by hand, and the loop that measures them all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::bars::ValidationRow;
use crate::{
    baselines, best_quarter, builds, causes, checks, curves, fixed, gates, health, histories,
    levels, limits, looks, outlying_hosts, ranks, ratchet, runs, searches, sequences, sessions,
    side_effects, standing_out, steady, stopping, suites, times, traces, verdicts,
};

/// Measures some bars with so many replications a cell, and hands over each row as it is done.
pub type MeasureBars = fn(u64, &mut dyn FnMut(ValidationRow));

/// Every bar, in groups by name that can be measured by themselves, in the order of the report.
pub const GROUPS: [(&str, MeasureBars); 33] = [
    ("stopping", stopping::standard),
    ("stopping-long-samples", stopping::long_samples),
    ("stopping-after-pilot", stopping::after_pilot),
    ("stopping-commands", stopping::commands),
    ("stopping-one-process", stopping::one_process),
    ("cost", stopping::cost),
    ("fixed", fixed::run),
    ("best-quarter", best_quarter::run),
    ("looks", looks::run),
    ("verdicts", verdicts::run),
    ("side-effects", side_effects::run),
    ("times", times::run),
    ("runs", runs::run),
    ("searches", searches::run),
    ("standing-out", standing_out::run),
    ("outlying-hosts", outlying_hosts::run),
    ("quick-checks", health::run),
    ("ranks", ranks::run),
    ("suites", suites::run),
    ("checks", checks::run),
    ("baselines", baselines::run),
    ("causes", causes::run),
    ("ratchet", ratchet::run),
    ("sessions", sessions::run),
    ("builds", builds::run),
    ("gates", gates::run),
    ("histories", histories::run),
    ("sequences", sequences::run),
    ("steady", steady::run),
    ("levels", levels::run),
    ("limits", limits::run),
    ("curves", curves::run),
    ("traces", traces::run),
];

/// Measures all groups, on as many threads as there are CPUs; rows are handed over in order, a group at a time.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    run_each(&|_| replications, report);
}

/// The same, with as many replications a cell as `replications` says of the group's name.
fn run_each(replications: &(dyn Fn(&str) -> u64 + Sync), report: &mut dyn FnMut(ValidationRow)) {
    let next = AtomicUsize::new(0);
    let (send, received) = mpsc::channel();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            let next = &next;
            let send = send.clone();
            scope.spawn(move || {
                loop {
                    // Groups take from seconds to minutes: a thread that is free takes the next one.
                    let group = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, measure)) = GROUPS.get(group) else { break };
                    let mut rows = Vec::new();
                    measure(replications(name), &mut |row| rows.push(row));
                    // Only a receiver that panicked does not listen.
                    _ = send.send((group, rows));
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (group, rows) in received {
            waiting.insert(group, rows);
            while let Some(rows) = waiting.remove(&due) {
                rows.into_iter().for_each(&mut *report);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::run_each;

    /// Few: three of the groups would take most of the time.
    fn replications(group: &str) -> u64 {
        match group {
            "side-effects" => 12,
            "traces" => 30,
            "searches" => 10,
            _ => 50,
        }
    }

    #[test]
    fn every_bar_is_cleared_in_a_quick_run() {
        let mut failed = Vec::new();
        run_each(&replications, &mut |row| {
            if !row.passes() {
                failed.push(row);
            }
        });
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
