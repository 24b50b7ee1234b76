//! The scorecard: a run on one screen of a terminal, worth pasting into a ticket.

use plumb_analysis::FailedInvocations;
use plumb_model::{Goal, RunStatus};
use plumb_text::{Colour, Style, Table, TableColumn, Terminal, TextLine, width};
use plumb_units::percent;

use crate::comparison::covariates::covariates_text;
use crate::comparison::levels::levels_text;
use crate::comparison::{proof, verdict};
use crate::run::header::{ACCEPTED_FAILURES, not_reached_heading};
use crate::run::results_table::results;
use crate::run::right_answers::right_answers_text;
use crate::run::since_last::{self, since_last_text};
use crate::run::start_ups::start_ups;
use crate::run::view::{
    FlagNote, View, comparison_text, encryption_text, looks_text, shared_confidence, spread_text,
    unsupported_name,
};

/// Narrower than this nothing is arranged.
pub(super) const NARROWEST: usize = 40;
/// The name of a curve that takes more than this part of the width has its own line.
pub(super) const WIDEST_NAME: usize = 3;

/// The part below a scorecard.
#[derive(Debug, Clone, Default)]
pub struct NextSteps {
    /// Where the run is stored.
    pub stored: Option<String>,
    /// The next commands, each with its purpose.
    pub next: Vec<(String, String)>,
    /// What commands need to find the run: ` --store FILE`, or nothing.
    pub store_option: String,
}

/// The scorecard of a run.
#[must_use]
pub fn scorecard(view: &View, terminal: &Terminal, closing: &NextSteps) -> String {
    let terminal = Terminal { width: terminal.width.max(NARROWEST), ..*terminal };
    let mut answers = [
        results(view, &terminal) + &implementations(view, &terminal) + &curves(view, &terminal),
        comparisons(view, &terminal),
    ];
    // Who asked for a verdict reads it first.
    if matches!(view.finding.run.goal, Goal::Verdict(_)) {
        answers.reverse();
    }
    let [first, second] = answers;
    let chapters = [
        header(view, &terminal),
        first,
        second,
        proof(view.finding.proof.as_ref(), &terminal),
        start_ups(view.finding, &terminal),
        right_answers(view, &terminal),
        flags(view, &terminal),
        unsupported(view, &terminal),
        failed(view, &terminal),
        accepted_failures(view, &terminal),
        not_reached(view, &terminal),
        since_last(view, &terminal),
        end(closing, &terminal),
    ];
    let chapters: Vec<String> =
        chapters.into_iter().filter(|chapter| !chapter.is_empty()).collect();
    terminal.signs(chapters.join("\n"))
}

/// The title of a run, and its status at the right edge.
pub(super) fn title(view: &View, terminal: &Terminal) -> String {
    let header = &view.header;
    let title = TextLine::new(Style::Title, "plumb ").and(Style::Title, &header.title);
    let is_complete = view.finding.run.status == RunStatus::Complete;
    let style = if is_complete { Style::Muted } else { Style::Flag };
    let run = TextLine::new(style, header.status)
        .and(Style::Muted, " · run ")
        .and(Style::Plain, &header.run);
    // Title and status share a line if they fit.
    let room = terminal.width.saturating_sub(run.width() + 2);
    if title.width() <= room {
        let gap = terminal.width - title.width() - run.width();
        format!("{}{:gap$}{}\n", title.render(terminal.colour), "", run.render(terminal.colour))
    } else {
        terminal.lines(0, &title) + &terminal.lines(0, &run)
    }
}

fn header(view: &View, terminal: &Terminal) -> String {
    let header = &view.header;
    let mut out = title(view, terminal);
    for line in header.places.iter().flat_map(|place| place.lines()) {
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, line)));
    }
    if let Some(load) = &header.load {
        let line = TextLine::new(Style::Flag, "load: ").and(Style::Flag, load);
        out.push_str(&terminal.lines(0, &line));
    }
    if let Some(prepared) = &header.prepared {
        let line = TextLine::new(Style::Muted, "prepared: ").and(Style::Plain, prepared);
        out.push_str(&terminal.lines(0, &line));
    }
    out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &header.when)));
    out + &terminal.lines(0, &TextLine::new(Style::Plain, &header.goal))
}

pub(super) fn heading(title: &str, terminal: &Terminal) -> String {
    terminal.lines(0, &TextLine::new(Style::Heading, title))
}

pub(super) fn comparisons(view: &View, terminal: &Terminal) -> String {
    let Some(first) = view.comparisons().first() else { return String::new() };
    let title = format!(
        "Compared with {}, margin {}{}",
        first.first_name(),
        percent(first.margin),
        shared_confidence(first)
    );
    let columns = vec![
        TableColumn::left("").wrapping(),
        TableColumn::left(""),
        TableColumn::left("").wrapping(),
    ];
    let mut table = Table::new(columns).indented(2);
    for comparison in view.comparisons() {
        let style = if comparison.found.verdict.is_ok() { Style::Estimate } else { Style::Flag };
        table.row(vec![
            TextLine::new(Style::Name, &comparison.name()),
            TextLine::new(style, verdict(&comparison.found)),
            TextLine::new(Style::Plain, &comparison_text(comparison)),
        ]);
        if let Some(looks) = looks_text(&comparison.found) {
            let lead = TextLine::new(Style::Muted, "looks  ");
            table.across(2, lead, TextLine::new(Style::Muted, &looks));
        }
        if let Some(levels) = levels_text(&comparison.found) {
            table.across(2, TextLine::default(), TextLine::new(Style::Plain, &levels));
        }
        for more in [spread_text(comparison), encryption_text(comparison)].into_iter().flatten() {
            table.across(2, TextLine::default(), TextLine::new(Style::Plain, &more));
        }
        if let Some(above) = view.above_text(comparison) {
            table.across(2, TextLine::default(), TextLine::new(Style::Plain, &above));
        }
        let also_changed = covariates_text(&comparison.found.covariates).unwrap_or_default();
        table.across(2, TextLine::default(), TextLine::new(Style::Muted, &also_changed));
    }
    heading(&title, terminal) + &terminal.table(&table)
}

/// All tables, with the intervals if they fit.
pub(super) fn implementations(view: &View, terminal: &Terminal) -> String {
    let mut out = String::new();
    for table in &view.implementations {
        let long = table.for_terminal(|excess| &excess.long);
        let fits = long
            .render(terminal.width, Colour::Plain)
            .lines()
            .all(|line| width(line) <= terminal.width);
        let shown = if fits { long } else { table.for_terminal(|excess| &excess.short) };
        out.push_str(&format!("\n{}{}", heading(&table.title, terminal), terminal.table(&shown)));
        out.push_str(&terminal.lines(2, &TextLine::new(Style::Muted, &table.note)));
    }
    out
}

/// The text of curves, below the results that they belong to.
fn curves(view: &View, terminal: &Terminal) -> String {
    let mut table =
        Table::new(vec![TableColumn::left("").wrapping(), TableColumn::left("").wrapping()])
            .indented(2);
    for curve in &view.curves {
        // A long name in its own column would squeeze the text next to it.
        if plumb_text::width(&curve.name) > terminal.width / WIDEST_NAME {
            table.across(0, TextLine::default(), TextLine::new(Style::Name, &curve.name));
            for line in &curve.lines {
                table.across(2, TextLine::default(), TextLine::new(Style::Plain, line));
            }
            continue;
        }
        let names = std::iter::once(curve.name.as_str()).chain(std::iter::repeat(""));
        for (name, line) in names.zip(&curve.lines) {
            table.row(vec![TextLine::new(Style::Name, name), TextLine::new(Style::Plain, line)]);
        }
    }
    if view.curves.is_empty() {
        return String::new();
    }
    format!("\n{}{}", heading("Curves and rankings", terminal), terminal.table(&table))
}

pub(super) fn flags(view: &View, terminal: &Terminal) -> String {
    if view.flags.is_empty() {
        return String::new();
    }
    let longest = view.flags.iter().map(|note| note.flag.word().len()).max().unwrap_or(0).min(16);
    let lines = view.flags.iter().map(|note| flag(note, longest, terminal));
    heading("Reasons to distrust", terminal) + &lines.collect::<String>()
}

fn flag(note: &FlagNote, longest: usize, terminal: &Terminal) -> String {
    let word = TextLine::new(Style::Flag, note.flag.word());
    let gap = longest.saturating_sub(word.width()) + 2;
    let lead = word.and(Style::Plain, &" ".repeat(gap));
    let everywhere = if note.everywhere { "everywhere: " } else { "" };
    let line = format!("{everywhere}{}", note.explained());
    terminal.hanging(2, &lead, &TextLine::new(Style::Plain, &line))
}

fn unsupported(view: &View, terminal: &Terminal) -> String {
    let mut out = String::new();
    for missing in &view.finding.unsupported {
        let lead = TextLine::new(Style::Name, &unsupported_name(missing)).and(Style::Plain, "  ");
        let why = TextLine::new(Style::Plain, &missing.why);
        out.push_str(&named(&lead, &why, terminal));
        if !missing.fix.is_empty() {
            let fix = TextLine::new(Style::Good, &missing.fix);
            let lead = TextLine::new(Style::Muted, "fix: ");
            out.push_str(&terminal.hanging(4, &lead, &fix));
        }
    }
    if out.is_empty() { out } else { heading("Not supported here", terminal) + &out }
}

fn failed(view: &View, terminal: &Terminal) -> String {
    let lines: String = view.finding.failed.iter().map(|f| failure(f, terminal)).collect();
    if lines.is_empty() { lines } else { heading("Failed", terminal) + &lines }
}

/// How rare wrong answers are at most.
fn right_answers(view: &View, terminal: &Terminal) -> String {
    let text = right_answers_text(view.finding);
    text.map_or_else(String::new, |text| terminal.lines(0, &TextLine::new(Style::Plain, &text)))
}

/// The points whose figures include failures.
fn accepted_failures(view: &View, terminal: &Terminal) -> String {
    let mut lines = String::new();
    for accepted in &view.finding.accepted_failures {
        let lead = TextLine::new(Style::Name, &accepted.point.name).and(Style::Plain, "  ");
        let ends = TextLine::new(Style::Flag, &accepted.ends.to_string());
        lines.push_str(&named(&lead, &ends, terminal));
    }
    if lines.is_empty() { lines } else { heading(ACCEPTED_FAILURES, terminal) + &lines }
}

fn failure(failure: &FailedInvocations, terminal: &Terminal) -> String {
    let lead = TextLine::new(Style::Name, &failure.point.name).and(Style::Plain, "  ");
    let why = format!("{} ({} of {} invocations)", failure.why, failure.times, failure.of);
    let mut out = named(&lead, &TextLine::new(Style::Bad, &why), terminal);
    // The last line of a log says most often why a program ended.
    if let Some(last) = failure.log.lines().rev().find(|line| !line.trim().is_empty()) {
        let lead = TextLine::new(Style::Muted, "last output: ");
        out.push_str(&terminal.hanging(4, &lead, &TextLine::new(Style::Plain, last)));
    }
    out
}

/// A name and a text next to it; below it when the name is long.
fn named(lead: &TextLine, line: &TextLine, terminal: &Terminal) -> String {
    if 2 + lead.width() + line.width() <= terminal.width || lead.width() < 24 {
        return terminal.hanging(2, lead, line);
    }
    terminal.lines(2, lead) + &terminal.lines(4, line)
}

fn not_reached(view: &View, terminal: &Terminal) -> String {
    let names: Vec<&str> =
        view.finding.not_reached.iter().map(|point| point.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    heading(&not_reached_heading(view.finding), terminal)
        + &terminal.lines(2, &TextLine::new(Style::Plain, &names.join(", ")))
}

fn since_last(view: &View, terminal: &Terminal) -> String {
    let lines: String = since_last_text(view.finding)
        .iter()
        .map(|line| terminal.lines(2, &TextLine::new(Style::Plain, line)))
        .collect();
    match since_last::heading(view.finding) {
        Some(title) if !lines.is_empty() => heading(&title, terminal) + &lines,
        _ => String::new(),
    }
}

/// Columns of the longest command that has what it does next to it; that of longer ones stands below.
const LONGEST_BESIDE: usize = 56;

/// Where the run is stored, and the next commands.
pub(crate) fn end(closing: &NextSteps, terminal: &Terminal) -> String {
    let mut out = String::new();
    if let Some(stored) = &closing.stored {
        out.push_str(
            &terminal.lines(0, &TextLine::new(Style::Muted, "stored: ").and(Style::Plain, stored)),
        );
    }
    out + &steps(&closing.next, terminal)
}

/// Commands, each with what it does next to it, or below it if the command is long.
pub(super) fn steps(next: &[(String, String)], terminal: &Terminal) -> String {
    let mut out = String::new();
    let column = next
        .iter()
        .map(|(command, _)| plumb_text::width(command))
        .filter(|width| *width <= LONGEST_BESIDE)
        .max()
        .unwrap_or(0);
    for (command, what) in next {
        let lead = TextLine::new(Style::Command, command);
        let what = TextLine::new(Style::Muted, what);
        out.push_str(&match column.checked_sub(plumb_text::width(command)) {
            Some(gap) => terminal.hanging(0, &lead.and(Style::Plain, &" ".repeat(gap + 2)), &what),
            None => terminal.hanging(0, &lead, &TextLine::default()) + &terminal.lines(4, &what),
        });
    }
    out
}
