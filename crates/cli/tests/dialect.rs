//! Habits that make code hard to read for a stranger, looked for in every source file: closure parameters called `it`,
//! several names assigned at once from a tuple of values, docstrings of one or two words, and one type name for two things.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Words of a docstring that says something.
const FEWEST_WORDS: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Rust file below a folder, without those that a build leaves.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The code with a blank for every character of a comment, a text or a character, so that places stay the same.
fn without_texts(source: &str) -> Vec<char> {
    let mut code: Vec<char> = source.chars().collect();
    let mut at = 0;
    while at < code.len() {
        let end = end_of_text(&code, at);
        for character in code.iter_mut().take(end).skip(at) {
            if *character != '\n' {
                *character = ' ';
            }
        }
        at = end.max(at + 1);
    }
    code
}

/// Where the comment, text or character that begins at a place ends; the place itself if none begins there.
fn end_of_text(code: &[char], at: usize) -> usize {
    let rest = &code[at..];
    let follows_word = at > 0 && is_of_word(code[at - 1]);
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['"', ..] => end_of_string(code, at + 1),
        ['r', '"' | '#', ..] if !follows_word => end_of_raw_string(code, at),
        ['\'', '\\', _, ..] => at + 3 + rest[3..].iter().position(|c| *c == '\'').unwrap_or(0) + 1,
        // A lifetime has no second quote.
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

fn end_of_string(code: &[char], mut at: usize) -> usize {
    while at < code.len() && code[at] != '"' {
        at += if code[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(code.len())
}

/// The end of `r"…"` or `r#"…"#`; the place itself if it is another word that begins with `r#`.
fn end_of_raw_string(code: &[char], at: usize) -> usize {
    let hashes = code[at + 1..].iter().take_while(|c| **c == '#').count();
    let first = at + 1 + hashes;
    if code.get(first) != Some(&'"') {
        return at;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let length = code[first + 1..].windows(end.len()).position(|window| window == end);
    length.map_or(code.len(), |length| first + 1 + length + end.len())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The numbers of lines on which a closure has a parameter called `it`.
fn parameters_called_it(code: &[char]) -> Vec<usize> {
    let text: String = code.iter().collect();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let parts: Vec<&str> = line.split('|').collect();
        let between_bars = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
        if between_bars.iter().any(|part| is_pattern(part) && has_word(part, "it")) {
            found.push(index + 1);
        }
    }
    found
}

/// Whether a text may be the parameters of a closure: names, types, references and tuples.
fn is_pattern(text: &str) -> bool {
    text.chars().all(|c| is_of_word(c) || " &(),:<>'[]".contains(c))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c| !is_of_word(c)).any(|other| other == word)
}

/// The numbers of lines on which several names are assigned from a tuple that is written out.
fn tuples_assigned_at_once(code: &[char]) -> Vec<usize> {
    let start: Vec<char> = "let (".chars().collect();
    let places = code.windows(start.len()).enumerate().filter(|(_, window)| **window == start);
    let mut found = Vec::new();
    for (place, _) in places {
        let names = in_parentheses(code, place + start.len() - 1);
        let is_names = code[names.clone()].iter().all(|c| is_of_word(*c) || " ,\n".contains(*c));
        let equals = after_blanks(code, names.end + 1);
        let value = after_blanks(code, equals + 1);
        if !is_names || code.get(equals) != Some(&'=') || code.get(value) != Some(&'(') {
            continue;
        }
        // `(a + b).split()` is one value.
        let end = in_parentheses(code, value).end + 1;
        if code.get(after_blanks(code, end)) == Some(&';') {
            found.push(code[..place].iter().filter(|c| **c == '\n').count() + 1);
        }
    }
    found
}

/// What is inside the parenthesis that opens at a place.
fn in_parentheses(code: &[char], open: usize) -> Range<usize> {
    let mut depth = 0_u32;
    for (at, c) in code.iter().enumerate().skip(open) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + 1..at;
        }
    }
    open + 1..code.len() - 1
}

fn after_blanks(code: &[char], at: usize) -> usize {
    let blanks = code.iter().skip(at).take_while(|c| c.is_whitespace()).count();
    at + blanks
}

/// The numbers of lines with a docstring of one or two words, taken together with the lines that follow it.
fn short_docstrings(source: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut words = 0;
    let mut before = false;
    for (index, line) in source.lines().chain([""]).enumerate() {
        match line.trim_start().strip_prefix("///") {
            Some(text) => {
                words += text.split_whitespace().count();
                before = true;
            }
            None => {
                if before && words < FEWEST_WORDS {
                    found.push(index);
                }
                words = 0;
                before = false;
            }
        }
    }
    found
}

/// The types that a source defines, with their lines.
fn defined_types(source: &str) -> Vec<(String, usize)> {
    let code: String = without_texts(source).into_iter().collect();
    code.lines()
        .enumerate()
        .filter_map(|(index, line)| Some((defined_type(line)?.to_owned(), index + 1)))
        .collect()
}

/// The name of the type that begins on a line. An associated type, which is indented, names nothing new.
fn defined_type(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let without_pub = match words.first() {
        Some(first) if first.starts_with("pub") => &words[1..],
        _ => &words[..],
    };
    let [keyword, name, ..] = without_pub else { return None };
    let defines = match *keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = name.find(|c| !is_of_word(c)).unwrap_or(name.len());
    (defines && end > 0).then_some(&name[..end])
}

/// Every source file with its path from the root.
fn all_sources() -> Vec<(String, String)> {
    let root = root();
    let folders = ["crates", "xtask", "benches"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| sources(folder));
    let with_path = files.map(|file| {
        let path = file.strip_prefix(&root).unwrap().display().to_string();
        (path, fs::read_to_string(&file).unwrap())
    });
    with_path.collect()
}

/// Fails with every place that these rules find.
fn check(what: &str, places: impl Fn(&str) -> Vec<usize>) {
    let mut wrong = Vec::new();
    for (path, source) in all_sources() {
        wrong.extend(places(&source).iter().map(|line| format!("{path}:{line}: {what}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_parameter_is_called_it_and_no_tuple_is_assigned_at_once() {
    check("name the parameter after the thing, and give each name its own `let`", |source| {
        let code = without_texts(source);
        let mut lines = parameters_called_it(&code);
        lines.extend(tuples_assigned_at_once(&code));
        lines
    });
}

#[test]
fn every_docstring_has_more_than_two_words() {
    check("say what it is: shape, unit, meaning", short_docstrings);
}

#[test]
fn the_habits_are_found_and_nothing_else_is() {
    let places = |source: &str| {
        let code = without_texts(source);
        (parameters_called_it(&code).len(), tuples_assigned_at_once(&code).len())
    };
    for source in ["all.map(|it| it)", "f(|&it| 1)", "f(|a, it: &&X| 1)", "f(|(_, it)| 1)"] {
        assert_eq!(places(source), (1, 0), "{source}");
    }
    for source in ["let (a, b) = (1, 2);", "let (mut a, b) =\n    (f(x), (1, 2));"] {
        assert_eq!(places(source), (0, 1), "{source}");
    }
    for source in [
        "|item| it(item)",
        "// |it| it",
        "\"|it| \\\" let (a, b) = (1, 2);\"",
        "r#\"|it| \"it\" |it|\"#",
        "a | it.b | c",
        "let (a, b) = pair;",
        "let (a, b) = (c, d).swapped();",
        "let (a, b) = if c { (1, 2) } else { (2, 1) };",
        "for (a, b) in (1..2).zip(3..4) {}",
    ] {
        assert_eq!(places(source), (0, 0), "{source}");
    }
    let docstrings = "/// Two words.\nfn a() {}\n/// Three short words.\nfn b() {}\n/// Two\n/// lines here.\nfn c() {}";
    assert_eq!(short_docstrings(docstrings), [1]);
}

#[test]
fn a_type_name_means_one_thing() {
    let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, source) in all_sources() {
        for (name, line) in defined_types(&source) {
            definitions.entry(name).or_default().push(format!("{path}:{line}"));
        }
    }
    assert!(definitions.contains_key("SeriesInRun"), "no types were found");
    definitions.retain(|_, places| places.len() > 1);
    assert!(definitions.is_empty(), "defined more than once:\n{definitions:#?}");
}

/// The numbers of lines that contain one of `calls`, before the tests of a file.
fn lines_that_call(calls: &[&str], source: &str) -> Vec<usize> {
    let code: String = without_texts(source).into_iter().collect();
    let lines = code.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
    lines
        .filter(|(_, line)| calls.iter().any(|call| line.contains(call)))
        .map(|(index, _)| index + 1)
        .collect()
}

/// Where the sources that users run contain one of `calls`: `path:line`. What only developers run is not among them.
fn shipped_lines_that_call(calls: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, source) in all_sources() {
        let is_shipped = path.starts_with("crates/")
            && !["/tests/", "/tests.rs", "/testing", "/examples/", "base/simulate"]
                .iter()
                .any(|part| path.contains(part));
        if is_shipped {
            found.extend(
                lines_that_call(calls, &source).iter().map(|line| format!("{path}:{line}")),
            );
        }
    }
    found
}

/// Functions that panic if the system refuses a thread.
const SPAWN: [&str; 2] = ["thread::spawn(", "scope.spawn("];

#[test]
fn a_limit_on_threads_is_an_error_and_no_panic() {
    let source = "a();\nthread::spawn(b);\n#[cfg(test)]\nscope.spawn(c);";
    assert_eq!(lines_that_call(&SPAWN, source), [2]);
    let found = shipped_lines_that_call(&SPAWN);
    assert!(found.is_empty(), "use std::thread::Builder, and return its error:\n{found:#?}");
}

/// Functions that wait until every process that inherited a pipe has ended, also one in the background.
const READ_TO_THE_END: [&str; 2] = [".output()", ".wait_with_output()"];
/// Programs that plumb knows, which leave nothing in the background: the compiler, plumb itself, and `swapon`.
const LEAVE_NOTHING: [&str; 4] = [
    "crates/cli/build.rs",
    "crates/measure/keeper/src/setting.rs",
    "crates/measure/relink/src/lib.rs",
    "crates/measure/peer/src/server.rs",
];

#[test]
fn programs_that_leave_something_in_the_background_are_not_waited_for() {
    let source = "a.output()?;\nended::output(b);\nc.wait_with_output();";
    assert_eq!(lines_that_call(&READ_TO_THE_END, source), [1, 3]);
    let mut found = shipped_lines_that_call(&READ_TO_THE_END);
    found.retain(|place| !LEAVE_NOTHING.iter().any(|path| place.starts_with(path)));
    assert!(found.is_empty(), "use plumb_workload_kit::ended::output:\n{found:#?}");
}
