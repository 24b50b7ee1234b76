//! The scorecard: a run on one screen of a terminal, worth pasting into a ticket.

use plumb_analysis::{Failure, Finding};
use plumb_model::FlagKind;

use crate::sketch::histogram;
use crate::style::{Colour, Line, Style};
use crate::table::{Column, Table, hanging};
use crate::units::{percent, quantity};
use crate::view::{FlagNote, Row, View, comparison_text, verdict_text};

/// From this width on every figure has a column of its own.
const WIDE: usize = 120;
/// Narrower than this nothing is arranged.
const NARROWEST: usize = 40;

/// How a scorecard is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Whether it is coloured.
    pub colour: Colour,
    /// Whether sketches may use block characters.
    pub unicode: bool,
    /// Whether metrics other than a workload's first are shown too.
    pub every_metric: bool,
}

impl Terminal {
    /// A plain terminal of so many columns.
    #[must_use]
    pub fn plain(width: usize) -> Self {
        Self { width, colour: Colour::Plain, unicode: true, every_metric: false }
    }

    fn is_wide(&self) -> bool {
        self.width >= WIDE
    }
}

/// What stands below a scorecard.
#[derive(Debug, Clone, Default)]
pub struct Closing {
    /// Where the run is stored.
    pub stored: Option<String>,
    /// What to type next, each with what it does.
    pub next: Vec<(String, String)>,
}

/// The scorecard of a run.
#[must_use]
pub fn scorecard(view: &View, terminal: &Terminal, closing: &Closing) -> String {
    let terminal = Terminal { width: terminal.width.max(NARROWEST), ..*terminal };
    let chapters = [
        header(view, &terminal),
        results(view, &terminal),
        comparisons(view, &terminal),
        flags(view, &terminal),
        unsupported(view, &terminal),
        failed(view, &terminal),
        not_reached(view, &terminal),
        end(closing, &terminal),
    ];
    let chapters: Vec<String> =
        chapters.into_iter().filter(|chapter| !chapter.is_empty()).collect();
    chapters.join("\n")
}

fn header(view: &View, terminal: &Terminal) -> String {
    let header = &view.header;
    let title = Line::new(Style::Title, "plumb ").and(Style::Title, &header.title);
    let style = if header.status == "complete" { Style::Muted } else { Style::Flag };
    let run =
        Line::new(style, header.status).and(Style::Muted, " · run ").and(Style::Plain, &header.run);
    let room = terminal.width.saturating_sub(run.width() + 2);
    let mut out = if title.width() <= room {
        let gap = terminal.width - title.width() - run.width();
        format!("{}{:gap$}{}\n", title.render(terminal.colour), "", run.render(terminal.colour))
    } else {
        text(0, &title, terminal) + &text(0, &run, terminal)
    };
    for (machine, system) in header.machines.iter().zip(&header.systems) {
        out.push_str(&text(0, &Line::new(Style::Plain, machine), terminal));
        out.push_str(&text(0, &Line::new(Style::Plain, system), terminal));
    }
    if let Some(load) = &header.load {
        let line = Line::new(Style::Flag, "beside ").and(Style::Flag, load);
        out.push_str(&text(0, &line, terminal));
    }
    out.push_str(&text(0, &Line::new(Style::Plain, &header.when), terminal));
    out + &text(0, &Line::new(Style::Plain, &header.goal), terminal)
}

/// A line that is broken to the width.
fn text(indent: usize, line: &Line, terminal: &Terminal) -> String {
    if line.is_empty() {
        return String::new();
    }
    hanging(indent, &Line::default(), line, terminal.width, terminal.colour)
}

fn heading(title: &str, terminal: &Terminal) -> String {
    text(0, &Line::new(Style::Heading, title), terminal)
}

fn results(view: &View, terminal: &Terminal) -> String {
    if view.rows.is_empty() {
        return text(0, &Line::new(Style::Flag, "Nothing was measured."), terminal);
    }
    let mut table = Table::new(columns(terminal));
    for family in &view.families {
        table.across(0, Line::default(), Line::new(Style::Heading, &family.name));
        for row in view.shown(family, terminal.every_metric) {
            table.row(cells(row, terminal));
            below(row, terminal, &mut table);
        }
    }
    table.render(terminal.width, terminal.colour) + &legend(terminal)
}

fn columns(terminal: &Terminal) -> Vec<Column> {
    if !terminal.is_wide() {
        return vec![
            Column::left("").wrapping(),
            Column::right("median"),
            Column::left("95 % interval").gap(1),
            Column::left("unit").gap(1),
            Column::right("n"),
            Column::right("CPU"),
            Column::left("spread"),
        ];
    }
    vec![
        Column::left("").wrapping(),
        Column::left("metric"),
        Column::right("median"),
        Column::left("95 % interval").gap(1),
        Column::left("unit").gap(1),
        Column::right("±"),
        Column::right("n"),
        Column::right("user"),
        Column::right("system"),
        Column::right("iowait"),
        Column::right("memory"),
        Column::left("spread"),
        Column::left("until"),
        Column::left("flags").wrapping(),
    ]
}

fn cells(row: &Row, terminal: &Terminal) -> Vec<Line> {
    let (finding, figure) = (row.finding, &row.figure);
    let name = if finding.primary { row.label.clone() } else { format!("  {}", finding.metric) };
    let name = Line::new(Style::Name, &format!("  {name}"));
    let estimate = Line::new(Style::Estimate, &figure.estimate);
    let interval = match &figure.interval {
        Ok(_) => Line::new(Style::Interval, &figure.brackets()),
        Err(_) => Line::new(Style::Flag, "none"),
    };
    let unit = Line::new(Style::Muted, &figure.unit);
    let counts = Line::new(Style::Muted, &row.counts);
    let bins = if terminal.is_wide() { 12 } else { 8 };
    let spread = Line::new(Style::Sketch, &histogram(finding, bins, terminal.unicode));
    if !terminal.is_wide() {
        let cpu = finding.cpu.map(|cpu| percent(cpu.total()));
        return vec![name, estimate, interval, unit, counts, maybe(cpu), spread];
    }
    let share =
        |of: fn(plumb_analysis::CpuShares) -> f64| maybe(finding.cpu.map(|c| percent(of(c))));
    vec![
        name,
        Line::new(Style::Muted, &finding.metric),
        estimate,
        interval,
        unit,
        reached(finding),
        counts,
        share(|cpu| cpu.user),
        share(|cpu| cpu.system),
        share(|cpu| cpu.iowait),
        maybe(finding.peak_memory_bytes.map(bytes)),
        spread,
        maybe(finding.stop.clone()),
        Line::new(Style::Flag, &words(&row.own_flags)),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn bytes(bytes: u64) -> String {
    quantity(bytes as f64, "B")
}

fn maybe(value: Option<String>) -> Line {
    value.map_or_else(Line::default, |value| Line::new(Style::Muted, &value))
}

fn reached(finding: &Finding) -> Line {
    let Some(reached) = finding.reached else { return Line::default() };
    let missed = finding.wanted.is_some_and(|wanted| reached > wanted);
    Line::new(if missed { Style::Flag } else { Style::Good }, &percent(reached))
}

fn words(flags: &[FlagKind]) -> String {
    flags.iter().map(FlagKind::word).collect::<Vec<_>>().join(", ")
}

/// What does not fit into a row: why it has no interval, how it scales, its flags.
fn below(row: &Row, terminal: &Terminal, table: &mut Table) {
    const INDENT: usize = 4;
    if let Err(why) = &row.figure.interval {
        let lead = Line::new(Style::Flag, "no interval: ");
        table.across(INDENT, lead, Line::new(Style::Plain, why));
    }
    if let Some(scaling) = &row.scaling {
        table.across(INDENT, Line::default(), Line::new(Style::Plain, scaling));
    }
    if !terminal.is_wide() && !row.own_flags.is_empty() {
        table.across(
            INDENT,
            Line::new(Style::Flag, "! "),
            Line::new(Style::Flag, &words(&row.own_flags)),
        );
    }
}

fn legend(terminal: &Terminal) -> String {
    let cpu = if terminal.is_wide() { "user, system, iowait" } else { "CPU" };
    let legend = format!(
        "n: invocations × samples of each · {cpu}: of wall time · spread: samples, low to high"
    );
    text(0, &Line::new(Style::Muted, &legend), terminal)
}

fn comparisons(view: &View, terminal: &Terminal) -> String {
    let Some(first) = view.comparisons().first() else { return String::new() };
    let title = format!("Compared with {}, margin {}", first.first.name, percent(first.margin));
    let mut out = heading(&title, terminal);
    for comparison in view.comparisons() {
        let style = if comparison.verdict.is_ok() { Style::Estimate } else { Style::Flag };
        let head = Line::new(Style::Name, &comparison.point.name);
        out.push_str(&text(2, &head, terminal));
        let lead = Line::new(style, &verdict_text(comparison)).and(Style::Plain, "  ");
        let figures = Line::new(Style::Plain, &comparison_text(comparison));
        out.push_str(&hanging(4, &lead, &figures, terminal.width, terminal.colour));
    }
    out
}

fn flags(view: &View, terminal: &Terminal) -> String {
    if view.flags.is_empty() {
        return String::new();
    }
    let longest = view.flags.iter().map(|note| note.flag.word().len()).max().unwrap_or(0).min(16);
    let lines = view.flags.iter().map(|note| flag(note, longest, terminal));
    heading("Reasons to distrust", terminal) + &lines.collect::<String>()
}

fn flag(note: &FlagNote, longest: usize, terminal: &Terminal) -> String {
    let word = Line::new(Style::Flag, note.flag.word());
    let gap = longest.saturating_sub(word.width()) + 2;
    let lead = word.and(Style::Plain, &" ".repeat(gap));
    let everywhere = if note.everywhere { "everywhere: " } else { "" };
    let line = format!("{everywhere}{}. {}", note.meaning, note.summary());
    hanging(2, &lead, &Line::new(Style::Plain, &line), terminal.width, terminal.colour)
}

fn unsupported(view: &View, terminal: &Terminal) -> String {
    let mut out = String::new();
    for missing in &view.finding.unsupported {
        let lead = Line::new(Style::Name, &missing.point.name).and(Style::Plain, "  ");
        let why = Line::new(Style::Plain, &missing.why);
        out.push_str(&named(&lead, &why, terminal));
        if !missing.fix.is_empty() {
            let fix = Line::new(Style::Good, &missing.fix);
            let lead = Line::new(Style::Muted, "to mend: ");
            out.push_str(&hanging(4, &lead, &fix, terminal.width, terminal.colour));
        }
    }
    if out.is_empty() { out } else { heading("Not supported here", terminal) + &out }
}

fn failed(view: &View, terminal: &Terminal) -> String {
    let lines: String = view.finding.failed.iter().map(|f| failure(f, terminal)).collect();
    if lines.is_empty() { lines } else { heading("Failed", terminal) + &lines }
}

fn failure(failure: &Failure, terminal: &Terminal) -> String {
    let lead = Line::new(Style::Name, &failure.point.name).and(Style::Plain, "  ");
    let why = format!("{} ({} of {} invocations)", failure.why, failure.times, failure.of);
    let mut out = named(&lead, &Line::new(Style::Bad, &why), terminal);
    if let Some(last) = failure.log.lines().rev().find(|line| !line.trim().is_empty()) {
        let lead = Line::new(Style::Muted, "it said: ");
        out.push_str(&hanging(
            4,
            &lead,
            &Line::new(Style::Plain, last),
            terminal.width,
            terminal.colour,
        ));
    }
    out
}

/// A name and a text beside it; below it when the name is long.
fn named(lead: &Line, line: &Line, terminal: &Terminal) -> String {
    if 2 + lead.width() + line.width() <= terminal.width || lead.width() < 24 {
        return hanging(2, lead, line, terminal.width, terminal.colour);
    }
    text(2, lead, terminal) + &text(4, line, terminal)
}

fn not_reached(view: &View, terminal: &Terminal) -> String {
    let names: Vec<&str> =
        view.finding.not_reached.iter().map(|point| point.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    heading("Not reached", terminal)
        + &text(2, &Line::new(Style::Plain, &names.join(", ")), terminal)
}

fn end(closing: &Closing, terminal: &Terminal) -> String {
    let mut out = String::new();
    if let Some(stored) = &closing.stored {
        out.push_str(&text(
            0,
            &Line::new(Style::Muted, "stored in ").and(Style::Plain, stored),
            terminal,
        ));
    }
    let longest =
        closing.next.iter().map(|(command, _)| crate::text::width(command)).max().unwrap_or(0);
    for (command, what) in &closing.next {
        let gap = longest - crate::text::width(command) + 2;
        let lead = Line::new(Style::Command, command).and(Style::Plain, &" ".repeat(gap));
        out.push_str(&hanging(
            0,
            &lead,
            &Line::new(Style::Muted, what),
            terminal.width,
            terminal.colour,
        ));
    }
    out
}
