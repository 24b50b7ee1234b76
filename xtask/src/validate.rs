//! Measures every statistical bar in simulation and fails if one is missed. All rows go to a table of tab-separated values, a
//! summary to a page next to it.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use plumb_simulate::bars::{Bar, ValidationRow};
use plumb_simulate::groups;
use plumb_simulate::tables;

use crate::{mlrsearch, mutations};

/// Simulated systems that MLRsearch's own implementation searches too.
const COMPARED_SYSTEMS: u64 = 1000;

/// The name of the methods broken on purpose among the groups of bars.
const MUTATIONS: &str = "mutations";

/// The names of the columns of [`tab_separated`].
const COLUMNS: &str = "question\tsetting\tbar\tmeasured\tmissed from\tresult\tnote";

/// What was asked for.
struct ValidateOptions {
    /// Simulations per bar.
    replications: u64,
    /// The page that the summary goes to, if any; the rows go to a file of the same name that ends with `.tsv`.
    write: Option<String>,
    /// The group of bars to measure alone; it is printed and not written.
    only: Option<String>,
}

/// Runs the chore with the arguments after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let started = Instant::now();
    let mut rows = Vec::new();
    let mut missed = 0;
    // A row is printed as soon as it is measured, because all of them together take a long time.
    let mut report = |row: ValidationRow| {
        println!("{}", tab_separated(&row));
        missed += usize::from(!row.passes());
        rows.push(row);
    };
    if options.only.as_deref() == Some(MUTATIONS) {
        let (_, unnoticed) = mutations::run()?;
        return if unnoticed == 0 {
            Ok(())
        } else {
            Err(format!("{unnoticed} mutations unnoticed"))
        };
    }
    println!("{COLUMNS}");
    if let Some(name) = &options.only {
        let groups = groups::GROUPS.iter();
        let group = groups.clone().find(|(group, _)| group == name).ok_or_else(|| {
            let known: Vec<&str> = groups.map(|(group, _)| *group).collect();
            format!("no bars are called {name}; try {MUTATIONS}, {}", known.join(", "))
        })?;
        group.1(options.replications, &mut report);
        return if missed == 0 { Ok(()) } else { Err(format!("{missed} bars missed")) };
    }
    // The groups take most of an hour: what comes after them must not fail for a missing program.
    mlrsearch::python()?;
    groups::run(options.replications, &mut report);
    mlrsearch::compare(COMPARED_SYSTEMS, &mut report)?;
    tables::run(&mut report);
    let (table, unnoticed) = mutations::run()?;
    if let Some(path) = &options.write {
        let header = header(options.replications, started.elapsed().as_secs(), missed);
        let lines: String = rows.iter().map(|row| tab_separated(row) + "\n").collect();
        let data = Path::new(path).with_extension("tsv");
        write(&data, &format!("{COLUMNS}\n{lines}"))?;
        write(Path::new(path), &(header + &summary(&rows) + &table))?;
    }
    match (missed, unnoticed) {
        (0, 0) => Ok(()),
        _ => Err(format!("{missed} bars missed, {unnoticed} mutations unnoticed")),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn parse(arguments: &[String]) -> Result<ValidateOptions, String> {
    let mut options = ValidateOptions { replications: 2000, write: None, only: None };
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--replications" => {
                options.replications =
                    value.parse().map_err(|_| format!("not a number: {value}"))?;
            }
            [name, value] if name == "--write" => options.write = Some(value.clone()),
            [name, value] if name == "--only" => options.only = Some(value.clone()),
            _ => return Err(format!("cannot read {}; {}", pair.join(" "), crate::usage::USAGE)),
        }
    }
    Ok(options)
}

/// A row, as its columns.
fn tab_separated(row: &ValidationRow) -> String {
    let measured = format!("{:.3}", row.measured.value());
    let bound = row.missed_from().map_or_else(String::new, |bound| format!("{bound:.3}"));
    let result = match (row.bar, row.passes()) {
        (Bar::Exempt(_), _) => "",
        (_, true) => "pass",
        (_, false) => "missed",
    };
    let question = capitalised(row.promise);
    let columns =
        [&question, &row.setting, &bar_text(row.bar), &measured, &bound, result, &row.note];
    columns.join("\t")
}

fn bar_text(bar: Bar) -> String {
    match bar {
        Bar::AtLeast(bar) => format!(">= {bar}"),
        Bar::AtMost(bar) => format!("<= {bar}"),
        Bar::Exempt(reason) => format!("none: {reason}"),
    }
}

/// A line for each question and bar: how many settings were simulated, and the one that is nearest to missing the bar.
fn summary(rows: &[ValidationRow]) -> String {
    let mut text =
        "\n| question | settings | bar | nearest to a miss | missed from | in the setting |\n\
                    |---|--:|---|--:|--:|---|\n"
            .to_owned();
    let mut shown: Vec<(&str, String)> = Vec::new();
    for row in rows {
        let group = (row.promise, group_of(row.bar));
        if shown.contains(&group) {
            continue;
        }
        let same: Vec<&ValidationRow> =
            rows.iter().filter(|other| (other.promise, group_of(other.bar)) == group).collect();
        // A question with several bars is printed once.
        let is_repeated = shown.last().is_some_and(|(promise, _)| *promise == row.promise);
        let question = if is_repeated { String::new() } else { capitalised(row.promise) };
        _ = writeln!(text, "| {question} {}", summary_line(&same, &group.1));
        shown.push(group);
    }
    text
}

/// Rows without a bar are one group, whatever the reason.
fn group_of(bar: Bar) -> String {
    match bar {
        Bar::Exempt(_) => "none".to_owned(),
        _ => bar_text(bar),
    }
}

/// The columns of a line after the question.
fn summary_line(rows: &[&ValidationRow], bar: &str) -> String {
    let mut by_distance = rows.to_vec();
    by_distance.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    let (Some(nearest), Some(farthest)) = (by_distance.first(), by_distance.last()) else {
        return String::new();
    };
    let settings = rows.len();
    let value = nearest.measured.value();
    if matches!(nearest.bar, Bar::Exempt(_)) {
        let most = farthest.measured.value();
        return format!("| {settings} | none | {value:.3} to {most:.3} | | |");
    }
    let bound = nearest.missed_from().map_or_else(String::new, |bound| format!("{bound:.3}"));
    let missed = match rows.iter().filter(|row| !row.passes()).count() {
        0 => String::new(),
        count => format!(", **{count} missed**"),
    };
    let setting = &nearest.setting;
    format!("| {settings} | {bar} | {value:.3}{missed} | {bound} | {setting} |")
}

/// How far a row is from missing its bar, negative if it misses; the value itself without a bar.
fn distance(row: &ValidationRow) -> f64 {
    let value = row.measured.value();
    match (row.bar, row.missed_from()) {
        (Bar::AtLeast(_), Some(bound)) => value - bound,
        (Bar::AtMost(_), Some(bound)) => bound - value,
        (Bar::AtLeast(_) | Bar::AtMost(_), None) => f64::INFINITY,
        (Bar::Exempt(_), _) => value,
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn header(replications: u64, seconds: u64, missed: usize) -> String {
    let result = if missed == 0 {
        "Every bar was cleared.".to_owned()
    } else {
        format!("{missed} bars were missed.")
    };
    format!(
        "# Validation of the statistics\n\n\
         Written by `cargo xtask validate --replications {replications} --write docs/validation.md` on {} in {seconds} s; \
         do not edit. {result}\n\n\
         Seeded simulations with known truth: the same command gives the same figures. A bar is missed if a \
         method that just clears it would do this badly less than once in 10,000 times. Sampling of \
         *stopped* intervals ends once they reach a relative half-width of 1 %; the note gives the mean \
         number of samples, and how often sampling gave up. Cheap replications are multiplied (ranks by 100, \
         pairs by 10 or 5, stored runs by 5), those of long histories divided by 4, of large fleets by 5 or 20.\n\n\
         This page has a line for each question and bar, with the setting that is nearest to missing it. [validation.tsv](validation.tsv) has a \
         row for every setting. Settings without a bar show a limit of the method; their rows have the reason.\n",
        crate::host::today()
    )
}

#[cfg(test)]
mod tests {
    use plumb_simulate::bars::{Bar, BarSeries, ValidationRow};

    use super::{summary, tab_separated};

    fn row(promise: &'static str, setting: &str, bar: Bar, hits: u64) -> ValidationRow {
        ValidationRow {
            promise,
            setting: setting.to_owned(),
            bar,
            measured: BarSeries::Share { hits, trials: 1000 },
            note: String::new(),
        }
    }

    #[test]
    fn the_summary_has_the_setting_nearest_to_a_miss_of_each_question_and_bar() {
        let rows = [
            row("coverage", "calm", Bar::AtLeast(0.94), 990),
            row("coverage", "bursts", Bar::AtLeast(0.94), 951),
            row("coverage", "two regimes", Bar::Exempt("cannot be seen"), 300),
            row("coverage", "one regime", Bar::Exempt("too short"), 700),
            row("false alarms", "calm", Bar::AtMost(0.01), 2),
            row("false alarms", "drift", Bar::AtMost(0.01), 400),
        ];
        let summary = summary(&rows);
        let lines: Vec<&str> = summary.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "| Coverage | 2 | >= 0.94 | 0.951 | 0.909 | bursts |",
                "|  | 2 | none | 0.300 to 0.700 | | |",
                "| False alarms | 2 | <= 0.01 | 0.400, **1 missed** | 0.025 | drift |",
            ]
        );
        assert!(
            tab_separated(&rows[5]).starts_with("False alarms\tdrift\t<= 0.01\t0.400\t0.0"),
            "{}",
            tab_separated(&rows[5])
        );
    }
}
