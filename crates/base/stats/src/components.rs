//! Where the noise comes from, samples or processes, and how many samples a process should therefore give.
//!
//! Kalibera & Jones, "Rigorous benchmarking in reasonable time" (2013, corrected edition), with the long-run variance
//! in place of the plain one within a process: docs/method.md, *Variance components*.

use crate::NoInterval;
use crate::describe::{finite, mean_of, variance_of};
use crate::long_run::long_run;

/// The fewest samples to take from a process.
pub const FEWEST_SAMPLES: usize = 5;
/// The most samples to take from a process, and the number if processes do not differ at all.
pub const MOST_SAMPLES: usize = 100;

/// Variances of samples within a process and of processes, in the square of the samples' unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Long-run variance of samples within a process, averaged over processes.
    pub within: f64,
    /// Variance of the processes' true means; 0 if the observed means differ no more than their samples explain.
    pub between: f64,
    /// Variance of the observed means, as a check: about `between` + `within` / samples a process.
    pub of_means: f64,
}

/// Splits the noise. Give logarithms of times to have relative variances.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below two processes, [`NoInterval::TooFewSamples`] if one has fewer than two,
/// [`NoInterval::NotFinite`].
pub fn components(processes: &[&[f64]]) -> Result<Components, NoInterval> {
    processes.iter().try_for_each(|samples| finite(samples))?;
    if processes.len() < 2 {
        return Err(NoInterval::TooFewProcesses { have: processes.len(), need: 2 });
    }
    let within = processes
        .iter()
        .map(|samples| Ok(long_run(samples)?.variance))
        .collect::<Result<Vec<_>, _>>()?;
    let errors: Vec<f64> =
        within.iter().zip(processes).map(|(v, samples)| v / samples.len() as f64).collect();
    let means: Vec<f64> = processes.iter().map(|samples| mean_of(samples)).collect();
    let of_means = variance_of(&means);
    Ok(Components {
        within: mean_of(&within),
        // The means of processes also differ because of the samples in them; that part comes off.
        between: (of_means - mean_of(&errors)).max(0.0),
        of_means,
    })
}

/// How many samples a process should give for the narrowest interval at a given cost.
///
/// `cost_sample` is the time of one sample, `cost_process` that of a spawn with its warm-up, in the same unit. Within
/// [`FEWEST_SAMPLES`] and [`MOST_SAMPLES`]; the caller may go down to 3 if a sample lasts over 50 ms.
pub fn samples_per_process(components: &Components, cost_sample: f64, cost_process: f64) -> usize {
    let best =
        (cost_process / cost_sample * (components.within / components.between)).sqrt().ceil();
    // Without differences between processes (a division by 0) only the number of samples counts.
    if best.is_nan() || components.between <= 0.0 {
        return MOST_SAMPLES;
    }
    (best as usize).clamp(FEWEST_SAMPLES, MOST_SAMPLES)
}

#[cfg(test)]
mod tests {
    use super::{Components, components, samples_per_process};
    use crate::NoInterval;
    use crate::rng::Rng;

    fn mean_components(between_sd: f64, samples: usize) -> (f64, f64) {
        let mut rng = Rng::new(11);
        let mut within = 0.0;
        let mut between = 0.0;
        for _ in 0..400 {
            let processes: Vec<Vec<f64>> = (0..12)
                .map(|_| {
                    let level = between_sd * rng.normal();
                    (0..samples).map(|_| level + rng.normal()).collect()
                })
                .collect();
            let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
            let found = components(&views).unwrap();
            within += found.within / 400.0;
            between += found.between / 400.0;
        }
        (within, between)
    }

    #[test]
    fn both_parts_are_recovered_on_average() {
        let (within, between) = mean_components(1.0, 100);
        assert!((within - 1.0).abs() < 0.15, "{within}");
        assert!((between - 1.0).abs() < 0.1, "{between}");
    }

    #[test]
    fn equal_processes_have_nothing_between() {
        let (_, between) = mean_components(0.0, 100);
        assert!(between < 0.01, "{between}");
    }

    #[test]
    fn the_optimum_follows_costs_and_variances() {
        let even = Components { within: 4.0, between: 1.0, of_means: 1.4 };
        assert_eq!(samples_per_process(&even, 1.0, 25.0), 10);
        assert_eq!(samples_per_process(&even, 1.0, 1.0), 5);
        assert_eq!(samples_per_process(&even, 0.0, 1.0), 100);
        assert_eq!(samples_per_process(&Components { between: 0.0, ..even }, 1.0, 1.0), 100);
        assert_eq!(
            samples_per_process(&Components { within: 0.0, between: 0.0, of_means: 0.0 }, 1.0, 1.0),
            100
        );
    }

    #[test]
    fn too_little_is_refused() {
        assert_eq!(
            components(&[&[1.0, 2.0]]),
            Err(NoInterval::TooFewProcesses { have: 1, need: 2 })
        );
        assert_eq!(components(&[&[1.0, 2.0], &[1.0]]), Err(NoInterval::TooFewSamples));
        assert_eq!(components(&[&[1.0, 2.0], &[1.0, f64::NAN]]), Err(NoInterval::NotFinite));
    }
}
