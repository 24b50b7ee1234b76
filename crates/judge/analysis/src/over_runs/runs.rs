//! Stored runs against each other: docs/method.md, *Stored runs*.
//!
//! Runs were measured at other times than each other, so the noise between runs counts, not only that inside
//! them.

use plumb_model::{Better, SeriesInRun};
use plumb_stats::describe::median;
use plumb_stats::stored_runs::{RunNoise, RunsCompared, compare_runs, rank_sum_interval};
use plumb_stats::verdict::judge;

use crate::asked::Asked;
use crate::comparison::levels::LevelsCompared;
use crate::comparison::verdict::{Basis, ByRuns, Comparison, NoVerdict, VerdictRemark};
use crate::estimate::estimate;
use crate::method::CONFIDENCE;
use crate::over_runs::costs::{process_costs, run_cost};
use crate::over_runs::noise::RunsNoise;

/// With so many runs on either side, runs are the unit and nothing else need be known of their noise.
const RUNS_AS_UNITS: usize = 4;

/// One series in two arms of stored runs: the only way in which stored runs are compared.
pub(crate) fn by_runs(
    first: &[&SeriesInRun],
    later: &[&SeriesInRun],
    noise: &RunsNoise,
    margin: f64,
) -> Comparison {
    let better = first.first().map_or(Better::Neither, |series| series.better);
    let earlier = first.first().map_or(&[][..], |series| noise.logs(&series.comparable_name()));
    let firsts: Vec<f64> = first.iter().flat_map(|series| process_costs(series)).collect();
    let laters: Vec<f64> = later.iter().flat_map(|series| process_costs(series)).collect();
    let enough = first.len().min(later.len()) >= RUNS_AS_UNITS;
    let found = if enough {
        let firsts: Vec<f64> = first.iter().filter_map(|series| run_cost(series)).collect();
        let laters: Vec<f64> = later.iter().filter_map(|series| run_cost(series)).collect();
        let interval = rank_sum_interval(&firsts, &laters, CONFIDENCE);
        let run_noise = RunNoise::Calibrated { runs: first.len() + later.len(), sd: f64::NAN };
        interval.map(|interval| RunsCompared { interval, exact: false, run_noise })
    } else {
        compare_runs(&firsts, &laters, earlier, CONFIDENCE)
    };
    let found = match found {
        Ok(found) => directed(judged(&found, margin), better),
        Err(reason) => Comparison {
            basis: Basis::Runs(ByRuns::default()),
            ratio: median(&laters)
                .zip(median(&firsts))
                .map(|(later, first)| estimate((later - first).exp(), Err(reason))),
            verdict: Err(reason.into()),
            remarks: Vec::new(),
            levels: None,
            covariates: Asked::NotAsked,
        },
    };
    Comparison { levels: LevelsCompared::of(&firsts, &laters, margin), ..found }
}

/// Where no direction is better, a difference is neither faster nor slower.
fn directed(found: Comparison, better: Better) -> Comparison {
    if better == Better::Neither {
        return Comparison { verdict: Err(NoVerdict::NoDirection), ..found };
    }
    found
}

fn judged(found: &RunsCompared, margin: f64) -> Comparison {
    let judged = found.judge(margin);
    let noise = match found.run_noise {
        RunNoise::Uncalibrated { break_even } => {
            ByRuns { break_even: Some(break_even.exp_m1()), run_sd: None }
        }
        RunNoise::Calibrated { sd, .. } => {
            ByRuns { break_even: None, run_sd: sd.is_finite().then(|| sd.exp_m1()) }
        }
    };
    let inside = judge(&found.interval, 0, margin);
    Comparison {
        basis: Basis::Runs(noise),
        ratio: Some(estimate(found.interval.estimate.exp(), Ok(found.interval.map(f64::exp)))),
        verdict: judged.map(|judged| judged.verdict).ok_or(NoVerdict::Uncalibrated),
        remarks: VerdictRemark::those(&[
            (judged.is_none(), VerdictRemark::Uncalibrated),
            (judged.is_some() && inside.negligible, VerdictRemark::Negligible),
            (judged.is_some() && inside.beyond_margin, VerdictRemark::BeyondMargin),
            (found.exact, VerdictRemark::Exact),
        ]),
        levels: None,
        covariates: Asked::NotAsked,
    }
}
