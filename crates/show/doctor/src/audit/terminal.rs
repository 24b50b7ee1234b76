//! The audit of a machine on a terminal.

use plumb_analysis::{ClassAudit, Injected};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::percent;

use crate::audit::json::AuditClock;

/// The line about the clock.
fn clock_line(clock: AuditClock) -> String {
    let AuditClock { resolution_ns, overhead_ns, .. } = clock;
    let slewed = ppm_text("slewed by", clock.slew_ppm);
    let drifted = ppm_text("the CPU's counter drifted by", clock.counter_ppm);
    format!(
        "clock: steps of {resolution_ns:.0} ns, {overhead_ns:.0} ns per read{slewed}{drifted}\n"
    )
}

fn ppm_text(what: &str, ppm: Option<f64>) -> String {
    // Adding 0 turns -0.0 into 0.0, which would be printed with its sign.
    ppm.map(|ppm| (ppm * 10.0).round() / 10.0 + 0.0)
        .map_or_else(String::new, |tenths| format!(", {what} {tenths:+.1} ppm"))
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_owned(), percent)
}

/// The audit in lines of a terminal's width.
#[must_use]
pub fn audit_card(
    classes: &[ClassAudit],
    injected: &[Injected],
    clock: AuditClock,
    terminal: &Terminal,
) -> String {
    let titles = [
        "",
        "noise floor",
        "detects changes from",
        "pairs",
        "samples",
        "processes",
        "wrong",
        "preempted",
        "drift",
    ];
    let mut table = Table::new(
        titles
            .iter()
            .enumerate()
            .map(|(i, title)| match i {
                0 => TableColumn::left(title),
                // Eight titles in one line would be wider than a terminal.
                _ => TableColumn::right(title).wrapping(),
            })
            .collect(),
    );
    for audit in classes {
        let wrong = format!("{} of {}", audit.wrong, audit.comparisons);
        let cells = [
            audit.class.clone(),
            share(audit.noise_floor),
            share(audit.detectable),
            format!("±{}", share(audit.pair_sd)),
            format!("±{}", share(audit.levels.map(|levels| levels.samples))),
            format!("±{}", share(audit.levels.map(|levels| levels.processes))),
            wrong,
            format!("{:.0}/s", audit.preemptions_per_s),
            audit
                .drift
                .map_or_else(|| "?".to_owned(), |drift| plumb_units::percent_change(drift, 1)),
        ];
        table.row(cells.iter().map(|text| TextLine::new(Style::Plain, text)).collect());
    }
    let mut out = terminal.table(&table);
    for effect in injected {
        let share = percent(effect.share);
        let verdict = effect.verdict.map_or("no verdict", |verdict| verdict.word());
        let ratio =
            effect.ratio.map_or_else(String::new, |ratio| format!(", measured as {ratio:.3}×"));
        out.push_str(&format!("slowed down on purpose by {share}: {verdict}{ratio}\n"));
    }
    out.push_str(&clock_line(clock));
    terminal.signs(out)
}
