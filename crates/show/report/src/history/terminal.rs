//! A line a run, with its interval drawn on one scale.

use plumb_analysis::{Estimate, HistoryFinding, HistoryRun};
use plumb_text::time::date;
use plumb_text::units::quantity;
use plumb_text::{Column, Line, Style, Table, Terminal, clip, width};

use crate::figure::figure;
use crate::history::view::{between, closing, label_keys, label_of, title};
use crate::sparkline::course;

/// Columns of the drawing.
const NARROWEST: usize = 12;
const WIDEST: usize = 40;
/// Columns that a label may take.
const LABEL: usize = 16;
/// Blanks before every line and between columns.
const BLANKS: usize = 2;

/// The history in lines of a terminal's width; `label` is the key of the label that names runs.
#[must_use]
pub fn history_card(finding: &HistoryFinding, label: Option<&str>, terminal: &Terminal) -> String {
    let rows = rows(finding, label);
    let widths = TITLES.iter().enumerate().map(|(column, title)| {
        rows.iter().map(|row| width(&row[column])).fold(width(title), usize::max)
    });
    let taken: usize = widths.map(|width| if width > 0 { width + BLANKS } else { 0 }).sum();
    let room = terminal.width.saturating_sub(taken + BLANKS).clamp(NARROWEST, WIDEST);
    let scale = Scale::of(finding, room);
    let mut table = Table::new(columns(finding, &rows, &scale)).indented(BLANKS);
    for (index, row) in rows.iter().enumerate() {
        for between in between(finding, index) {
            let lead = Line::new(Style::Muted, "── ");
            table.across(0, lead, Line::new(between.style, &between.text));
        }
        let mut cells: Vec<Line> =
            row.iter().zip(STYLES).map(|(it, as_)| Line::new(as_, it)).collect();
        cells.push(Line::new(Style::Sketch, &scale.draw(&finding.runs[index].estimate)));
        table.row(cells);
    }
    let line = |style, text: &str| terminal.lines(0, &Line::new(style, text));
    let mut out = line(Style::Heading, &title(finding));
    out.push_str(&line(Style::Sketch, &sparkline(finding, terminal)));
    out.push_str(&terminal.table(&table));
    closing(finding).iter().for_each(|text| out.push_str(&line(Style::Plain, text)));
    terminal.signs(out)
}

/// All runs in one line, from the oldest to the newest, between the least and the greatest estimate; what
/// splits the history and where it steps are borders in it.
fn sparkline(finding: &HistoryFinding, terminal: &Terminal) -> String {
    let values: Vec<f64> = finding.runs.iter().map(|run| run.estimate.value).collect();
    let steps = finding.steps.iter().flatten().map(|step| step.at);
    let borders: Vec<usize> = steps.chain(finding.splits.iter().map(|split| split.at)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = (quantity(least, &finding.unit), quantity(most, &finding.unit));
    let told = format!("lowest {least}, highest {most}");
    let taken = width(&told) + 2 * BLANKS + borders.len();
    let course = course(&values, &borders, terminal.width.saturating_sub(taken), terminal.unicode);
    if course.is_empty() { course } else { format!("{:BLANKS$}{course}  {told}", "") }
}

const TITLES: [&str; 5] = ["UTC", "", "median", "95 % interval", "unit"];
const STYLES: [Style; 5] =
    [Style::Plain, Style::Name, Style::Estimate, Style::Interval, Style::Muted];

/// Date, label, estimate, interval, unit.
fn rows(finding: &HistoryFinding, label: Option<&str>) -> Vec<[String; 5]> {
    let keys = label_keys(finding, label);
    let row = |run: &HistoryRun| {
        let shown = figure(&run.estimate, &finding.unit);
        let started = date(run.started_unix_ns).replace(" UTC", "");
        let interval = match &shown.interval {
            Ok(_) => shown.brackets(),
            Err(_) => format!("no interval, n={}", run.processes),
        };
        let label = plumb_text::clean(&label_of(run, &keys));
        [started, clip(&label, LABEL), shown.estimate, interval, shown.unit]
    };
    finding.runs.iter().map(row).collect()
}

fn columns(finding: &HistoryFinding, rows: &[[String; 5]], scale: &Scale) -> Vec<Column> {
    let (low, high) = (quantity(scale.low, &finding.unit), quantity(scale.high, &finding.unit));
    let blanks = scale.room.saturating_sub(width(&low) + width(&high)).max(1);
    let labelled = rows.iter().any(|row| !row[1].is_empty());
    let gap = |column: Column, is: bool| if is { column } else { column.gap(0) };
    let [started, label, estimate, interval, unit] = TITLES;
    vec![
        Column::left(started),
        gap(Column::left(label), labelled),
        Column::right(estimate),
        Column::left(interval),
        Column::left(unit),
        Column::left(&format!("{low}{:blanks$}{high}", "")),
    ]
}

/// From one value to another over so many columns.
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) room: usize,
}

impl Scale {
    /// Over all estimates and a usual interval beside them, so that one run of few processes does not
    /// press all others together.
    fn of(finding: &HistoryFinding, room: usize) -> Self {
        let estimates = || finding.runs.iter().map(|run| &run.estimate);
        let half = |it: &Estimate| Some((it.high()? - it.low()?) / 2.0);
        let mut halves: Vec<f64> = estimates().filter_map(half).collect();
        halves.sort_by(f64::total_cmp);
        let usual = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
        let lowest = estimates().map(|it| it.value).fold(f64::INFINITY, f64::min);
        let highest = estimates().map(|it| it.value).fold(f64::NEG_INFINITY, f64::max);
        Self { low: lowest - usual, high: highest + usual, room }
    }

    /// The column of a value, from 0, and whether it lies inside.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a column of a terminal, clamped"
    )]
    fn column(&self, value: f64) -> (usize, bool) {
        let span = self.high - self.low;
        let last = (self.room - 1) as f64;
        let place = if span > 0.0 { (value - self.low) / span * last } else { last / 2.0 };
        (place.clamp(0.0, last).round() as usize, (-0.5..=last + 0.5).contains(&place))
    }

    /// `──●───`, with `‹` or `›` where the interval goes on.
    pub(crate) fn draw(&self, estimate: &Estimate) -> String {
        let mut marks = vec![' '; self.room];
        if let (Some(low), Some(high)) = (estimate.low(), estimate.high()) {
            let (from, starts) = self.column(low);
            let (to, ends) = self.column(high);
            marks[from..=to].fill('─');
            if !starts {
                marks[from] = '‹';
            }
            if !ends {
                marks[to] = '›';
            }
        }
        marks[self.column(estimate.value).0] = '●';
        marks.into_iter().collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{Ends, Estimate};

    use super::Scale;

    #[test]
    fn intervals_lie_where_they_are() {
        let scale = Scale { low: 10.0, high: 20.0, room: 11 };
        let draw =
            |value, low, high| scale.draw(&Estimate { value, interval: Ok(Ends { low, high }) });
        assert_eq!(draw(15.0, 13.0, 16.0), "   ──●─");
        assert_eq!(draw(10.0, 5.0, 12.0), "●──");
        assert_eq!(draw(19.0, 12.0, 25.0), "  ───────●›");
        let without = Estimate { value: 20.0, interval: Err("few".into()) };
        assert_eq!(scale.draw(&without), "          ●");
        let flat = Scale { low: 1.0, high: 1.0, room: 11 };
        assert_eq!(flat.draw(&Estimate { value: 1.0, ..without }), "     ●");
    }
}
