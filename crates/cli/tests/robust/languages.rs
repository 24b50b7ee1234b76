//! `plumb run languages` and its table, with the real compilers and interpreters.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{TestEnvironment, ran};
use crate::place;

/// As little as possible of each language.
const SHORT: &str = "--no-lock -q --prepare none -p limit=20000 --invocation-time 10ms";

/// The rows of the export `ranking-csv` of the last run, by column.
fn ranking(place: &TestEnvironment) -> Vec<Vec<(String, String)>> {
    let exported = place.run("export last --format ranking-csv").unwrap().exits(0).stdout;
    let mut lines = exported.lines().map(fields);
    let titles = lines.next().unwrap();
    lines.map(|fields| titles.iter().cloned().zip(fields).collect()).collect()
}

/// Fields of a line; only the last, the version, may be quoted.
fn fields(line: &str) -> Vec<String> {
    line.split(',').map(str::to_owned).collect()
}

fn field<'r>(row: &'r [(String, String)], title: &str) -> &'r str {
    row.iter().find(|(name, _)| name == title).map_or("", |(_, value)| value)
}

/// Compilers need their toolchains and caches, which are in the home of whoever runs the tests.
fn languages(place: &TestEnvironment, arguments: &str) -> std::process::Command {
    let mut command = place.plumb(arguments);
    command.env("HOME", std::env::var_os("HOME").unwrap_or_default());
    command
}

/// A Lua whose copy of the program prints a wrong number.
fn wrong_lua(place: &TestEnvironment) -> std::ffi::OsString {
    let folder = place.cwd().join("wrong");
    fs::create_dir(&folder).unwrap();
    let script = "#!/bin/sh\n\
                  PATH=${PATH#*:}\n\
                  [ -f \"$1\" ] || exec lua5.4 \"$@\"\n\
                  changed=$1.changed\n\
                  sed 's/#primes_up_to(/1 + #primes_up_to(/' \"$1\" >\"$changed\"\n\
                  shift\n\
                  exec lua5.4 \"$changed\" \"$@\"\n";
    let lua = folder.join("lua5.4");
    fs::write(&lua, script).unwrap();
    fs::set_permissions(&lua, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(rest);
    path
}

/// Every language that scripts/install-test-needs installs is measured; one that prints a wrong number fails alone.
#[test]
fn a_language_that_prints_a_wrong_number_fails_and_all_others_are_measured() {
    let place = place();
    let words = format!("run languages {SHORT} --min-invocations 1 --max-invocations 1");
    let mut command = languages(&place, &words);
    let ran = ran(command.env("PATH", wrong_lua(&place))).unwrap().exits(4);
    ran.shows(&["printed \"Found 2263 prime numbers.", "CPU time of 10 loops", "lua failed"]);
    let rows = ranking(&place);
    let of_status = |status: &str| {
        let rows = rows.iter().filter(|row| field(row, "status") == status);
        let mut values: Vec<&str> = rows.map(|row| field(row, "value")).collect();
        values.retain(|value| !["bun", "deno"].contains(value));
        values.sort_unstable();
        values
    };
    let measured = [
        "c",
        "cpp",
        "cpp-unoptimised",
        "csharp",
        "go",
        "java",
        "java-arrays",
        "luajit",
        "node",
        "perl",
        "php",
        "pypy",
        "python",
        "ruby",
        "rust",
    ];
    assert_eq!(of_status("measured"), measured);
    assert_eq!(of_status("failed"), ["lua"]);
    assert_eq!(of_status("unsupported"), [""; 0]);
    assert_eq!(rows.len(), 18, "bun and deno have rows, measured or not");
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn languages_have_a_table_in_every_output() {
    let place = place();
    let words = format!(
        "run language.loop -p language=c,perl,lua {SHORT} --min-invocations 8 --max-invocations 8"
    );
    let ran = ran(&mut languages(&place, &words)).unwrap().exits(0);
    let heading = "CPU time of 10 loops of language.loop:limit=20000";
    ran.shows(&[heading, "slower than c than above", "rows with a rank in common"]);
    let rows = ranking(&place);
    let c = rows.iter().find(|row| field(row, "value") == "c").unwrap();
    let perl = rows.iter().find(|row| field(row, "value") == "perl").unwrap();
    assert_eq!(field(c, "above_first"), "");
    let number = |title: &str| field(perl, title).parse::<f64>().unwrap();
    assert!(number("best_rank") > 1.0, "{perl:?}");
    assert!(number("above_first_low") > 1.0 && number("cpu_s") > 0.0, "{perl:?}");
    assert!(number("peak_memory_bytes") > 1e6, "{perl:?}");
    let markdown = place.run("show last --format markdown").unwrap().exits(0);
    markdown.shows(&[&format!("**{heading}**"), "| slower than c | than above | version |"]);
    place.run("report last -o pages").unwrap().exits(0);
    let pages = place.cwd().join("pages");
    let tables = fs::read_dir(pages).unwrap().filter_map(|entry| {
        let page = fs::read_to_string(entry.unwrap().path()).ok()?;
        let (_, table) = page.split_once(heading)?;
        Some(table.to_owned())
    });
    assert!(tables.into_iter().any(|table| table.contains("slower than c")), "no page has it");
}

#[test]
fn versions_of_a_tool_stand_side_by_side() {
    let place = place();
    let words = format!(
        "run language.loop -p language=python -p tool=/usr/bin/python3,pypy3 {SHORT} \
         --min-invocations 2 --max-invocations 2"
    );
    let ran = ran(&mut languages(&place, &words)).unwrap().exits(0);
    ran.shows(&["rank tool", "/usr/bin/python3", "2 rounds; ranks need --min-invocations 8"]);
    let rows = ranking(&place);
    let version = |tool: &str| {
        let row = rows.iter().find(|row| field(row, "value") == tool).unwrap();
        field(row, "version").trim_matches('"').to_owned()
    };
    assert!(version("/usr/bin/python3").starts_with("cpython"), "{rows:?}");
    assert!(version("pypy3").starts_with("pypy"), "{rows:?}");
}
