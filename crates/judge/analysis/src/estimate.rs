//! Medians with intervals, from samples grouped by process.

use plumb_stats::describe::median;
use plumb_stats::flicker::{self, Taken, TooNoisy};
use plumb_stats::precision::{PER_LOOK_LEVEL, clustered, clustered_estimate, serial_quantile};
use plumb_stats::sequence::widening;
use plumb_stats::{Interval, NoInterval};

use crate::method::CONFIDENCE;

pub use plumb_model::{Ends, Estimate};

/// An estimate and the number of independent samples that it rests on.
pub(crate) struct Estimated {
    pub(crate) estimate: Estimate,
    pub(crate) n_eff: Option<f64>,
    /// Neighbours in time that make one independent unit; None where processes are not the units.
    pub(crate) stretch: Option<usize>,
    /// Whether the session was long enough to know its own memory.
    pub(crate) resolved: bool,
}

/// The median over processes. None without samples, or with one that is no number.
///
/// One process with many samples gets the interval of a single series (docs/method.md, *Precision*); more
/// processes get the interval over processes (mode P). A lone sample a process is never a series. `level` is
/// [`PER_LOOK_LEVEL`] where somebody may have looked before, see [`crate::method::level`].
pub(crate) fn median_of_processes(processes: &[&[f64]], level: f64) -> Option<Estimated> {
    let value = match processes {
        [series] => median(series)?,
        _ => clustered_estimate(processes, 0.5)?,
    };
    match processes {
        [series] if series.len() > 1 => {
            let found = serial_quantile(series, 0.5, level);
            let n_eff = found.as_ref().ok().map(|serial| serial.n_eff);
            let estimate = estimate(value, found.map(|serial| serial.interval));
            Some(Estimated { estimate, n_eff, stretch: None, resolved: true })
        }
        _ => {
            let found = clustered(processes, 0.5, level);
            let n_eff = worth(processes, value);
            let stretch = found.as_ref().ok().map(|found| found.stretch);
            let resolved = found.as_ref().map_or(true, |found| found.resolved);
            let estimate = estimate(value, found.map(|found| found.interval));
            Some(Estimated { estimate, n_eff, stretch, resolved })
        }
    }
}

/// The median over processes of a run without a planned end, or before it: its interval holds at all
/// times at once.
pub(crate) fn median_at_any_time(processes: &[&[f64]]) -> Option<Estimated> {
    let found = median_of_processes(processes, PER_LOOK_LEVEL)?;
    let factor = widening(processes.len(), CONFIDENCE).map_err(|why| why.to_string());
    let value = found.estimate.value;
    let interval = found
        .estimate
        .interval
        .and_then(|ends| factor.map(|factor| widened_by(factor, value, ends)));
    Some(Estimated { estimate: Estimate { value, interval }, ..found })
}

/// An interval `factor` times as wide around `value`: on the log scale if everything is positive, so that no bound
/// reaches zero.
fn widened_by(factor: f64, value: f64, ends: Ends) -> Ends {
    if ends.low > 0.0 && value > 0.0 {
        let low = value * (ends.low / value).powf(factor);
        return Ends { low, high: value * (ends.high / value).powf(factor) };
    }
    let low = value + factor * (ends.low - value);
    Ends { low, high: value + factor * (ends.high - value) }
}

/// How a session was taken, and the unit of its values.
pub(crate) struct SessionFacts<'a> {
    /// Seconds from its first sample to its last, where samples have times.
    pub(crate) seconds: Option<f64>,
    /// Whether the machine had other work.
    pub(crate) beside: bool,
    /// The unit of the metric, in SI base units.
    pub(crate) unit: &'a str,
}

/// The interval of this machine over ten minutes, from that of a session; or, as in [`Estimate`], the words to show if
/// the session is too noisy. None if the session says nothing of the minutes around it.
pub(crate) fn machine_interval(
    session: &Estimate,
    processes: &[&[f64]],
    facts: &SessionFacts<'_>,
) -> Option<Result<Ends, String>> {
    let ends = session.interval.as_ref().ok()?;
    let (is_series, units) = match processes {
        [series] => (true, series.to_vec()),
        _ => (false, processes.iter().filter_map(|samples| median(samples)).collect()),
    };
    let interval = Interval { estimate: session.value, low: ends.low, high: ends.high };
    let taken = Taken { units: &units, seconds: facts.seconds?, beside: facts.beside, is_series };
    Some(match flicker::machine_interval(interval, taken, CONFIDENCE)? {
        Ok(found) => Ok(Ends { low: found.low, high: found.high }),
        Err(noisy) => Err(too_noisy_text(&noisy, facts.unit)),
    })
}

/// `too noisy to say: 12.0 ns to 133 ns seen`.
fn too_noisy_text(noisy: &TooNoisy, unit: &str) -> String {
    let lowest = plumb_units::quantity(noisy.lowest, unit);
    let highest = plumb_units::quantity(noisy.highest, unit);
    format!("too noisy to say: {lowest} to {highest} seen")
}

/// Joins a value with its interval or the reason why there is none.
pub(crate) fn estimate(value: f64, interval: Result<Interval, NoInterval>) -> Estimate {
    let interval = match interval {
        Ok(found) => Ok(Ends { low: found.low, high: found.high }),
        Err(reason) => Err(reason.to_string()),
    };
    Estimate { value, interval }
}

/// How many independent samples the pool is worth for its median: what processes explain of the
/// share of samples below it is paid for.
#[expect(clippy::cast_precision_loss, reason = "sample counts stay far below 2^53")]
fn worth(processes: &[&[f64]], median: f64) -> Option<f64> {
    let count = processes.len() as f64;
    let n: f64 = processes.iter().map(|samples| samples.len() as f64).sum();
    if processes.len() < 2 {
        return None;
    }
    let squares: f64 = processes.iter().map(|samples| excess_below(samples, median).powi(2)).sum();
    let clustered = count / (count - 1.0) * squares;
    let independent = n / 4.0;
    Some(if clustered > independent { n * independent / clustered } else { n })
}

/// How many more samples than half lie below; ties count half.
fn excess_below(samples: &[f64], median: f64) -> f64 {
    samples
        .iter()
        .map(|&x| {
            if x < median {
                0.5
            } else if x > median {
                -0.5
            } else {
                0.0
            }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{
        Ends, PER_LOOK_LEVEL, SessionFacts, machine_interval, median_at_any_time,
        median_of_processes, widened_by, worth,
    };

    #[test]
    fn nothing_and_nonsense_give_no_estimate() {
        assert!(median_of_processes(&[], PER_LOOK_LEVEL).is_none());
        assert!(median_of_processes(&[&[]], PER_LOOK_LEVEL).is_none());
        assert!(median_of_processes(&[&[1.0, f64::NAN]], PER_LOOK_LEVEL).is_none());
    }

    #[test]
    fn few_processes_keep_the_estimate_and_say_why_there_is_no_interval() {
        let found =
            median_of_processes(&[&[1.0, 2.0], &[3.0, 4.0]], PER_LOOK_LEVEL).unwrap().estimate;
        assert!((found.value - 2.5).abs() < 1e-12);
        assert!(found.interval.unwrap_err().starts_with("too few processes: 2"));
    }

    #[test]
    fn an_interval_for_any_time_is_wider_and_comes_later() {
        let process = |i: u32| [100.0 + f64::from(i * 7919 % 101) / 50.0; 3];
        let all: Vec<[f64; 3]> = (0..40).map(process).collect();
        let slices: Vec<&[f64]> = all.iter().map(<[f64; 3]>::as_slice).collect();
        let once = median_of_processes(&slices, PER_LOOK_LEVEL).unwrap().estimate;
        let always = median_at_any_time(&slices).unwrap().estimate;
        assert!(always.value == once.value && always.low() < once.low(), "{once:?} {always:?}");
        assert!(always.high() > once.high(), "{once:?} {always:?}");
        let early = median_at_any_time(&slices[..19]).unwrap().estimate;
        assert_eq!(early.interval.unwrap_err(), "too few processes: 19, needs 20");
        assert!(
            median_of_processes(&slices[..19], PER_LOOK_LEVEL).unwrap().estimate.interval.is_ok()
        );
    }

    #[test]
    fn a_wider_interval_of_positive_values_does_not_reach_zero() {
        let wider = widened_by(4.0, 40.0, Ends { low: 20.0, high: 60.0 });
        assert!((wider.low - 2.5).abs() < 1e-9 && (wider.high - 202.5).abs() < 1e-9, "{wider:?}");
        let around_zero = widened_by(4.0, 1.0, Ends { low: 0.0, high: 2.0 });
        assert_eq!(around_zero, Ends { low: -3.0, high: 5.0 });
    }

    #[test]
    fn the_machine_of_a_very_noisy_session_has_words_and_no_interval() {
        // Latencies of 20 and of 160 ns for half of the session each, after one of 12 and one of 200.
        let mut values = vec![12e-9, 200e-9];
        values.extend((0..20_u32).map(|at| 20e-9 * (1.0 + f64::from(at % 3) / 100.0)));
        values.extend((0..20_u32).map(|at| 160e-9 * (1.0 + f64::from(at % 3) / 100.0)));
        let processes: Vec<&[f64]> = values.chunks(1).collect();
        let session = median_of_processes(&processes, PER_LOOK_LEVEL).unwrap().estimate;
        assert!(session.interval.is_ok());
        let facts = SessionFacts { seconds: Some(20.0), beside: false, unit: "s" };
        let found = machine_interval(&session, &processes, &facts).unwrap();
        assert_eq!(found.unwrap_err(), "too noisy to say: 12.0 ns to 200 ns seen");
        let short = SessionFacts { seconds: Some(1.0), ..facts };
        assert!(machine_interval(&session, &processes, &short).is_none());
    }

    #[test]
    fn samples_that_only_repeat_their_process_are_worth_one_each() {
        let low = [1.0; 10];
        let high = [2.0; 10];
        let processes: Vec<&[f64]> = vec![&low, &high, &low, &high, &low, &high, &low, &high];
        let n_eff = worth(&processes, 1.5).unwrap();
        assert!((7.0..=8.0).contains(&n_eff), "{n_eff}");
    }

    #[test]
    fn a_long_single_process_is_a_series() {
        let series: Vec<f64> = (0..400_u32).map(|i| f64::from(i * 7919 % 101)).collect();
        let found = median_of_processes(&[&series], PER_LOOK_LEVEL).unwrap();
        assert!(found.estimate.interval.is_ok() && found.n_eff.is_some());
    }
}
