//! Changes of the kind that people and scripts make of a result: lines repeated, lost, or of another unit, and figures of 0. A
//! reader does not panic, and gives no figure that the file does not have: fields of two results are never mixed.

use plumb_classics::{Format, read};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

use crate::conformance::figures;
use crate::{check, fixtures, run};

/// Units that are swapped for each other.
const UNITS: [(&str, &str); 6] =
    [("ms", "us"), ("MiB", "GiB"), ("MB/s", "GB/s"), (" sec", " min"), ("us", "s"), ("%", " ms")];

/// What is done with a line.
fn mutated(line: &str, how: usize) -> Vec<String> {
    match how % 4 {
        0 => vec![line.to_owned(), line.to_owned()],
        1 => Vec::new(),
        2 => {
            let zeros = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
            vec![zeros.collect()]
        }
        _ => {
            let (from, to) = UNITS[how / 4 % UNITS.len()];
            vec![line.replace(from, to)]
        }
    }
}

/// Whether two figures are the same but for the digits that a tool rounds.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 2e-3 * one.abs().max(other.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_lines_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..24), 1..4),
    ) {
        let fixtures = fixtures();
        let (_, text) = which.get(&fixtures);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (place, how) in changes {
            if !lines.is_empty() {
                let at = place.index(lines.len());
                lines.splice(at..=at, mutated(&lines[at].clone(), how));
            }
        }
        let changed = lines.join("\n") + "\n";
        for format in Format::ALL.into_iter().map(Some).chain([None]) {
            for import in read(&changed, format, None).unwrap_or_default().imports {
                check(&run(&import, &changed));
            }
        }
    }

    #[test]
    fn lines_that_are_lost_or_repeated_give_no_new_figure(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..2), 1..4),
    ) {
        let fixtures = fixtures();
        let (name, text) = which.get(&fixtures);
        let mut whole = figures(&read(text, None, None).unwrap());
        // The averages of mbw count if its passes are lost.
        let averages = text.lines().filter(|line| line.starts_with("AVG"));
        let averages: String = averages.map(|line| format!("{line}\n")).collect();
        whole.extend(read(&averages, None, None).map(|file| figures(&file)).unwrap_or_default());
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (place, how) in changes {
            if !lines.is_empty() {
                let at = place.index(lines.len());
                lines.splice(at..=at, mutated(&lines[at].clone(), how));
            }
        }
        let Ok(file) = read(&(lines.join("\n") + "\n"), None, None) else { return Ok(()) };
        for (point, metric, value) in figures(&file) {
            let known = whole.iter().any(|(_, other, known)| {
                *other == metric && is_same(value, *known)
            });
            // A job that moved nothing has figures of 0 if its error is lost.
            assert!(known || value == 0.0 || metric.starts_with("failed"), "{name}: {point} {metric} {value}");
        }
    }
}
