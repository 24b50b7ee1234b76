//! The one sample that answers a trial of a search.

use std::collections::BTreeMap;

use crate::sample::Samples;
use crate::search::{BAD, DURATION, GOOD, LOAD, OFFERED};

/// The most operations of a trial: every count up to here is its own number.
const MOST_OPERATIONS: f64 = 9_007_199_254_740_992.0;

/// The columns of a trial that took this long.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub fn trial_samples(start_ns: u64, elapsed_ns: u64, cpu: i32, offered: u64, good: u64) -> Samples {
    let bad = offered.saturating_sub(good);
    Samples {
        start_ns: vec![start_ns],
        elapsed_ns: vec![elapsed_ns.max(1)],
        iterations: vec![offered.max(1)],
        cpu: vec![cpu],
        values: BTreeMap::from([
            (OFFERED.to_owned(), vec![offered as f64]),
            (GOOD.to_owned(), vec![good as f64]),
            (BAD.to_owned(), vec![bad as f64]),
        ]),
        ..Samples::default()
    }
}

/// Adds to the one sample of a trial what was asked for.
#[expect(clippy::cast_precision_loss, reason = "a trial lasts far less than 2^53 ns")]
pub fn note_trial(samples: &mut Samples, load: f64, duration_ns: u64) {
    samples.values.insert(LOAD.to_owned(), vec![load]);
    samples.values.insert(DURATION.to_owned(), vec![duration_ns as f64 * 1e-9]);
}

/// Whether samples are what answers a trial: one sample, which counts operations that were offered, good and bad.
///
/// # Errors
/// The error in it.
pub fn check_trial(samples: &Samples) -> Result<(), String> {
    if samples.len() != 1 {
        return Err(format!("it answered a trial with {} samples instead of one", samples.len()));
    }
    let offered = operations(samples, OFFERED)?;
    let good = operations(samples, GOOD)?;
    let bad = operations(samples, BAD)?;
    if good > offered {
        return Err(format!(
            "its trial has more good operations ({good}) than offered ({offered})"
        ));
    }
    if (good + bad - offered).abs() > 0.0 {
        return Err(format!(
            "its trial offered {offered} operations, of which {good} are good and {bad} bad: \
             these are {}",
            good + bad
        ));
    }
    Ok(())
}

/// The number of operations that a column of the only sample has.
fn operations(samples: &Samples, name: &str) -> Result<f64, String> {
    match samples.values.get(name).and_then(|column| column.first()) {
        None => {
            Err(format!("its trial has no `{name}`: it counts offered, good and bad operations"))
        }
        Some(count) if count.fract().abs() > 0.0 || !(0.0..=MOST_OPERATIONS).contains(count) => {
            Err(format!(
                "its trial reports {count} `{name}` operations, not a whole number from 0 to {MOST_OPERATIONS}"
            ))
        }
        Some(count) => Ok(*count),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_trial, note_trial, trial_samples};
    use crate::search::trials;

    #[test]
    fn a_trial_comes_back_as_it_was_asked_for_and_answered() {
        for (load, duration_ns, offered) in [(1234.567, 50_000_000, 62), (0.1, 7_745_966_692, 0)] {
            let mut samples = trial_samples(5, 60_000_000, 1, offered, offered / 2);
            check_trial(&samples).unwrap();
            note_trial(&mut samples, load, duration_ns);
            samples.check().unwrap();
            let [trial] = trials(&samples.values, &samples.elapsed_ns).unwrap()[..] else {
                panic!()
            };
            assert_eq!(
                (trial.duration_ns, trial.offered, trial.good),
                (duration_ns, offered, offered / 2)
            );
            assert!((trial.load - load).abs() < 1e-12 && trial.elapsed_ns == 60_000_000);
        }
    }

    #[test]
    fn counts_that_do_not_add_up_are_refused_with_the_reason() {
        let with = |name: &str, count: f64| {
            let mut samples = trial_samples(5, 6, 1, 100, 90);
            samples.values.insert(name.into(), vec![count]);
            check_trial(&samples).unwrap_err()
        };
        assert!(with("good", 101.0).contains("more good operations (101) than offered (100)"));
        assert!(with("bad", 11.0).contains("90 are good and 11 bad: these are 101"));
        assert!(with("offered", 99.5).contains("not a whole number"));
        assert!(with("bad", -10.0).contains("not a whole number"));
        assert!(with("offered", f64::INFINITY).contains("not a whole number"));
        let mut lacking = trial_samples(5, 6, 1, 100, 90);
        lacking.values.remove("bad");
        assert!(check_trial(&lacking).unwrap_err().contains("no `bad`"));
        assert!(check_trial(&crate::Samples::default()).unwrap_err().contains("0 samples"));
    }
}
