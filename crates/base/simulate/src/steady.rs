//! Is steady state found where it begins, and never where it does not?

use super::bars::{Bar, BarSeries, ValidationRow};
use super::series::{LevelCourse, SimulatedSeries};
use plumb_stats::rng::Rng;
use plumb_stats::warmup::{Steady, WarmupClass, steady_state};

/// Samples in a series.
const LENGTH: usize = 600;
/// The relative bias of what is left that counts as wrong.
const BIAS: f64 = 0.005;

const SETTLING: [(&str, LevelCourse); 6] = [
    ("flat", LevelCourse::Flat),
    ("exponential", LevelCourse::Exponential),
    ("step", LevelCourse::Step),
    ("two steps", LevelCourse::TwoSteps),
    ("slow-down", LevelCourse::Slowdown),
    ("late step", LevelCourse::LateStep),
];

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let flat = SimulatedSeries::new("flat", LevelCourse::Flat);
    let disturbed = [
        flat,
        SimulatedSeries { name: "flat, spikes", ..spiky(flat) },
        SimulatedSeries { name: "flat, AR(.5)", rho: 0.5, ..flat },
    ];
    for series in disturbed {
        let found = repeat(series, LENGTH, replications);
        report(row(
            "a flat series called unsteady",
            series.name,
            Bar::AtMost(0.03),
            share(&found, unsettled),
        ));
    }
    for (name, course) in SETTLING {
        let series = SimulatedSeries::new(name, course);
        report(biased(series, Bar::AtMost(0.02), replications));
        report(biased(spiky(series), Bar::AtMost(0.02), replications));
        let weak = Bar::Exempt("flagged less often, so more processes are measured");
        report(biased(SimulatedSeries { rho: 0.8, ..series }, weak, replications));
    }
    let trend = SimulatedSeries::new("5 % over the series", LevelCourse::Trend);
    let found = repeat(trend, LENGTH, replications);
    report(row(
        "a trend flagged as such or as unsteady",
        trend.name,
        Bar::AtLeast(0.85),
        share(&found, unsettled),
    ));
    for (name, course) in [("step", LevelCourse::Step), ("flat", LevelCourse::Flat)] {
        let series = SimulatedSeries { sd: 0.01, ..SimulatedSeries::new(name, course) };
        report(biased_pilot(series, replications));
    }
}

fn spiky(series: SimulatedSeries) -> SimulatedSeries {
    SimulatedSeries { spikes: 0.02, ..series }
}

fn unsettled(steady: &Steady) -> bool {
    matches!(steady.class, WarmupClass::Trend | WarmupClass::Unsteady)
}

fn repeat(series: SimulatedSeries, length: usize, replications: u64) -> Vec<Steady> {
    let mut rng = Rng::new(17);
    (0..replications).filter_map(|_| steady_state(&series.draw(length, &mut rng)).ok()).collect()
}

fn share(found: &[Steady], what: impl Fn(&Steady) -> bool) -> BarSeries {
    let hits = found.iter().filter(|steady| what(steady)).count() as u64;
    BarSeries::Share { hits, trials: found.len() as u64 }
}

fn row(promise: &'static str, setting: &str, bar: Bar, measured: BarSeries) -> ValidationRow {
    ValidationRow { promise, setting: setting.to_owned(), bar, measured, note: String::new() }
}

/// How often what was called steady is still more than .5 % from the level that the series settles at.
fn biased(series: SimulatedSeries, bar: Bar, replications: u64) -> ValidationRow {
    let found = repeat(series, LENGTH, replications);
    let measured =
        share(&found, |steady| !unsettled(steady) && bias(series, LENGTH, steady.start) > BIAS);
    let extended = share(&found, unsettled).value();
    let disturbed = [(series.spikes > 0.0, ", spikes"), (series.rho > 0.0, ", AR(.8)")];
    let extra: String = disturbed.iter().filter(|part| part.0).map(|part| part.1).collect();
    let note = format!("{extended:.3} to be measured longer");
    let promise = "steady part biased by over .5 %, 600 samples, noise 3 %";
    ValidationRow { note, ..row(promise, &format!("{}{extra}", series.name), bar, measured) }
}

/// The same for the 40 samples of a pilot.
fn biased_pilot(series: SimulatedSeries, replications: u64) -> ValidationRow {
    let found = repeat(series, 40, replications);
    let measured =
        share(&found, |steady| !unsettled(steady) && bias(series, 40, steady.start) > BIAS);
    row(
        "steady part biased by over .5 %, 40 samples, noise 1 %",
        series.name,
        Bar::AtMost(0.02),
        measured,
    )
}

/// The mean distance of the noiseless level from the steady one, after `start`.
fn bias(series: SimulatedSeries, length: usize, start: usize) -> f64 {
    let clean = SimulatedSeries { sd: 0.0, spikes: 0.0, ..series }.draw(length, &mut Rng::new(0));
    (clean[start..].iter().sum::<f64>() / (length - start) as f64).abs()
}
