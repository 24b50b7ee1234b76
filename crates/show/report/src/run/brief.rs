//! The scorecard on one screen: the answer, a line per result, the main reasons to distrust, and what to type next.

use std::collections::BTreeSet;

use plumb_analysis::{BaselineSource, CONFIDENCE, ExpectationVerdict};
use plumb_model::{FlagKind, Goal};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, clip, counted, width};
use plumb_units::{percent, whole_percent};

use crate::comparison::proof;
use crate::run::answer::{answer, ceiling_answer};
use crate::run::header::{ACCEPTED_FAILURES, not_reached_heading};
use crate::run::importance::{FlagWeight, by_importance};
use crate::run::results_table::{
    best_quarter_gap, best_quarter_text, bits_text, energy_text, interval, library_text,
    other_cpu_text, own_cpu_text, pauses_text, reached, scaled_text, stop_text,
};
use crate::run::start_ups::start_ups;
use crate::run::terminal::{
    NARROWEST, NextSteps, WIDEST_NAME, comparisons, flags as flags_chapter, heading,
    implementations, steps, title,
};
use crate::run::view::{Family, FlagNote, ResultRow, View, baseline_text};

/// Flags of a row. More are shown only if they change how its figure is read.
const MOST_FLAGS: usize = 2;
/// Lines of reasons to distrust.
const MOST_REASONS: usize = 5;
/// Lines of what curves say.
const MOST_CURVE_LINES: usize = 6;
/// Lines about points that gave no result.
const MOST_MISSING: usize = 3;
/// Among many results, lines of what the machine does at its best.
const MOST_BEST: usize = 2;
/// Other metrics of a point that have a line; of more there is a count.
const MOST_OTHERS: usize = 4;
/// Columns that flags take before names are cut for them.
const FLAGS_ROOM: usize = 26;
/// Columns that a point's name keeps, however long flags are.
const SHORTEST_NAME: usize = 16;
/// Columns that a name may take so that no two look the same.
const MOST_FOR_DISTINCT: usize = 30;

/// The scorecard of a run in at most 45 lines for a suite like `first-look`; [`super::scorecard`] shows all of it.
#[must_use]
pub fn brief_scorecard(view: &View, terminal: &Terminal, closing: &NextSteps) -> String {
    let terminal = Terminal { width: terminal.width.max(NARROWEST), ..*terminal };
    let mut answers = [
        results(view, &terminal)
            + &main_implementations(view, &terminal)
            + &curves(view, &terminal)
            + &missing(view, &terminal),
        verdicts(view, &terminal),
    ];
    // Who asked for a verdict reads it first.
    if matches!(view.finding.run.goal, Goal::Verdict(_)) {
        answers.reverse();
    }
    let [first, second] = answers;
    let answer: String = answer(view)
        .iter()
        .map(|line| terminal.lines(0, &TextLine::new(Style::Plain, line)))
        .collect();
    let chapters = [
        header(view, &terminal) + &answer,
        first,
        second,
        proof(view.finding.proof.as_ref(), &terminal),
        start_ups(view.finding, &terminal),
        reasons(view, &terminal),
        next(view, closing, &terminal),
    ];
    let chapters: Vec<String> =
        chapters.into_iter().filter(|chapter| !chapter.is_empty()).collect();
    terminal.signs(chapters.join("\n"))
}

/// The title, the machine, and when it was measured; loads and preparations, because they change every figure.
fn header(view: &View, terminal: &Terminal) -> String {
    let header = &view.header;
    let mut out = title(view, terminal);
    for place in &header.places {
        out.push_str(&one_line(Style::Plain, &place.machine, terminal));
    }
    if let Some(load) = &header.load {
        out.push_str(
            &terminal.lines(0, &TextLine::new(Style::Flag, "load: ").and(Style::Flag, load)),
        );
    }
    if let Some(prepared) = &header.prepared {
        let line = TextLine::new(Style::Muted, "prepared: ").and(Style::Plain, prepared);
        out.push_str(&terminal.lines(0, &line));
    }
    out + &one_line(Style::Plain, &header.when, terminal)
}

/// The tables of implementations, if the run is about them: among many other results they would not fit one screen.
fn main_implementations(view: &View, terminal: &Terminal) -> String {
    let compared: usize = view.implementations.iter().map(|table| table.rows.len()).sum();
    // A row per metric, but a point is in a table once.
    let points = view.rows.iter().filter(|row| row.finding.primary).count();
    if view.is_crowded() && 2 * compared < points {
        String::new()
    } else {
        implementations(view, terminal)
    }
}

/// A table of implementations says how they compare, unless the run is about a verdict.
fn verdicts(view: &View, terminal: &Terminal) -> String {
    let is_about_it = matches!(view.finding.run.goal, Goal::Verdict(_));
    if view.implementations.is_empty() || is_about_it {
        comparisons(view, terminal)
    } else {
        String::new()
    }
}

fn one_line(style: Style, text: &str, terminal: &Terminal) -> String {
    terminal.lines(0, &TextLine::new(style, &clip(&clean(text), terminal.width)))
}

/// The cells of a result.
struct Cells {
    family: String,
    name: String,
    median: String,
    interval: TextLine,
    unit: String,
    half_width: TextLine,
    /// What its last column may say, from the longest form to the shortest.
    flags: Vec<String>,
    /// What holds up to a limit, how far the result is from what was expected, what pauses did.
    below: Vec<String>,
}

fn results(view: &View, terminal: &Terminal) -> String {
    let mut rows: Vec<Cells> =
        view.families.iter().flat_map(|family| family_rows(view, family)).collect();
    fit(&mut rows, terminal.width);
    let level = format!("{} interval", percent(CONFIDENCE));
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::left(""),
        TableColumn::right("median"),
        TableColumn::left(&level).gap(1),
        TableColumn::left("unit").gap(1),
        TableColumn::right("±"),
        TableColumn::left("flags"),
    ]);
    for row in rows {
        table.row(vec![
            TextLine::new(Style::Heading, &row.family),
            TextLine::new(Style::Name, &row.name),
            TextLine::new(Style::Estimate, &row.median),
            row.interval,
            TextLine::new(Style::Muted, &row.unit),
            row.half_width,
            TextLine::new(Style::Flag, row.flags.first().map_or("", String::as_str)),
        ]);
        for text in &row.below {
            table.across(4, TextLine::default(), TextLine::new(Style::Plain, text));
        }
    }
    if view.rows.is_empty() { String::new() } else { terminal.table(&table) }
}

/// The rows of a family; its name stands in the first one alone.
fn family_rows(view: &View, family: &Family) -> Vec<Cells> {
    let compared = view.finding.against_first.first().map(|comparison| comparison.metric.as_str());
    let (rows, others): (Vec<&ResultRow>, Vec<&ResultRow>) = view
        .shown(family, false)
        .into_iter()
        .filter(|row| !(view.is_crowded() && row.finding.point.is_ceiling))
        .partition(|row| row.finding.primary || compared == Some(row.finding.metric.as_str()));
    let crowded = view.is_crowded();
    let common = common_remarks(&rows, crowded);
    let least_gap = least_gap(view);
    rows.iter()
        .enumerate()
        .map(|(index, row)| {
            let of_point: Vec<&ResultRow> = others
                .iter()
                .copied()
                .filter(|other| other.finding.point.index == row.finding.point.index)
                .filter(|other| other.finding.target == row.finding.target)
                .collect();
            // Few other metrics of a point, such as both directions of a connection, have a line. More, such as the phases of
            // bonnie, are with the whole scorecard.
            let has_line = !crowded && of_point.len() <= MOST_OTHERS;
            let more = match of_point.len() {
                0 => String::new(),
                _ if has_line => String::new(),
                1 => " (+1 metric)".to_owned(),
                more => format!(" (+{more} metrics)"),
            };
            let others_line = has_line.then(|| others_text(&of_point)).flatten();
            Cells {
                family: if index == 0 { family.name.clone() } else { String::new() },
                name: format!("{}{}{more}", name(row), row.on_target()),
                median: row.levels.as_ref().map_or_else(
                    || row.figure.estimate.clone(),
                    |levels| levels.both(|figure| figure.estimate.clone()),
                ),
                interval: match row.levels {
                    Some(_) => TextLine::new(Style::Flag, "two levels"),
                    None => interval(&row.figure),
                },
                unit: row.levels.as_ref().map_or_else(
                    || row.figure.unit.clone(),
                    |levels| levels.both(|figure| figure.unit.clone()),
                ),
                half_width: match row.levels {
                    Some(_) => TextLine::default(),
                    None => reached(row.finding),
                },
                flags: after_share_of_baseline(row, flags(row, &common, index == 0, crowded)),
                below: others_line.into_iter().chain(below(row, least_gap, crowded)).collect(),
            }
        })
        .collect()
}

/// The forms of the last column with the share of a ceiling of the same run before them, or, if it is outside the range of
/// earlier runs, of what is usual: `24 % of ceiling; unsteady +1`. What is expected has a line with the verdict instead.
fn after_share_of_baseline(row: &ResultRow, forms: Vec<String>) -> Vec<String> {
    let Ok(of) = &row.finding.of_baseline else { return forms };
    // Without an interval nobody knows whether it is below.
    if of.share.interval.is_err() {
        return forms;
    }
    let baseline = match &of.source {
        BaselineSource::Ceiling { .. }
        | BaselineSource::Rung { .. }
        | BaselineSource::Limit { .. } => "ceiling",
        BaselineSource::EarlierRuns { is_outside: true, .. } => "usual",
        BaselineSource::EarlierRuns { .. }
        | BaselineSource::Expectation
        | BaselineSource::Hardware { .. }
        | BaselineSource::Reference(_) => return forms,
    };
    let share = format!("{} of {baseline}", whole_percent(of.share.value));
    let with_share: Vec<String> = forms.iter().map(|form| after_share(&share, form)).collect();
    // Without room for both, flags that change how the figure is read are worth more than the share.
    with_share.into_iter().chain(forms).collect()
}

/// A share, then what the flags say: words after a semicolon, a count of more alone.
fn after_share(share: &str, form: &str) -> String {
    match form {
        "" => share.to_owned(),
        count if count.starts_with('+') => format!("{share} {count}"),
        _ => format!("{share}; {form}"),
    }
}

/// `up_throughput 2.34 MB/s · down_throughput 10.8 MB/s · asymmetry 4.62`; None for none.
fn others_text(others: &[&ResultRow]) -> Option<String> {
    let mut shown = Vec::with_capacity(others.len());
    for row in others {
        let parts = match &row.levels {
            Some(levels) => vec![row.finding.metric.clone(), levels.whole()],
            None => vec![
                row.finding.metric.clone(),
                row.figure.estimate.clone(),
                row.figure.brackets(),
                row.figure.unit.clone(),
            ],
        };
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        shown.push(parts.join(" "));
    }
    (!shown.is_empty()).then(|| shown.join(" · "))
}

fn name(row: &ResultRow) -> String {
    if row.finding.primary {
        row.label.clone()
    } else {
        format!("{} {}", row.label, row.finding.metric)
    }
}

/// What stands in the last column of a row: a flag's word, or why there is no interval.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowRemark {
    word: String,
    changes_reading: bool,
}

/// The remarks of a row, the most consequential first. Why an interval is missing comes before what only widens one.
fn remarks(row: &ResultRow, crowded: bool) -> Vec<RowRemark> {
    // Two levels stand in place of the median: the word says nothing more.
    let is_shown = |flag: &&FlagKind| row.levels.is_some() && **flag == FlagKind::Bimodal;
    let mut remarks: Vec<RowRemark> =
        by_importance(row.own_flags.iter().filter(|flag| !is_shown(flag)))
            .into_iter()
            .map(|flag| RowRemark {
                word: flag.word().to_owned(),
                changes_reading: FlagWeight::of(flag).changes_reading(),
            })
            .collect();
    if let (Some(why), None) = (row.figure.missing(), &row.levels) {
        // What follows a colon are the numbers of this row. Among many rows only the whole scorecard has room for them.
        let kind = why.split_once(": ").map_or(why, |(kind, _)| kind);
        let word = if crowded { kind } else { why }.to_owned();
        remarks.insert(must_show(&remarks), RowRemark { word, changes_reading: false });
    }
    remarks
}

/// The remarks that all rows of a family have, if there are several rows.
fn common_remarks(rows: &[&ResultRow], crowded: bool) -> Vec<RowRemark> {
    let Some((first, others)) = rows.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let others: Vec<Vec<RowRemark>> = others.iter().map(|row| remarks(row, crowded)).collect();
    let mut common = remarks(first, crowded);
    common.retain(|remark| others.iter().all(|other| other.contains(remark)));
    common
}

/// The last column of a row, from the longest form to the shortest: remarks that change how its figure is read, others
/// up to two, and how many more there are: `cached, noisy +1`. `common` are in the family's first row alone:
/// `unsteady; all: noisy`.
fn flags(row: &ResultRow, common: &[RowRemark], is_first: bool, crowded: bool) -> Vec<String> {
    let mut own = remarks(row, crowded);
    own.retain(|remark| !common.contains(remark));
    let shared = if is_first { common } else { &[] };
    // So many of its own, and so many of those that the family shares.
    let forms = [
        (at_least(MOST_FLAGS, &own), at_least(MOST_FLAGS, shared)),
        (at_least(MOST_FLAGS, &own), at_least(1, shared)),
        (at_least(1, &own), at_least(1, shared)),
        (at_least(1, &own), at_least(0, shared)),
        (at_least(0, &own), at_least(0, shared)),
    ];
    forms.into_iter().map(|(of_own, of_shared)| form(&own, of_own, shared, of_shared)).collect()
}

/// So many remarks, or more if more change how a figure is read.
fn at_least(count: usize, remarks: &[RowRemark]) -> usize {
    must_show(remarks).max(count).min(remarks.len())
}

/// How many of these remarks change how a figure is read. They come first.
fn must_show(remarks: &[RowRemark]) -> usize {
    remarks.iter().filter(|remark| remark.changes_reading).count()
}

/// The first remarks of a row and of its family, and the count of all others.
fn form(own: &[RowRemark], of_own: usize, shared: &[RowRemark], of_shared: usize) -> String {
    let own_words = words(&own[..of_own]);
    let shared_words = words(&shared[..of_shared]);
    let mut parts: Vec<String> = Vec::new();
    if !own_words.is_empty() {
        parts.push(own_words);
    }
    if !shared_words.is_empty() {
        parts.push(format!("all: {shared_words}"));
    }
    let text = parts.join("; ");
    match own.len() + shared.len() - of_own - of_shared {
        0 => text,
        more => format!("{text} +{more}").trim_start().to_owned(),
    }
}

fn words(remarks: &[RowRemark]) -> String {
    remarks.iter().map(|remark| remark.word.as_str()).collect::<Vec<_>>().join(", ")
}

/// How far a median must be from its best quarter to be worth a line here: among many results, only the farthest few are.
fn least_gap(view: &View) -> f64 {
    if !view.is_crowded() {
        return 0.0;
    }
    let mut gaps: Vec<f64> =
        view.brief_rows().filter_map(|row| best_quarter_gap(row.finding)).collect();
    gaps.sort_by(|one, other| other.total_cmp(one));
    gaps.get(MOST_BEST - 1).copied().unwrap_or(0.0)
}

/// Among many results, how many have a line about their best quarter.
fn best_quarter_lines(view: &View) -> usize {
    let least = least_gap(view);
    let gaps = view.brief_rows().filter_map(|row| best_quarter_gap(row.finding));
    gaps.filter(|gap| *gap >= least).count().min(MOST_BEST)
}

fn below(row: &ResultRow, least_gap: f64, crowded: bool) -> Option<String> {
    let is_far = best_quarter_gap(row.finding).is_some_and(|gap| gap >= least_gap);
    // Among many results, only those below their expectation have a line about it.
    let expectation = row
        .finding
        .of_baseline
        .as_ref()
        .ok()
        .filter(|of| match of.verdict {
            Some(verdict) => !crowded || verdict == ExpectationVerdict::Below,
            None => false,
        })
        .and_then(|_| baseline_text(row.finding));
    let stopped = row.finding.stop.and_then(stop_text);
    let parts: Vec<String> = row
        .goal
        .iter()
        .cloned()
        .chain(expectation)
        .chain(bits_text(row.finding).filter(|_| !crowded))
        .chain(scaled_text(row.finding))
        .chain(own_cpu_text(row).filter(|_| !crowded))
        .chain(library_text(row.finding).filter(|_| !crowded))
        .chain(other_cpu_text(row.finding))
        .chain(energy_text(row.finding))
        .chain(best_quarter_text(row.finding).filter(|_| is_far))
        .chain(pauses_text(row.finding))
        .chain(stopped)
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Cuts names, and if that is not enough flags, so that every result keeps to one line.
fn fit(rows: &mut [Cells], columns: usize) {
    let widest = |of: fn(&Cells) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let family = widest(|row| width(&row.family));
    let names = widest(|row| width(&row.name));
    let figures = widest(|row| width(&row.median)).max("median".len())
        + widest(|row| row.interval.width()).max("95 % interval".len())
        + widest(|row| width(&row.unit)).max("unit".len())
        + widest(|row| row.half_width.width());
    let longest = widest(|row| row.flags.first().map_or(0, |flags| width(flags)));
    let shortest = widest(|row| row.flags.last().map_or(0, |flags| width(flags)));
    // A flag that changes how a figure is read is worth more than the end of a name.
    let wanted = longest.min(FLAGS_ROOM).max(shortest).max("flags".len());
    // Between seven columns: two blanks each, but one before the interval and one before the unit.
    let gaps = 10;
    let rest = columns.saturating_sub(family + figures + gaps);
    let name_room = rest.saturating_sub(wanted).clamp(shortest_name(rows).min(names), names);
    let flag_room = rest.saturating_sub(name_room);
    for row in rows {
        row.name = clip(&clean(&row.name), name_room);
        row.flags = match row.flags.iter().find(|flags| width(flags) <= flag_room) {
            Some(fitting) => vec![fitting.clone()],
            None => {
                // In a narrow terminal they stand below the row, where they have room.
                let flags = row.flags.first().map(|flags| format!("! {}", clean(flags)));
                row.below.splice(0..0, flags);
                Vec::new()
            }
        };
    }
}

/// The columns that the names of a family need to stay distinct, at least [`SHORTEST_NAME`].
fn shortest_name(rows: &[Cells]) -> usize {
    (SHORTEST_NAME..=MOST_FOR_DISTINCT)
        .find(|room| are_distinct(rows, *room))
        .unwrap_or(SHORTEST_NAME)
}

/// Whether the names of every family differ if they are cut to so many columns.
fn are_distinct(rows: &[Cells], room: usize) -> bool {
    let mut family = "";
    let mut seen = BTreeSet::new();
    rows.iter().all(|row| {
        // Only the first row of a family has its name.
        if !row.family.is_empty() {
            family = &row.family;
        }
        seen.insert((family, clip(&clean(&row.name), room)))
    })
}

fn curves(view: &View, terminal: &Terminal) -> String {
    let lines: Vec<(&str, &str)> = view
        .curves
        .iter()
        .filter(|curve| !(curve.is_ladder && view.is_crowded()))
        .flat_map(|curve| curve.lines.iter().map(|line| (curve.name.as_str(), line.as_str())))
        .collect();
    let mut out = if lines.is_empty() || view.is_crowded() {
        String::new()
    } else {
        heading("Curves and rankings", terminal)
    };
    let mut last = "";
    for (name, line) in lines.iter().take(MOST_CURVE_LINES) {
        // The lines of one curve have its name once. A long one would squeeze them, so it stands above them.
        let is_long = width(name) > terminal.width / WIDEST_NAME;
        if *name != last && is_long {
            out.push_str(&terminal.lines(2, &TextLine::new(Style::Name, name)));
        }
        let shown = match *name == last {
            _ if is_long => String::new(),
            true => " ".repeat(width(name)),
            false => (*name).to_owned(),
        };
        last = name;
        let text = TextLine::new(Style::Name, &shown).and(Style::Plain, &format!("  {line}"));
        out.push_str(&terminal.lines(2, &text));
    }
    let more = lines.len().saturating_sub(MOST_CURVE_LINES);
    if more > 0 {
        let text = format!("and {} of curves", counted(more, "more line", "more lines"));
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Muted, &text)));
    }
    out
}

/// Points that gave no result, with what would mend it.
fn missing(view: &View, terminal: &Terminal) -> String {
    let finding = view.finding;
    let mut all: Vec<(Style, String, String)> = Vec::new();
    for failure in &finding.failed {
        let why = format!("{} ({} of {} invocations)", failure.why, failure.times, failure.of);
        // The last line of a log says most often why a program ended.
        let last = failure.log.lines().rev().find(|line| !line.trim().is_empty());
        let log = last.map_or_else(String::new, |line| format!("; last output: {line}"));
        all.push((Style::Bad, format!("Failed: {}: ", failure.point.name), why + &log));
    }
    for accepted in &finding.accepted_failures {
        let lead = format!("{ACCEPTED_FAILURES}: {}: ", accepted.point.name);
        all.push((Style::Flag, lead, accepted.ends.to_string()));
    }
    // A ceiling that this machine does not have is no result that is missing.
    for missing in finding.unsupported.iter().filter(|missing| !missing.point.is_ceiling) {
        let fix = if missing.fix.is_empty() { "" } else { "; fix: " };
        let why = format!("{}{fix}{}", missing.why, missing.fix);
        all.push((Style::Flag, format!("Not supported here: {}: ", missing.point.name), why));
    }
    if !finding.not_reached.is_empty() {
        let names: Vec<&str> =
            finding.not_reached.iter().map(|point| point.name.as_str()).collect();
        let lead = format!("{}: ", not_reached_heading(finding));
        all.push((Style::Flag, lead, names.join(", ")));
    }
    let mut out = String::new();
    for (style, lead, why) in all.iter().take(MOST_MISSING) {
        if view.is_crowded() {
            // A long name leaves half of the line to the reason.
            let lead = clip(lead.trim_end(), terminal.width / 2);
            out.push_str(&one_line(*style, &format!("{lead} {why}"), terminal));
        } else {
            out.push_str(&terminal.lines(0, &TextLine::new(*style, lead).and(Style::Plain, why)));
        }
    }
    let more = all.len().saturating_sub(MOST_MISSING);
    if more > 0 {
        out.push_str(&one_line(
            Style::Flag,
            &format!("and {more} more without a result"),
            terminal,
        ));
    }
    out
}

/// The most consequential reasons to distrust; every other kind is at least named.
fn reasons(view: &View, terminal: &Terminal) -> String {
    // Among many results, lines about the best quarter and about ceilings take the room of reasons: they say more, with figures.
    let most_reasons = match view.is_crowded() {
        true => {
            MOST_REASONS - best_quarter_lines(view) - usize::from(ceiling_answer(view).is_some())
        }
        false => MOST_REASONS,
    };
    // Few reasons have room for their evidence.
    let whole = flags_chapter(view, terminal);
    if whole.lines().count() <= most_reasons + 1 {
        return whole;
    }
    let mut notes: Vec<&FlagNote> = view.flags.iter().collect();
    notes.sort_by_key(|note| (FlagWeight::of(&note.flag), std::cmp::Reverse(note.evidence.len())));
    let most = if notes.len() > most_reasons { most_reasons - 1 } else { most_reasons };
    let rest: Vec<&str> = notes.iter().skip(most).map(|note| note.flag.word()).collect();
    notes.truncate(most);
    let longest = notes.iter().map(|note| width(note.flag.word())).max().unwrap_or(0);
    let mut out = String::new();
    for note in notes {
        let word = note.flag.word();
        let gap = " ".repeat(longest.saturating_sub(width(word)) + 2);
        let room = terminal.width.saturating_sub(2 + longest + 2);
        let line = TextLine::new(Style::Flag, &format!("  {word}"))
            .and(Style::Plain, &gap)
            .and(Style::Plain, &clip(&clean(&reason(note)), room));
        out.push_str(&format!("{}\n", line.render(terminal.colour)));
    }
    if !rest.is_empty() {
        let text = format!("  also: {}", rest.join(", "));
        out.push_str(&one_line(Style::Flag, &text, terminal));
    }
    if out.is_empty() { out } else { heading("Reasons to distrust", terminal) + &out }
}

/// The meaning of a flag and its place: `the samples vary too much for the requested precision (memory.latency and 14 more)`.
fn reason(note: &FlagNote) -> String {
    let mut points: Vec<&str> = note.evidence.iter().map(|(point, _)| point.as_str()).collect();
    points.dedup();
    let place = match (note.everywhere, points.as_slice()) {
        (true, _) | (_, []) => "everywhere".to_owned(),
        (_, [point]) => (*point).to_owned(),
        (_, [point, others @ ..]) => format!("{point} and {} more", others.len()),
    };
    // A plug-in's own word has no meaning that plumb knows: its evidence must speak.
    match note.meaning {
        "" => note.summary(),
        // The meaning first: rows show which results carry the flag, if the line is cut.
        meaning => format!("{meaning} ({place})"),
    }
}

fn next(view: &View, closing: &NextSteps, terminal: &Terminal) -> String {
    let full = (
        format!("plumb show {} --full{}", view.header.run, closing.store_option),
        "every column, every flag with its evidence".to_owned(),
    );
    let next: Vec<(String, String)> = closing.next.iter().take(1).cloned().chain([full]).collect();
    steps(&next, terminal)
}
