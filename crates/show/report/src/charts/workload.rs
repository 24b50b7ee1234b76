//! Charts of a workload in a run: medians, and where the time went.

use plumb_analysis::CpuShares;
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};
use plumb_units::whole_percent;

use super::parts::estimates;
use super::subject::Subject;

/// Bars with intervals: medians side by side from 0.
pub(super) fn bars(of: &Subject) -> Option<Chart> {
    let rows = of.rows();
    if rows.len() < 2 || rows.iter().any(|(_, row)| row.finding.estimate.value < 0.0) {
        return None;
    }
    let mut draft = Draft::new(
        of.id("bars"),
        of.title("medians"),
        format!(
            "The median of each point as a bar from 0, with its 95 % interval. {}",
            of.better()
        ),
        of.values(AxisFit::FromZero),
        of.names(),
    );
    let bar = draft.group("median", Tone::Plain);
    let bars = Mark::Bars {
        along: Along::X,
        at: rows.iter().map(|(index, _)| place(*index)).collect(),
        from: vec![0.0; rows.len()],
        to: rows.iter().map(|(_, row)| row.finding.estimate.value).collect(),
    };
    draft.layer(Some(bar), bars);
    draft.layer(None, estimates(&rows, 0.0));
    draft.finish()
}

/// What the time went into: CPU in user and kernel mode, and waiting for devices.
pub(super) fn shares(of: &Subject) -> Option<Chart> {
    let rows: Vec<(f64, CpuShares)> = of
        .rows()
        .iter()
        .filter_map(|(index, row)| Some((place(*index), row.finding.cpu?)))
        .collect();
    let mut draft = Draft::new(
        of.id("cpu"),
        of.title("CPU and I/O time"),
        "CPU time in user mode and in kernel mode, and time that CPUs were idle waiting for I/O, as shares \
         of the time of all batches, including warm-up. Several threads add up to more than 100 %."
            .to_owned(),
        AxisSpec::values("share of wall time", "%", AxisFit::FromZero),
        of.names(),
    );
    let shares = |share: fn(&CpuShares) -> f64| -> Vec<f64> {
        rows.iter().map(|(_, cpu)| share(cpu)).collect()
    };
    let parts = [
        ("user", shares(|cpu| cpu.user)),
        ("system", shares(|cpu| cpu.system)),
        ("iowait", shares(|cpu| cpu.iowait)),
    ];
    // Stacked: each part begins where the one below ends.
    let mut from = vec![0.0; rows.len()];
    for (name, part) in parts {
        let to: Vec<f64> = from.iter().zip(&part).map(|(from, share)| from + share).collect();
        let group = draft.group(name, Tone::Plain);
        let at = rows.iter().map(|(at, _)| *at).collect();
        draft.layer(Some(group), Mark::Bars { along: Along::X, at, from, to: to.clone() });
        from = to;
    }
    let over = rows.iter().filter(|(_, cpu)| cpu.total() > 1.05).count();
    if over > 0 {
        let most = rows.iter().map(|(_, cpu)| cpu.total()).fold(0.0, f64::max);
        draft.note(format!("more than one CPU was busy: up to {}", whole_percent(most)));
    }
    draft.finish()
}
