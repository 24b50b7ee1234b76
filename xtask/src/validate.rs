//! Measures every statistical bar in simulation, prints them as Markdown and fails if one is missed.

use std::fmt::Write;
use std::time::Instant;

use plumb_simulate::bars::{Bar, ValidationRow};
use plumb_simulate::groups;
use plumb_simulate::tables;

use crate::{mlrsearch, mutations};

/// Simulated systems that MLRsearch's own implementation searches too.
const COMPARED_SYSTEMS: u64 = 1000;

/// The name of the methods broken on purpose among the groups of bars.
const MUTATIONS: &str = "mutations";

/// What was asked for.
struct ValidateOptions {
    /// Simulations per bar.
    replications: u64,
    /// The file that the report goes to, if any.
    write: Option<String>,
    /// The group of bars to measure alone; it is printed and not written.
    only: Option<String>,
}

/// Runs the chore with the arguments after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let started = Instant::now();
    let mut sections = String::new();
    let mut promise = "";
    let mut missed = 0;
    // A row is printed as soon as it is measured, because all of them together take a long time.
    let mut report = |row: ValidationRow| {
        let text = lines(&row, promise);
        print!("{text}");
        sections.push_str(&text);
        promise = row.promise;
        missed += usize::from(!row.passes());
    };
    if options.only.as_deref() == Some(MUTATIONS) {
        let (_, unnoticed) = mutations::run()?;
        return if unnoticed == 0 {
            Ok(())
        } else {
            Err(format!("{unnoticed} mutations unnoticed"))
        };
    }
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
    sections.push_str(&table);
    if let Some(path) = &options.write {
        let page = header(options.replications, started.elapsed().as_secs(), missed) + &sections;
        std::fs::write(path, page).map_err(|error| format!("cannot write {path}: {error}"))?;
    }
    match (missed, unnoticed) {
        (0, 0) => Ok(()),
        _ => Err(format!("{missed} bars missed, {unnoticed} mutations unnoticed")),
    }
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

/// A row of the table, under a heading if its promise differs from the last one.
fn lines(row: &ValidationRow, last_promise: &str) -> String {
    let mut text = String::new();
    if row.promise != last_promise {
        let columns = "| setting | bar | measured | missed from | | |\n|---|---|---|---|---|---|";
        _ = write!(text, "\n## {}\n\n{columns}\n", capitalised(row.promise));
    }
    let (bar, verdict) = match row.bar {
        Bar::AtLeast(bar) => (format!(">= {bar}"), verdict(row)),
        Bar::AtMost(bar) => (format!("<= {bar}"), verdict(row)),
        Bar::Exempt(reason) => (format!("none: {reason}"), ""),
    };
    let measured = row.measured.value();
    let bound = row.missed_from().map_or_else(String::new, |bound| format!("{bound:.3}"));
    _ = writeln!(
        text,
        "| {} | {bar} | {measured:.3} | {bound} | {verdict} | {} |",
        row.setting, row.note
    );
    text
}

fn verdict(row: &ValidationRow) -> &'static str {
    if row.passes() { "pass" } else { "**missed**" }
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
         pairs by 10 or 5, stored runs by 5), those of long histories divided by 4.\n",
        crate::host::today()
    )
}
