//! The table of all simulated settings, docs/validation.tsv, and its summary on the page next to it.

use std::fmt::Write;

use plumb_simulate::bars::{Bar, ValidationRow};

/// The names of the columns.
pub const COLUMNS: &str = "question\tsetting\tbar\tmeasured\tmissed from\tresult\tnote\tdate";

/// The result of a row that misses its bar.
const MISSED: &str = "missed";

/// A simulated setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingRow {
    pub question: String,
    pub setting: String,
    /// `>= VALUE`, `<= VALUE`, or `none: ` and the reason.
    pub bar: String,
    pub measured: String,
    /// The value from which the bar counts as missed; empty if there is none.
    pub missed_from: String,
    pub result: String,
    pub note: String,
    /// When it was simulated, as YYYY-MM-DD.
    pub date: String,
}

impl SettingRow {
    /// The row of something that was simulated on this date.
    pub fn new(row: &ValidationRow, date: &str) -> Self {
        let result = match (row.bar, row.passes()) {
            (Bar::Exempt(_), _) => "",
            (_, true) => "pass",
            (_, false) => MISSED,
        };
        Self {
            question: capitalised(row.promise),
            setting: row.setting.clone(),
            bar: match row.bar {
                Bar::AtLeast(bar) => format!(">= {bar}"),
                Bar::AtMost(bar) => format!("<= {bar}"),
                Bar::Exempt(reason) => format!("none: {reason}"),
            },
            measured: format!("{:.3}", row.measured.value()),
            missed_from: row.missed_from().map_or_else(String::new, |from| format!("{from:.3}")),
            result: result.to_owned(),
            note: row.note.clone(),
            date: date.to_owned(),
        }
    }

    /// A line of the table.
    pub fn line(&self) -> String {
        [
            &self.question,
            &self.setting,
            &self.bar,
            &self.measured,
            &self.missed_from,
            &self.result,
            &self.note,
            &self.date,
        ]
        .map(String::as_str)
        .join("\t")
    }

    /// Whether it misses its bar.
    pub fn is_missed(&self) -> bool {
        self.result == MISSED
    }

    /// The bar without the reason for having none: rows without a bar are one group, whatever the reason.
    fn bar_of_group(&self) -> &str {
        self.bar.split(':').next().unwrap_or_default()
    }

    /// How far it is from missing its bar, negative if it misses; the value itself without a bar.
    fn distance(&self) -> f64 {
        let value = number(&self.measured);
        match (self.bar_of_group(), self.missed_from.is_empty()) {
            ("none", _) => value,
            (_, true) => f64::INFINITY,
            (bar, false) if bar.starts_with(">=") => value - number(&self.missed_from),
            (_, false) => number(&self.missed_from) - value,
        }
    }
}

/// Reads the rows of a table.
///
/// # Errors
/// The first line that has other columns.
pub fn read(table: &str) -> Result<Vec<SettingRow>, String> {
    let mut lines = table.lines();
    if lines.next() != Some(COLUMNS) {
        return Err(format!("its columns are not {}", COLUMNS.replace('\t', ", ")));
    }
    lines.map(row).collect()
}

fn row(line: &str) -> Result<SettingRow, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [question, setting, bar, measured, missed_from, result, note, date] = cells[..] else {
        return Err(format!("`{line}` has {} columns, not 8", cells.len()));
    };
    Ok(SettingRow {
        question: question.to_owned(),
        setting: setting.to_owned(),
        bar: bar.to_owned(),
        measured: measured.to_owned(),
        missed_from: missed_from.to_owned(),
        result: result.to_owned(),
        note: note.to_owned(),
        date: date.to_owned(),
    })
}

/// The rows with all answers to the questions of `new` replaced: these stand where the first old one stood, or at the end.
pub fn with_replaced(rows: Vec<SettingRow>, new: Vec<SettingRow>) -> Vec<SettingRow> {
    let is_replaced = |row: &SettingRow| new.iter().any(|other| other.question == row.question);
    let first = rows.iter().position(is_replaced).unwrap_or(rows.len());
    let mut kept: Vec<SettingRow> = rows.into_iter().filter(|row| !is_replaced(row)).collect();
    // All rows before the first replaced one are kept, so its place is the same among them.
    kept.splice(first..first, new);
    kept
}

/// The table as a file.
pub fn text(rows: &[SettingRow]) -> String {
    let lines: String = rows.iter().map(|row| row.line() + "\n").collect();
    format!("{COLUMNS}\n{lines}")
}

/// A line for each question and bar: how many settings were simulated, and the one that is nearest to missing the bar.
pub fn summary(rows: &[SettingRow]) -> String {
    let mut text =
        "\n| question | settings | bar | nearest to a miss | missed from | in the setting |\n\
                    |---|--:|---|--:|--:|---|\n"
            .to_owned();
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let group = (row.question.as_str(), row.bar_of_group());
        if shown.contains(&group) {
            continue;
        }
        let same: Vec<&SettingRow> = rows
            .iter()
            .filter(|other| (other.question.as_str(), other.bar_of_group()) == group)
            .collect();
        // A question with several bars is printed once.
        let is_repeated = shown.last().is_some_and(|(question, _)| *question == row.question);
        let question = if is_repeated { "" } else { row.question.as_str() };
        _ = writeln!(text, "| {question} {}", summary_line(&same));
        shown.push(group);
    }
    text
}

/// The columns of a line after the question, of rows with the same bar.
fn summary_line(rows: &[&SettingRow]) -> String {
    let mut by_distance = rows.to_vec();
    by_distance.sort_by(|one, other| one.distance().total_cmp(&other.distance()));
    let (Some(nearest), Some(farthest)) = (by_distance.first(), by_distance.last()) else {
        return String::new();
    };
    let settings = rows.len();
    let bar = nearest.bar_of_group();
    let value = &nearest.measured;
    if bar == "none" {
        return format!("| {settings} | none | {value} to {} | | |", farthest.measured);
    }
    let missed = match rows.iter().filter(|row| row.is_missed()).count() {
        0 => String::new(),
        count => format!(", **{count} missed**"),
    };
    let SettingRow { missed_from, setting, .. } = nearest;
    format!("| {settings} | {bar} | {value}{missed} | {missed_from} | {setting} |")
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or(f64::NAN)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use plumb_simulate::bars::{Bar, BarSeries, ValidationRow};

    use super::{SettingRow, read, summary, text, with_replaced};

    fn row(promise: &'static str, setting: &str, bar: Bar, hits: u64) -> SettingRow {
        let row = ValidationRow {
            promise,
            setting: setting.to_owned(),
            bar,
            measured: BarSeries::Share { hits, trials: 1000 },
            note: String::new(),
        };
        SettingRow::new(&row, "2026-12-01")
    }

    fn rows() -> Vec<SettingRow> {
        vec![
            row("coverage", "calm", Bar::AtLeast(0.94), 990),
            row("coverage", "bursts", Bar::AtLeast(0.94), 951),
            row("coverage", "two regimes", Bar::Exempt("cannot be seen"), 300),
            row("coverage", "one regime", Bar::Exempt("too short"), 700),
            row("false alarms", "calm", Bar::AtMost(0.01), 2),
            row("false alarms", "drift", Bar::AtMost(0.01), 400),
        ]
    }

    #[test]
    fn the_summary_has_the_setting_nearest_to_a_miss_of_each_question_and_bar() {
        let summary = summary(&rows());
        let lines: Vec<&str> = summary.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "| Coverage | 2 | >= 0.94 | 0.951 | 0.909 | bursts |",
                "|  | 2 | none | 0.300 to 0.700 | | |",
                "| False alarms | 2 | <= 0.01 | 0.400, **1 missed** | 0.025 | drift |",
            ]
        );
    }

    #[test]
    fn a_table_is_read_as_it_was_written_and_refused_with_other_columns() {
        assert_eq!(read(&text(&rows())), Ok(rows()));
        assert!(read("question\tsetting\n").unwrap_err().contains("its columns are not question"));
        let cut = text(&rows()).replace("\t2026-12-01", "");
        assert!(read(&cut.replacen("note\n", "note\tdate\n", 1)).is_err());
    }

    #[test]
    fn new_rows_replace_those_of_the_same_questions_and_others_come_last() {
        let questions = |rows: Vec<SettingRow>| -> Vec<String> {
            rows.into_iter().map(|row| row.question + " " + &row.setting).collect()
        };
        let new = vec![row("coverage", "new", Bar::AtLeast(0.94), 990)];
        let replaced = questions(with_replaced(rows(), new));
        assert_eq!(replaced, ["Coverage new", "False alarms calm", "False alarms drift"]);
        let added = with_replaced(rows(), vec![row("power", "calm", Bar::AtLeast(0.9), 990)]);
        assert_eq!(questions(added).last().unwrap(), "Power calm");
    }
}
