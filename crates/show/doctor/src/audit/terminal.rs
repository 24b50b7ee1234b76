//! The audit of a machine on a terminal.

use plumb_analysis::{
    ClassAudit, FEWEST_LINKS, Injected, LayoutAudit, LayoutFinding, NoLayoutEffect,
};
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

/// The line about copies that are linked again.
fn layout_line(layout: &LayoutFinding) -> String {
    let audit = match layout {
        LayoutFinding::Measured(audit) => audit,
        LayoutFinding::Unsupported(why) => return format!("linked again: unsupported: {why}\n"),
    };
    let LayoutAudit { links, told_apart, .. } = audit;
    let ends =
        audit.ends.map_or_else(String::new, |ends| format!(" [{:.3}, {:.3}]", ends.low, ends.high));
    let largest = audit
        .largest
        .map_or_else(String::new, |ratio| format!(", the largest difference {ratio:.3}×{ends}"));
    let effect = match (audit.effect, audit.no_effect) {
        (Some(effect), _) => format!("; copies of one program differ by up to {}", percent(effect)),
        (None, Some(NoLayoutEffect::Noise)) => {
            "; too noisy to say how far copies of one program differ".to_owned()
        }
        (None, _) => format!("; a bound needs {FEWEST_LINKS} copies"),
    };
    format!("linked again: {told_apart} of {links} copies told apart{largest}{effect}\n")
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_owned(), percent)
}

/// The audit in lines of a terminal's width.
#[must_use]
pub fn audit_card(
    classes: &[ClassAudit],
    injected: &[Injected],
    layout: Option<&LayoutFinding>,
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
    let mut out = if classes.is_empty() { String::new() } else { terminal.table(&table) };
    for effect in injected {
        let share = percent(effect.share);
        let verdict = effect.verdict.map_or("no verdict", |verdict| verdict.word());
        let ratio =
            effect.ratio.map_or_else(String::new, |ratio| format!(", measured as {ratio:.3}×"));
        out.push_str(&format!("slowed down on purpose by {share}: {verdict}{ratio}\n"));
    }
    if let Some(layout) = layout {
        out.push_str(&layout_line(layout));
    }
    out.push_str(&clock_line(clock));
    terminal.signs(out)
}

#[cfg(test)]
mod tests {
    use plumb_analysis::Ends;

    use super::{LayoutAudit, LayoutFinding, NoLayoutEffect, layout_line};

    #[test]
    fn linked_again_is_shown_with_its_largest_difference_and_its_bound() {
        let audit = LayoutAudit {
            links: 12,
            told_apart: 2,
            largest: Some(1.033),
            ends: Some(Ends { low: 1.01, high: 1.093 }),
            effect: Some(0.025),
            no_effect: None,
        };
        assert_eq!(
            layout_line(&LayoutFinding::Measured(audit.clone())),
            "linked again: 2 of 12 copies told apart, the largest difference 1.033× [1.010, 1.093]; \
             copies of one program differ by up to 2.5 %\n"
        );
        let without = LayoutAudit { effect: None, ..audit };
        for (why, end) in [
            (NoLayoutEffect::FewCopies, "; a bound needs 10 copies\n"),
            (NoLayoutEffect::Noise, "; too noisy to say how far copies of one program differ\n"),
        ] {
            let audit = LayoutAudit { no_effect: Some(why), ..without.clone() };
            let line = layout_line(&LayoutFinding::Measured(audit));
            assert!(line.ends_with(end), "{line}");
        }
    }

    #[test]
    fn without_a_compiler_the_reason_is_shown() {
        let why = "cc was not found; install a C compiler".to_owned();
        let line = layout_line(&LayoutFinding::Unsupported(why));
        assert_eq!(line, "linked again: unsupported: cc was not found; install a C compiler\n");
    }
}
