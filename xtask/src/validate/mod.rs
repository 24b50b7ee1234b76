//! Measures every statistical bar in simulation and fails if one is missed. All rows go to a table of tab-separated values, a
//! summary to a page next to it.

mod table;

use std::path::Path;

use plumb_simulate::bars::ValidationRow;
use plumb_simulate::groups;
use plumb_simulate::tables;

use self::table::{COLUMNS, SettingRow};
use crate::{mlrsearch, mutations};

/// Simulations per bar, unless another number is given.
const REPLICATIONS: u64 = 2000;
/// Simulated systems that MLRsearch's own implementation searches too.
const COMPARED_SYSTEMS: u64 = 1000;

/// The name of the methods broken on purpose among the groups of bars.
const MUTATIONS: &str = "mutations";

/// The heading above the methods broken on purpose, on the page.
const MUTATIONS_HEADING: &str = "## Methods broken on purpose";

/// What was asked for.
struct ValidateOptions {
    /// Simulations per bar.
    replications: u64,
    /// The page that the summary goes to, if any; the rows go to a file of the same name that ends with `.tsv`.
    write: Option<String>,
    /// The group of bars to measure alone; if it is written, its rows replace those of the same questions.
    only: Option<String>,
}

/// Runs the chore with the arguments after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let date = crate::host::today();
    let mut rows = Vec::new();
    // A row is printed as soon as it is measured, because all of them together take a long time.
    let mut report = |row: ValidationRow| {
        let row = SettingRow::new(&row, &date);
        println!("{}", row.line());
        rows.push(row);
    };
    if options.only.as_deref() != Some(MUTATIONS) {
        println!("{COLUMNS}");
    }
    let mut mutations = None;
    match options.only.as_deref() {
        Some(MUTATIONS) => mutations = Some(mutations::run()?),
        Some(name) => group(name)?(options.replications, &mut report),
        None => {
            // The groups take most of an hour: what comes after them must not fail for a missing program.
            mlrsearch::python()?;
            groups::run(options.replications, &mut report);
            mlrsearch::compare(COMPARED_SYSTEMS, &mut report)?;
            tables::run(&mut report);
            mutations = Some(mutations::run()?);
        }
    }
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    let unnoticed = mutations.as_ref().map_or(0, |(_, unnoticed)| *unnoticed);
    if let Some(path) = &options.write {
        let table_of_mutations = mutations.map(|(table, _)| table);
        update(Path::new(path), &options, rows, table_of_mutations)?;
    }
    match (missed, unnoticed) {
        (0, 0) => Ok(()),
        _ => Err(format!("{missed} bars missed, {unnoticed} mutations unnoticed")),
    }
}

/// The group of bars with this name.
fn group(name: &str) -> Result<groups::MeasureBars, String> {
    let found = groups::GROUPS.iter().find(|(group, _)| *group == name);
    found.map(|(_, measure)| *measure).ok_or_else(|| {
        let known: Vec<&str> = groups::GROUPS.iter().map(|(group, _)| *group).collect();
        format!("no bars are called {name}; try {MUTATIONS}, {}", known.join(", "))
    })
}

/// Writes the page and the table next to it. What was not simulated this time stays as it is.
fn update(
    path: &Path,
    options: &ValidateOptions,
    rows: Vec<SettingRow>,
    mutations: Option<String>,
) -> Result<(), String> {
    let data = path.with_extension("tsv");
    let all = match options.only {
        None => rows,
        Some(_) => {
            let old = table::read(&read(&data)?)
                .map_err(|error| format!("cannot read {}: {error}", data.display()))?;
            table::with_replaced(old, rows)
        }
    };
    let mutations = match mutations {
        Some(table) => table,
        None => {
            let page = read(path)?;
            let start = page.find(MUTATIONS_HEADING).ok_or_else(|| {
                format!("{} has no heading `{MUTATIONS_HEADING}`", path.display())
            })?;
            format!("\n{}", &page[start..])
        }
    };
    write(&data, &table::text(&all))?;
    write(path, &(header(options.replications, &all) + &table::summary(&all) + &mutations))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn parse(arguments: &[String]) -> Result<ValidateOptions, String> {
    let mut options = ValidateOptions { replications: REPLICATIONS, write: None, only: None };
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
    // The page states one number of replications for all its rows.
    if options.only.is_some() && options.write.is_some() && options.replications != REPLICATIONS {
        return Err(format!(
            "rows of one group are written with {REPLICATIONS} replications alone"
        ));
    }
    Ok(options)
}

fn header(replications: u64, rows: &[SettingRow]) -> String {
    let dates = rows.iter().map(|row| row.date.as_str());
    let first = dates.clone().min().unwrap_or_default();
    let last = dates.max().unwrap_or_default();
    let simulated =
        if first == last { format!("on {first}") } else { format!("from {first} to {last}") };
    let result = match rows.iter().filter(|row| row.is_missed()).count() {
        0 => "Every bar was cleared.".to_owned(),
        missed => format!("{missed} bars were missed."),
    };
    format!(
        "# Validation of the statistics\n\n\
         Written by `cargo xtask validate --replications {replications} --write docs/validation.md`, simulated {simulated}; \
         do not edit. {result}\n\n\
         Seeded simulations with known truth: the same command gives the same figures. A bar counts as missed if a \
         method that just clears it would do this badly less than once in 10,000 attempts. For *stopped* intervals, \
         sampling ends at a relative half-width of 1 %; the note gives the mean number of samples, and how often sampling \
         gave up. Replications are multiplied for cheap simulations (ranks by 100, pairs by 10 or 5, stored runs by 5), and \
         divided for long histories (by 4) and large fleets (by 5 or 20).\n\n\
         Each line shows the setting nearest to missing its bar. [validation.tsv](validation.tsv) has every setting, \
         with its date. Settings without a bar show a limit of the method; that table gives the reason.\n",
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rows_of_one_group_are_not_written_with_another_number_of_replications() {
        let parsed = |words: &str| {
            parse(&words.split(' ').map(str::to_owned).collect::<Vec<String>>()).map(|_| ())
        };
        assert_eq!(parsed("--only ranks --write page.md"), Ok(()));
        assert_eq!(parsed("--replications 50 --write page.md"), Ok(()));
        assert!(parsed("--replications 50 --only ranks --write page.md").is_err());
    }
}
