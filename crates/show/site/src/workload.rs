//! The page of a workload in a run: every metric of every point, and what was out of the ordinary.

use plumb_analysis::{CpuShares, PointFacts};
use plumb_model::{InvocationRecord, Outcome, Role, RunRecord, StopReason};
use plumb_report::charts;
use plumb_report::run::{ResultRow, View};
use plumb_text::counted;
use plumb_units::whole_percent;

use crate::anchors;
use crate::curves::curves;
use crate::frame::{Page, PageSubject};
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names;
use crate::parts::{
    DataTable, cell, command, count, facts, heading, list, name, nothing, number, paragraph, term,
};
use crate::previous_run::{change, since};
use crate::results::{memory, own_flags, reached, result};

/// Invocations out of the ordinary that are listed.
const MOST_ODD: usize = 100;
/// The smallest share of wall time that is not shown as 0 %.
const LEAST_SHARE: f64 = 0.005;

/// The page of a workload in a run; None if the run has no result of it.
#[must_use]
pub fn workload_page(view: &View, record: &RunRecord, workload: &str) -> Option<Page> {
    let rows: Vec<&ResultRow> =
        view.rows.iter().filter(|row| row.finding.point.workload == workload).collect();
    rows.first()?;
    let run = view.finding.run.id;
    let when = plumb_text::time::date(view.finding.run.started_unix_ns);
    let title = format!("{workload}, {when}");
    let mut page = Page::new(names::workload_page(run, workload), PageSubject::Workload, title)
        .at_run(view, Some(workload));
    page.add(wrap("h1", workload));
    page.add(answer(view, &rows));
    page.add(results(view, &rows));
    page.add(curves(view, Some(workload)));
    page.draw(charts::of_workload(view, record, workload));
    for point in points(&rows) {
        page.add(about_point(view, point, &rows));
    }
    page.add(odd(record, &rows));
    page.add(closing(view, workload));
    Some(page)
}

fn points<'r>(rows: &[&'r ResultRow]) -> Vec<&'r PointFacts> {
    let mut all: Vec<&PointFacts> = Vec::new();
    for row in rows {
        if !all.iter().any(|point| point.index == row.finding.point.index) {
            all.push(&row.finding.point);
        }
    }
    all
}

/// The result of each point, in sentences.
fn answer(view: &View, rows: &[&ResultRow]) -> Html {
    let primary: Vec<&&ResultRow> = rows.iter().filter(|row| row.finding.primary).collect();
    wrap(
        "section",
        list(primary.iter().map(|row| {
            let name = link(&format!("#{}", anchors::of_result(row)), row.label.as_str());
            let change = since(view, row);
            let verdict = change.map(|comparison| {
                Html::text("; ")
                    .and(crate::parts::verdict(&comparison.verdict))
                    .and(" since the last comparable run")
            });
            let mut line =
                Html::from(name).and(": ").and(row.result()).and(verdict.unwrap_or_default());
            let flags = own_flags(row);
            if !flags.is_empty() {
                line = line.and("; ").and(flags);
            }
            line
        })),
    )
    .class("answer")
    .into()
}

fn results(view: &View, rows: &[&ResultRow]) -> Html {
    let mut titles: Vec<Html> = vec![
        term("Point", "point"),
        term("Metric", "metric"),
        "Estimate".into(),
        term("Interval", "interval"),
        "±".into(),
        term("Flags", "flag"),
        term("n", "invocation"),
        term("Left out", "steady"),
        "CPU".into(),
        "Memory".into(),
        "Stopped by".into(),
    ];
    if view.finding.since_last.found().is_some() {
        // Before the flags, as its cell is.
        titles.insert(5, term("Since the last run", "verdict"));
    }
    let mut table = DataTable::new(titles);
    for row in rows {
        let finding = row.finding;
        let to = format!("#{}", anchors::of_point(finding.point.index));
        let mut cells = vec![
            name(Html::from(link(&to, row.label.as_str())).and(row.on_target())),
            cell(metric(view, row)),
        ];
        cells.extend(result(row));
        cells.push(reached(row));
        if view.finding.since_last.found().is_some() {
            cells.push(change(since(view, row)));
        }
        cells.push(cell(own_flags(row)));
        let counts = cell(row.counts.as_str()).class("num");
        cells.extend([counts, left_out(row), cpu(finding.cpu), memory(row)]);
        cells.push(cell(finding.stop.map_or("", StopReason::word)));
        table.row_at(&anchors::of_result(row), cells);
    }
    let note = "A metric's name links to its history over all runs. n: invocations × samples per invocation. CPU: user and \
                system time over wall time, and time spent waiting for devices.";
    heading("results", "Results").and(table.build()).and(paragraph(note))
}

/// CPU time over wall time with its parts that are not 0; an empty cell if it was not measured.
fn cpu(shares: Option<CpuShares>) -> Tag {
    let Some(cpu) = shares else { return nothing() };
    let mut parts = tag("small").class("note");
    for (share, name) in [(cpu.user, "user"), (cpu.system, "system"), (cpu.iowait, "I/O wait")] {
        // What rounds to 0 % would only make rows taller.
        if share >= LEAST_SHARE {
            let text = format!("{} {name}", whole_percent(share));
            parts = parts.add(" ").add(wrap("span", text).class("whole"));
        }
    }
    number(cpu.total(), "", &whole_percent(cpu.total())).add(parts)
}

fn left_out(row: &ResultRow) -> Tag {
    let discarded = row.finding.discarded;
    let class = &row.finding.warmup;
    #[expect(clippy::cast_precision_loss, reason = "a count to be sorted by")]
    let count = number(discarded as f64, "", &discarded.to_string());
    if class.is_empty() {
        return count;
    }
    // A note may wrap: with every column present, the class on the count's line would make the table too wide.
    count.add(" ").add(wrap("small", format!("({class})")).class("note"))
}

/// The name of a metric. It leads to its series over all runs; quantiles of distributions have none.
fn metric(view: &View, row: &ResultRow) -> Tag {
    let finding = row.finding;
    let target = view.finding.targets.get(finding.target);
    // A quantile is named with a blank (`latency p99`), and only its distribution is a series.
    let (Some(target), false) = (target, finding.metric.contains(' ')) else {
        return wrap("span", finding.metric.as_str()).with("title", &finding.summary);
    };
    let page = names::history_page(&finding.series, &target.machine.fingerprint, &target.host);
    let title = format!("{} (links to all runs)", finding.summary);
    link(&format!("{page}.html"), finding.metric.as_str()).with("title", title.trim_start())
}

fn about_point(view: &View, point: &PointFacts, rows: &[&ResultRow]) -> Html {
    let of_point = rows.iter().find(|row| row.finding.point.index == point.index);
    let mut pairs: Vec<(Html, Html)> = point
        .parameters
        .iter()
        .map(|parameter| {
            let by_default = if parameter.default { " (default)" } else { "" };
            (Html::text(&parameter.name), Html::text(&format!("{}{by_default}", parameter.value)))
        })
        .collect();
    let labels: Vec<String> =
        point.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !labels.is_empty() {
        pairs.push(("Labels".into(), labels.join(" ").into()));
    }
    pairs.push((term("Series", "series"), command(of_point.map_or("", |row| &row.finding.series))));
    if let Some(row) = of_point {
        let both = plumb_report::run::both_intervals(row.finding);
        pairs.extend(both.map(|both| (term("Interval", "interval"), both.into())));
        let other = plumb_report::run::other_cpu_text(row.finding);
        pairs.extend(other.map(|text| (Html::text("Other processes"), text.into())));
        let energy = plumb_report::run::energy_text(row.finding);
        pairs.extend(energy.map(|text| (Html::text("Energy"), text.into())));
        let best = plumb_report::run::best_quarter_text(row.finding);
        pairs.extend(best.map(|text| (Html::text("Best quarter"), text.into())));
        let bits = plumb_report::run::bits_text(row.finding);
        pairs.extend(bits.map(|text| (Html::text("In bits"), text.into())));
        let real = plumb_report::run::scaled_text(row.finding);
        pairs.extend(real.map(|text| (Html::text("Real time"), text.into())));
        let pauses = plumb_report::run::pauses_text(row.finding);
        pairs.extend(pauses.map(|text| (Html::text("Pauses"), text.into())));
        if let Some(levels) = &row.levels {
            pairs.push((term("Levels", "level"), levels.whole().into()));
            let beside = levels.beside.as_deref();
            pairs.extend(beside.map(|text| ("Different at the upper level".into(), text.into())));
        }
        let versions =
            row.finding.versions.iter().map(|(name, version)| format!("{name} {version}"));
        let remarks: Vec<String> = row.finding.notes.iter().cloned().chain(versions).collect();
        if !remarks.is_empty() {
            pairs.push(("Remarks".into(), remarks.join(" · ").into()));
        }
        let baseline = plumb_report::run::baseline_text(row.finding);
        pairs.extend(
            baseline.map(|text| (term("Of the expected value", "expectation"), text.into())),
        );
    }
    let mut flags: Vec<String> = view
        .finding
        .results
        .iter()
        .filter(|result| result.point.index == point.index)
        .flat_map(|result| &result.flags)
        .map(|flag| format!("{}: {}", flag.flag.word(), flag.why))
        .collect();
    // Each metric of the point carries the flags that concern all of it.
    flags.sort();
    flags.dedup();
    heading(&anchors::of_point(point.index), point.name.as_str()).and(facts(pairs)).and(list(flags))
}

/// The invocations that failed, do not count, or had something else run next to it.
fn odd(record: &RunRecord, rows: &[&ResultRow]) -> Html {
    let points = points(rows);
    let all: Vec<&InvocationRecord> = record
        .invocations
        .iter()
        .filter(|invocation| invocation.role == Role::Workload)
        .filter(|invocation| points.iter().any(|point| point.index == invocation.point))
        .collect();
    let what: Vec<(usize, &InvocationRecord, String)> = all
        .iter()
        .enumerate()
        .filter_map(|(n, invocation)| Some((n, *invocation, out_of_the_ordinary(invocation)?)))
        .collect();
    let of_all = counted(all.len(), "invocation", "invocations");
    let head = heading("invocations", "Unusual invocations");
    if what.is_empty() {
        return head.and(paragraph(format!(
            "None of {of_all}: all succeeded, and plumb detected no disturbance."
        )));
    }
    let mut table = DataTable::new(["Invocation", "Point", "Round", "Samples", "What happened"]);
    for (n, invocation, why) in what.iter().take(MOST_ODD) {
        let point = record
            .plan
            .points
            .get(invocation.point)
            .map(plumb_model::PlannedPoint::name)
            .unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "a count to be sorted by")]
        let number = name((n + 1).to_string()).with("data-value", &(*n as f64).to_string());
        table.row([
            number,
            cell(point),
            count(invocation.round as usize),
            count(invocation.samples.len()),
            cell(why.as_str()),
        ]);
    }
    let rest = if what.len() > MOST_ODD {
        format!(" The table lists the first {MOST_ODD}.")
    } else {
        String::new()
    };
    head.and(paragraph(format!("{} of {of_all}.{rest}", what.len()))).and(table.build())
}

fn out_of_the_ordinary(invocation: &InvocationRecord) -> Option<String> {
    let ended = match invocation.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Done) => None,
        Some(Outcome::Failed(why)) => Some(format!("failed: {why}")),
        Some(Outcome::WrongResult(why)) => Some(format!("wrong result: {why}")),
        Some(Outcome::Unsupported { why, .. }) => Some(format!("unsupported: {why}")),
        None => Some("interrupted".to_owned()),
    };
    let excluded = invocation.excluded_by.as_ref().map(|rule| format!("excluded: {rule}"));
    let beside =
        invocation.interference.iter().map(|found| format!("{}: {}", found.rule, found.evidence));
    let all: Vec<String> = ended.into_iter().chain(excluded).chain(beside).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn closing(view: &View, workload: &str) -> Html {
    let run = view.finding.run.id;
    let line = command(&format!("plumb explain {workload}"))
        .and(" shows how it measures and how it can mislead.");
    let all = workloads(view);
    let place = all.iter().position(|other| *other == workload).unwrap_or(0);
    let neighbours = [(place.checked_sub(1), "Before: "), (place.checked_add(1), "After: ")]
        .into_iter()
        .filter_map(|(place, word)| {
            let other = *all.get(place?)?;
            let page = format!("{}.html", names::workload_page(run, other));
            Some(Html::text(word).and(link(&page, other)))
        });
    paragraph(line).and(list(neighbours))
}

/// The workloads that a run has results of, each once.
#[must_use]
pub fn workloads<'v>(view: &'v View) -> Vec<&'v str> {
    let mut all: Vec<&'v str> = Vec::new();
    for row in &view.rows {
        let workload = row.finding.point.workload.as_str();
        if !all.contains(&workload) {
            all.push(workload);
        }
    }
    all
}
