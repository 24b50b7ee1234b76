//! Commands whose first run did other work than those after it: `make` that has nothing to do again.

use plumb_model::{Flag, FlagKind};
use plumb_stats::describe::median;

use crate::one_run::point_data::PointData;

/// Fewest runs after the first that say what is usual.
const FEWEST: usize = 4;
/// The first is so many times more, or less, than is usual; caches and neighbours make less of a difference.
const TIMES: f64 = 2.0;
/// Differences below these do not matter, in seconds of CPU time and bytes written.
const LEAST_CPU: f64 = 0.010;
const LEAST_WRITTEN: f64 = 65_536.0;

/// What the first run used and wrote beside what the others did, warm-up included, in the order in which they ran.
pub(crate) fn work_differs(data: &PointData) -> Option<Flag> {
    if !data.samples_are_processes() {
        return None;
    }
    let of = |name: &str| -> Vec<f64> {
        data.invocations
            .iter()
            .filter_map(|invocation| invocation.samples.values.get(name))
            .flatten()
            .copied()
            .collect()
    };
    let cpu = differs(&of("cpu"), LEAST_CPU).map(|(first, others)| {
        format!("{:.0} ms of CPU time (median of the others: {:.0} ms)", first * 1e3, others * 1e3)
    });
    let written = differs(&of("written"), LEAST_WRITTEN).map(|(first, others)| {
        format!(
            "{:.0} KiB written (median of the others: {:.0} KiB)",
            first / 1024.0,
            others / 1024.0
        )
    });
    let seen: Vec<String> = cpu.into_iter().chain(written).collect();
    (!seen.is_empty()).then(|| {
        let why = format!(
            "the first run shows {}: the runs do not do the same work; --before-each can restore the state before each run",
            seen.join(", and ")
        );
        Flag::new(FlagKind::WorkDiffers, why)
    })
}

/// The first value and the median of the others, if they are far apart.
fn differs(values: &[f64], least: f64) -> Option<(f64, f64)> {
    let (&first, others) = values.split_first()?;
    if others.len() < FEWEST {
        return None;
    }
    let usual = median(others)?;
    let apart = (first - usual).abs() > least && first.max(usual) > TIMES * first.min(usual);
    apart.then_some((first, usual))
}

#[cfg(test)]
mod tests {
    use super::differs;

    #[test]
    fn only_a_large_difference_of_the_first_counts() {
        assert_eq!(differs(&[5.0, 0.01, 0.01, 0.02, 0.01], 0.01), Some((5.0, 0.01)));
        assert_eq!(differs(&[0.01, 5.0, 5.0, 5.0, 5.0], 0.01), Some((0.01, 5.0)));
        assert_eq!(differs(&[0.019, 0.01, 0.01, 0.01, 0.01], 0.01), None, "too small");
        assert_eq!(differs(&[1.9, 1.0, 1.0, 1.0, 1.0], 0.01), None, "too close");
        assert_eq!(differs(&[1.0, 1.0, 5.0, 1.0, 1.0], 0.01), None, "not the first");
        assert_eq!(differs(&[5.0, 1.0, 1.0, 1.0], 0.01), None, "too few");
        assert_eq!(differs(&[], 0.01), None);
    }
}
