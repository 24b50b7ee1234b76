//! What two CPUs keep while both work, as a sentence beside what the kernel says of them.

use crate::one_run::finding::Finding;

/// The workload whose remark names the pair, and its metric: speed together over speed alone.
const KEPT: (&str, &str) = ("cpu.share", "kept");

/// What stands between the pair and the kernel's word in that remark.
const BETWEEN: &str = "; the kernel ";

/// Says in the remarks of each pair how much it keeps: `CPUs 0 and 1 keep 54 % [52, 56] each; the kernel reports two cores`.
pub(crate) fn say(results: &mut [Finding]) {
    let kept =
        results.iter_mut().filter(|result| (&*result.point.workload, &*result.metric) == KEPT);
    for finding in kept {
        let keep = format!(" keep {} each", percent(finding));
        let pair = finding.notes.iter_mut().find(|note| note.contains(BETWEEN));
        if let Some(note) = pair {
            *note = note.replacen(BETWEEN, &format!("{keep}{BETWEEN}"), 1);
        }
    }
}

/// In whole percent, with the interval where there is one.
fn percent(finding: &Finding) -> String {
    let estimate = finding.shown();
    let ends = estimate.interval.ok().map(|ends| (ends.low, ends.high));
    plumb_units::percent_with_ends(estimate.value, ends)
}

#[cfg(test)]
mod tests {
    use super::say;
    use crate::summarise;
    use crate::testing::{Builder, COPY, Spec};

    #[test]
    fn a_pair_keeps_so_much_beside_what_the_kernel_says() {
        let spec = Spec { id: "cpu.share", metric: "kept", unit: "", value: 0.54, ..COPY };
        let record = Builder::new(None).measured(&spec).build();
        let mut results = summarise(&record).results;
        results[0].notes = vec!["CPUs 0 and 1; the kernel reports two cores".into()];
        say(&mut results);
        let note = &results[0].notes[0];
        assert!(note.starts_with("CPUs 0 and 1 keep 5") && note.contains(" % ["), "{note}");
        assert!(note.ends_with("] each; the kernel reports two cores"), "{note}");
        let other = Spec { id: "cpu.integer", ..spec };
        let record = Builder::new(None).measured(&other).build();
        let mut results = summarise(&record).results;
        results[0].notes = vec!["CPUs 0 and 1; the kernel reports two cores".into()];
        say(&mut results);
        assert_eq!(results[0].notes, ["CPUs 0 and 1; the kernel reports two cores"]);
    }
}
