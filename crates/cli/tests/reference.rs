//! Pages that are made from the program itself; `UPDATE_DOCS=1 cargo test --package plumb-cli` rewrites them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumb_machine::doctor::SYMPTOMS;
use plumb_model::{FACTS, IDENTITY, Theme};

const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["exec"],
    &["ab"],
    &["compare"],
    &["baseline", "set"],
    &["check"],
    &["doctor"],
    &["history"],
    &["list"],
    &["explain"],
    &["show"],
    &["report"],
    &["serve"],
    &["export"],
    &["import"],
    &["plugin", "check"],
    &["store", "info"],
];

#[test]
fn the_reference_is_what_help_says() {
    let mut text =
        String::from("# The command line\n\nGenerated from `--help`; a test compares.\n");
    for command in COMMANDS {
        let output = Command::new(env!("CARGO_BIN_EXE_plumb"))
            .args(*command)
            .arg("--help")
            .env("COLUMNS", "100")
            .env_remove("PLUMB_STORE")
            .output()
            .unwrap();
        assert!(output.status.success());
        let name = ["plumb"].iter().chain(*command).copied().collect::<Vec<_>>().join(" ");
        let help = String::from_utf8(output.stdout).unwrap();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end()).unwrap();
    }
    is_committed("cli.md", &text);
}

/// With `UPDATE_DOCS` set, the page is written anew instead.
fn is_committed(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let mend = "UPDATE_DOCS=1 cargo test --package plumb-cli --test reference";
    assert!(committed == text, "docs/{page} is stale: {mend}");
}

const DOCTOR: &str = "\
# How good is this machine for measuring?

Generated from the code; a test compares.

`plumb doctor` looks at the machine for a second and changes nothing. It says what is wrong, what it saw and
where, what that does to measurements, and what mends it; it gives a grade. It needs no root, runs in containers
and guests, and ends with 0 whatever it finds (with 3 where neither /proc nor /sys can be read). `--json` prints
`plumb.doctor/1`, `--dir DIR` names the target directory of the runs to come.

## The grade

Each symptom has points: a note 0, a minor one 1, a major one 3, a grave one 6. Their sum makes the grade:

| grade | points | for example |
| --- | --- | --- |
| A | 0 | nothing, or notes |
| B | 1 to 2 | turbo, or siblings |
| C | 3 to 5 | one major symptom: a governor that follows the load |
| D | 6 to 8 | one grave symptom, or two major ones |
| E | 9 to 11 | three major symptoms |
| F | 12 and more | two grave symptoms, or a laptop on battery as it comes |

The grade says how much it takes to get precise results here, not how fast the machine is. On a machine with F
intervals are right, too, only wide. What it costs in figures is known where the machine was audited
(`plumb doctor --audit`, ten minutes): below the symptoms stands by how much equal programs differed in each kind
of work, and which symptoms disturb that kind.

`--set` needs root in most cases, holds for a run and is undone after it; `plumb run --prepare lab` sets most of
these at once.

## The symptoms

| symptom | effect | why it matters | what mends it | disturbs |
| --- | --- | --- | --- | --- |
";

#[test]
fn the_symptoms_are_those_of_the_code() {
    let mut text = String::from(DOCTOR);
    for kind in SYMPTOMS {
        let work = match kind.disturbs {
            [] => "nothing by itself".to_owned(),
            all if all.len() == 6 => "all work".to_owned(),
            some => some.join(", "),
        };
        let cells = [kind.name, kind.effects, kind.why, kind.fix, &work];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    is_committed("doctor.md", &text);
}

const MACHINE: &str = "\
# What plumb knows of a machine

Generated from the code; a test compares.

With every run plumb stores the machine and its environment; `plumb show --machine [RUN]` prints them by themes,
`plumb show --machine RUN RUN` what differs between two, with its impact. `compare`, `check` and `history` use the
same words: *relevant* differences may be why numbers differ, and split a history; *harmless* ones are only named.

- The **machine** is its identity, a frozen list: a run of another machine never continues a series of this one.
- The **environment** is what may change. Only what stays from run to run is in it: free space, temperatures,
  clocks of the moment and loads would make every run another environment, and are read by monitors.
- What cannot be read (without root, or by an older plumb) is missing, and no difference to anybody.
- No network is asked: a cloud is known by what it writes into the firmware of its guests.
- No program is started: versions come from the package manager's files. Workloads that use a tool ask it.

| fact | theme | kept in | a difference is | because |
| --- | --- | --- | --- | --- |
";

#[test]
fn the_facts_are_those_of_the_code() {
    let mut text = String::from(MACHINE);
    for fact in FACTS.iter().filter(|fact| fact.theme != Theme::Run) {
        let kept = if IDENTITY.contains(&fact.name) { "machine" } else { "environment" };
        let cells = [fact.name, fact.theme.word(), kept, fact.impact.word(), fact.why];
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    is_committed("machine.md", &text);
}

#[test]
fn the_page_of_the_monitors_names_them_all() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/monitors.md");
    let page = std::fs::read_to_string(page).unwrap();
    for monitor in plumb_monitors::ALL {
        assert!(
            page.contains(&format!("| `{}` | {}", monitor.name, monitor.summary)),
            "{}",
            monitor.name
        );
    }
    for rule in plumb_monitors::interference::RULES {
        assert!(page.contains(&format!("`{rule}`")), "no {rule} in docs/monitors.md");
    }
}
