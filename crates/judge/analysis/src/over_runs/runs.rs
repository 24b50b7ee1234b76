//! Stored runs against each other: docs/method.md, *Stored runs*.
//!
//! Runs were measured at other times than each other, so the noise between runs counts, not only that inside
//! them.

use plumb_model::{Better, CommandEnds, SeriesInRun, Verdict};
use plumb_stats::describe::median;
use plumb_stats::stored_runs::{
    DatedRun, NoiseHistory, RunNoise, RunsCompared, StoredSide, compare_runs,
};
use plumb_stats::verdict::judge;

use crate::asked::Asked;
use crate::comparison::ends::ends_of_runs;
use crate::comparison::levels::LevelsCompared;
use crate::comparison::verdict::{Basis, ByRuns, Comparison, NoVerdict, VerdictRemark};
use crate::estimate::estimate;
use crate::method::CONFIDENCE;
use crate::over_runs::costs::{began_s, process_costs, run_cost};
use crate::over_runs::noise::RunsNoise;

/// One series in two arms of stored runs: the only way in which stored runs are compared.
pub(crate) fn by_runs(
    first: &[&SeriesInRun],
    later: &[&SeriesInRun],
    noise: &RunsNoise,
    margin: f64,
) -> Comparison {
    let better = first.first().map_or(Better::Neither, |series| series.better);
    let earlier = first.first().map_or(&[][..], |series| noise.runs(&series.comparable_name()));
    let firsts: Vec<f64> = first.iter().flat_map(|series| process_costs(series)).collect();
    let laters: Vec<f64> = later.iter().flat_map(|series| process_costs(series)).collect();
    let first_runs = dated(first);
    let later_runs = dated(later);
    let costs: Vec<f64> = earlier.iter().map(|run| run.cost).collect();
    let found = compare_runs(
        StoredSide { runs: &first_runs, processes: &firsts },
        StoredSide { runs: &later_runs, processes: &laters },
        match noise.is_of_kind {
            true => NoiseHistory::OneKind(&costs),
            false => NoiseHistory::OneMachine(earlier),
        },
        CONFIDENCE,
    );
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
    let levels = LevelsCompared::of(&firsts, &laters, margin);
    let is_hidden = first.iter().chain(later).any(|series| series.busy_clients);
    let found = by_clients(Comparison { levels, ..found }, is_hidden);
    by_ends(found, &ends_of_runs(first), &ends_of_runs(later))
}

/// Not equivalent if busy clients may hide that their server became slower.
fn by_clients(found: Comparison, is_hidden: bool) -> Comparison {
    match found.verdict {
        Ok(Verdict::Equivalent) if is_hidden => {
            Comparison { verdict: Err(NoVerdict::GeneratorBusy), remarks: Vec::new(), ..found }
        }
        _ => found,
    }
}

/// Without a verdict if processes ended differently, and with a remark if they failed alike.
fn by_ends(mut found: Comparison, first: &CommandEnds, later: &CommandEnds) -> Comparison {
    if let Some(reason) = NoVerdict::of_ends(first, later) {
        // How much runs vary does not explain another end.
        let basis = Basis::Runs(ByRuns::default());
        return Comparison { basis, verdict: Err(reason), remarks: Vec::new(), ..found };
    }
    if later.has_failures() {
        found.remarks.push(VerdictRemark::OfFailures);
    }
    found
}

/// The runs of a series with their costs.
fn dated(series: &[&SeriesInRun]) -> Vec<DatedRun> {
    let mut runs = Vec::with_capacity(series.len());
    for one in series {
        if let Some(cost) = run_cost(one) {
            runs.push(DatedRun { began_s: began_s(&one.run), cost });
        }
    }
    runs
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
        RunNoise::Uncalibrated { break_even, .. } => {
            ByRuns { break_even: Some(break_even.exp_m1()), ..ByRuns::default() }
        }
        RunNoise::Calibrated { sd, .. } => {
            ByRuns { run_sd: Some(sd.exp_m1()), ..ByRuns::default() }
        }
        RunNoise::InTurns { blocks } => ByRuns { blocks: Some(blocks), ..ByRuns::default() },
    };
    let blocks = match found.run_noise {
        RunNoise::Uncalibrated { blocks, .. } => blocks,
        _ => 0,
    };
    let inside = judge(&found.interval, 0, margin);
    Comparison {
        basis: Basis::Runs(noise),
        ratio: Some(estimate(found.interval.estimate.exp(), Ok(found.interval.map(f64::exp)))),
        verdict: judged.map(|judged| judged.verdict).ok_or(NoVerdict::Uncalibrated { blocks }),
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
