//! Pages that are made from the program itself; `UPDATE_DOCS=1 cargo test --package plumb-cli` rewrites them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumb_keeper::preparation::{KNOBS, Knob};
use plumb_machine::doctor::SYMPTOMS;
use plumb_model::{FACTS, IDENTITY, Impact, Theme, Value};

/// Every command that people see, as words after `plumb`, with its place in the command line.
fn commands() -> Vec<(Vec<String>, clap::Command)> {
    let mut found = vec![(Vec::new(), plumb_cli::command_line())];
    let mut next = 0;
    while let Some((words, command)) = found.get(next).cloned() {
        let below = command.get_subcommands().map(|command| {
            let words = words.iter().cloned().chain([command.get_name().to_owned()]);
            (words.collect(), command.clone())
        });
        found.splice(next + 1..next + 1, below.collect::<Vec<_>>());
        next += 1;
    }
    found
}

fn plumb(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    let output =
        command.args(words).env("COLUMNS", "100").env_remove("PLUMB_STORE").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a line or a block of a help text begins an option; a paragraph that begins with a name is not indented.
fn is_option(text: &str) -> bool {
    let indented = text.starts_with(' ') && !text.starts_with("          ");
    indented && text.trim_start().starts_with('-')
}

/// A help text as blocks: an option with all of its lines, or a single line of anything else.
fn help_blocks(help: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut in_option = false;
    for line in help.lines().map(str::trim_end) {
        let is_option = is_option(line);
        let continues = in_option && (line.is_empty() || line.starts_with("          "));
        match blocks.last_mut() {
            Some(block) if continues => {
                block.push('\n');
                block.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
        in_option = is_option || continues;
    }
    blocks
}

/// The first paragraph of an option's description.
fn first_paragraph(option: &str) -> String {
    let lines = option.lines().take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The name of an option in a help text: `--keep` of `--keep[=<SIZE>]`.
fn option_name(option: &str) -> String {
    let name = option.split_whitespace().find(|word| word.starts_with("--")).unwrap();
    let end = name.find(['[', '=', ',']).unwrap_or(name.len());
    format!("`{}`", &name[..end])
}

/// What the page has described so far.
#[derive(Default)]
struct Described {
    /// Every option, with all of its lines.
    options: BTreeSet<String>,
    /// The names of the options under each heading but the usual one.
    headings: BTreeMap<String, Vec<String>>,
}

/// A help text with the first paragraph of each option that no earlier command describes in the same words, and the options that
/// one does: a heading for most of its options, and names.
fn without_repeated_options(help: &str, described: &mut Described) -> (String, Vec<String>) {
    let blocks = help_blocks(help);
    let mut text = String::new();
    let mut repeated = Vec::new();
    // A heading is printed with its first option that is new.
    let mut heading = None;
    let mut section = "";
    let mut all = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if !is_option(block) {
            if blocks.get(index + 1).is_some_and(|next| is_option(next)) {
                heading = Some(block);
                section = block.trim_end_matches(':');
            } else {
                writeln!(text, "{block}").unwrap();
            }
            continue;
        }
        let name = option_name(block);
        all.push(name.clone());
        if !described.options.insert(block.trim().to_owned()) {
            repeated.push(name);
            continue;
        }
        if let Some(heading) = heading.take() {
            writeln!(text, "{heading}").unwrap();
        }
        writeln!(text, "{}", first_paragraph(block)).unwrap();
        let names = described.headings.entry(section.to_owned()).or_default();
        if section != "Options" && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut listed = Vec::new();
    for (heading, names) in &described.headings {
        let count = names.iter().filter(|name| repeated.contains(name)).count();
        let missing: Vec<&str> =
            names.iter().filter(|name| !all.contains(name)).map(String::as_str).collect();
        if count > missing.len() + 1 {
            let without = match missing.as_slice() {
                [] => String::new(),
                missing => format!(" except {}", missing.join(", ")),
            };
            listed.push(format!("*{heading}*{without}"));
            repeated.retain(|name| !names.contains(name));
        }
    }
    let is_everywhere = |name: &String| EVERYWHERE.contains(&name.trim_matches('`'));
    listed.extend(repeated.into_iter().filter(|name| !is_everywhere(name)));
    (text, listed)
}

/// Options that the top of the page names for all commands.
const EVERYWHERE: [&str; 4] = ["--store", "--json", "--quiet", "--help"];

/// Examples of a command on the page, at most.
const EXAMPLES: usize = 6;

/// A help text with its first examples.
fn with_first_examples(help: &str) -> String {
    let Some((before, rest)) = help.split_once("\nExamples:\n") else { return help.to_owned() };
    let (examples, after) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let mut count = 0;
    let shown = examples.lines().take_while(|line| {
        // A line that goes on with an example is indented further.
        count += usize::from(!line.starts_with("   "));
        count <= EXAMPLES
    });
    let shown: Vec<&str> = shown.collect();
    format!("{before}\nExamples:\n{}\n\n{after}", shown.join("\n"))
}

/// A help text without the list of commands, each of which has its place on the page.
fn without_commands(help: &str) -> String {
    let Some((before, rest)) = help.split_once("Commands:\n") else { return help.to_owned() };
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{after}")
}

/// A line for a command whose help has no examples: how it is typed, what it does, and its options.
fn brief(text: &str) -> String {
    let about = text.lines().next().unwrap();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
    let mut line = format!("- `{}`: {about}", usage.replace(" [OPTIONS]", ""));
    let options = text.split_once("Options:\n").map_or("", |(_, options)| options);
    for described in options.lines().filter(|described| described.starts_with(' ')) {
        let separator = if described.starts_with("          ") { " " } else { "; " };
        let words = described.trim();
        let words = if separator == "; " { format!("`{words}`") } else { words.to_owned() };
        line.push_str(separator);
        line.push_str(&words);
    }
    line
}

#[test]
fn the_reference_is_what_help_says() {
    let mut text = String::from(
        "# The command line\n\nGenerated from `--help`; a test checks it. Each option is described briefly, at the first command that has it. `plumb COMMAND --help` has full descriptions and examples. `--store`, `--json`, `--quiet` \
         and `--help` work with every command that can use them.\n",
    );
    let mut described = Described::default();
    let mut others = String::new();
    for (words, command) in commands() {
        // Of a command that only has others below it, theirs say all.
        if !words.is_empty() && command.has_subcommands() {
            continue;
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let help = without_commands(&plumb(&[&words[..], &["--help"]].concat()));
        let (help, repeated) =
            without_repeated_options(&with_first_examples(&help), &mut described);
        if !help.contains("Examples:\n") {
            writeln!(others, "{}", brief(&help)).unwrap();
            continue;
        }
        let name = [&["plumb"], &words[..]].concat().join(" ");
        write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
        if !repeated.is_empty() {
            writeln!(text, "\nDescribed above: {}.", repeated.join("; ")).unwrap();
        }
    }
    write!(text, "\n## Other commands\n\n{others}").unwrap();
    is_committed("cli.md", &text);
}

/// Most lines of a short help at 100 columns: it fits one screen.
const SHORT_HELP_LINES: usize = 40;

#[test]
fn short_help_fits_one_screen_and_the_complete_help_has_more() {
    let mut wrong = Vec::new();
    for (words, _) in commands() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let short = plumb(&[&words[..], &["-h"]].concat());
        let complete = plumb(&[&words[..], &["--help"]].concat());
        let lines = short.lines().count();
        if lines > SHORT_HELP_LINES {
            wrong.push(format!("plumb {} -h has {lines} lines", words.join(" ")));
        }
        if complete.lines().count() <= lines && short.contains("Examples:") {
            wrong.push(format!("plumb {} --help has no more than -h", words.join(" ")));
        }
        for option in ["--to <", "--i-own-this-network"] {
            let applies = ["run", "ab", "baseline set"].contains(&words.join(" ").as_str());
            if complete.contains(option) != applies {
                wrong.push(format!("plumb {} --help: {option}", words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn an_option_is_refused_where_it_means_nothing_and_help_does_not_list_it() {
    for (words, option) in [
        ("exec true", "--to=ssh:nowhere"),
        ("exec true", "--i-own-this-network"),
        ("crosscheck", "--to=peer:nowhere"),
        ("export", "--json"),
        ("baseline remove good", "--json"),
        ("explain cpu.sieve", "--store=x.db"),
        ("man", "--json"),
        ("completions bash", "--json"),
        ("completions bash", "--quiet"),
        ("suite new -", "--json"),
        ("plugin check x", "--store=x.db"),
    ] {
        let name = option.split('=').next().unwrap();
        // Before and after the command, as both places are the same to clap.
        for typed in [format!("{words} {option}"), format!("{option} {words}")] {
            let global = ["--json", "--store", "--quiet"].contains(&name);
            if !global && typed.starts_with("--") {
                continue;
            }
            let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
            let output = command.args(typed.split(' ')).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "plumb {typed}: {said}");
            assert!(
                said.contains(&format!("unexpected argument '{name}'")),
                "plumb {typed}: {said}"
            );
        }
        let path: Vec<&str> = words.split(' ').take_while(|word| *word != "true").collect();
        let commands = commands();
        let deepest = commands.iter().rev().find(|(known, _)| {
            path.starts_with(&known.iter().map(String::as_str).collect::<Vec<_>>())
                && !known.is_empty()
        });
        let known: Vec<&str> = deepest.unwrap().0.iter().map(String::as_str).collect();
        let help = plumb(&[&known[..], &["--help"]].concat());
        assert!(
            !help.contains(&format!("{name} ")),
            "plumb {} --help lists {name}",
            known.join(" ")
        );
    }
    // The environment names a store for all commands, also for those that use none.
    let mut list = Command::new(env!("CARGO_BIN_EXE_plumb"));
    assert!(list.arg("tune").env("PLUMB_STORE", "x.db").output().unwrap().status.success());
}

/// The commands in the examples of a help text, as words: from `plumb` to a gap, a pipe or a redirection.
fn examples(help: &str) -> Vec<Vec<String>> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  plumb "));
    let words = |line: &str| {
        let example = line.split_once("  ").map_or(line, |(example, _)| example);
        let words = shlex::split(example).unwrap_or_else(|| panic!("{example}"));
        words.into_iter().take_while(|word| word != "|" && word != ">").collect()
    };
    lines.map(words).collect()
}

#[test]
fn every_example_is_understood_and_names_what_exists() {
    let workloads: Vec<_> =
        plumb_workloads::builtin().iter().map(|workload| workload.describe()).collect();
    let families: BTreeSet<&str> =
        workloads.iter().filter_map(|workload| workload.id.split('.').next()).collect();
    let mut count = 0;
    for (_, command) in commands() {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let wrapped =
            help.lines().find(|line| line.starts_with("  plumb") && line.chars().count() > 100);
        assert_eq!(wrapped, None, "an example fits into a line of 100 columns");
        for words in examples(&help) {
            count += 1;
            let example = words.join(" ");
            let typed = ["plumb".to_owned()].into_iter().chain(words.clone());
            if let Err(error) = plumb_cli::command_line().try_get_matches_from(typed) {
                panic!("plumb {example}: {error}");
            }
            for id in words.iter().flat_map(|word| word.split([':', '/', '=', ','])) {
                let of_family =
                    id.split_once('.').is_some_and(|(family, _)| families.contains(family));
                let exists = workloads.iter().any(|workload| workload.id == id);
                assert!(exists || !of_family, "plumb {example}: there is no {id}");
            }
            for knob in words.windows(2).filter(|pair| pair[0] == "--set") {
                assert!(plumb_keeper::preparation::parse(&knob[1]).is_ok(), "plumb {example}");
            }
        }
    }
    assert!(count > 60, "{count} examples");
}

#[test]
fn completions_and_manual_pages_know_what_people_see() {
    for (shell, word) in [("bash", "--no-lock"), ("zsh", "--no-lock"), ("fish", "no-lock")] {
        let script = plumb(&["completions", shell]);
        assert!(script.contains(word) && script.contains("baseline"), "{shell}");
        assert!(!script.contains("ssh-sink"), "{shell}: what only plumb starts");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("plumb.bash");
    fs::write(&script, plumb(&["completions", "bash"])).unwrap();
    let asks = format!(
        "source {} && COMP_WORDS=(plumb ru) COMP_CWORD=1 && _plumb plumb ru plumb && echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let output = Command::new("bash").args(["-c", &asks]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "run", "{output:?}");

    plumb(&["man", "-q", "-o", folder.path().join("man").to_str().unwrap()]);
    for (words, _) in commands() {
        let name = [vec!["plumb".to_owned()], words.clone()].concat().join("-");
        let page = fs::read_to_string(folder.path().join(format!("man/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        let words: Vec<&str> =
            ["man"].into_iter().chain(words.iter().map(String::as_str)).collect();
        assert_eq!(plumb(&words), page, "{name}");
    }
    assert!(plumb(&["man", "ab"]).contains(".SH EXAMPLES\n"));
}

/// With `UPDATE_DOCS` set, the page is written again instead.
fn is_committed(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let mend = "UPDATE_DOCS=1 cargo test --package plumb-cli --test reference";
    assert!(committed == text, "docs/{page} is stale: {mend}");
}

const HARDWARE: &str = "
## Microarchitectures

plumb knows the cycles per load, byte or instruction of these cores (in a guest, of the core that the hypervisor
reports). If a run also measures the clock (`cpu.frequency`, which `--ceilings` adds), plumb compares its results with
them, unless there is a stated figure or a measured ceiling ([method.md](method.md#expectations)). Hybrid
processors and Arm are not supported. The files in [hardware](../crates/judge/reference/hardware) have the cycles, the
points and the sources. *Caches* means first and second level.

| core | figures |
| --- | --- |
";

const REFERENCES: &str = "\
# References

Generated from the code; tests check it.

A reference has figures from other machines: published ones that plumb ships, or your own.

    plumb reference list
    plumb compare reference:linode-360-2010 last
    plumb run bonnie --expect reference:linode-360-2010

Such a comparison has no verdict (`uncalibrated`): machines, times and usually programs differ.

## Your own machines

    plumb reference export web state=healthy > web.toml     three or more runs of a healthy machine
    plumb reference export web fleet=0193f2a4c1d8 > web.toml    or the machines of a fleet, best eight or more
    plumb reference add web.toml                            on each machine of the same kind

From then on, `plumb run` on such a machine, prepared identically, reports each point as a share of the median over hosts:
`24 % [22, 26] of 9.30 k ops/s (reference web, whose worst run is 8.10 k ops/s)`.

A result is *below* its expectation if its whole interval is worse than the worst run of the reference, and *reaches*
it if the whole interval is at least as good. If a session is too short for an interval of this machine, plumb decides
only if a threefold change in the machine's speed would not alter the verdict (a judgement, not simulated).

The worst of a few runs is uncertain: use many. `plumb reference export NAME --merge A --merge B` combines files.
With fewer than eight hosts, a reference is not a population.

Put expected figures for this machine into `~/.config/plumb/expect.toml`:

    [expect]
    'network.tcp' = '9Gbit/s'
    'storage.random:operation=write' = '20kops/s'

`--expect`, then the suite, then this file override references for the same kind of machine; among references, the
last by name wins. Points with a load, their own knob or a far end are neither exported nor compared.

## The file

TOML with the schema `plumb.reference/1`:

| field | meaning |
| --- | --- |
| `name`, `summary`, `machine`, `source`, `date`, `method`, `remarks` | whose figures these are |
| `prepared`, `kind` | if plumb measured it: the preparation, and the fingerprint of the kind of machine (`plumb doctor --json`) |
| `figure.value`, `figure.unit` | the figure in an SI base unit |
| `figure.printed`, `figure.recomputed` | as the source prints it, and how `value` is derived |
| `figure.workload`, `figure.metric`, `figure.settings`, `figure.version` | comparable points |
| `figure.measure` | the command that measures it |
| `figure.differs` | how the conditions differ |
| `figure.not-comparable` | why no workload can be compared |
| `figure.hosts` | for each host, the median of each run |

## Shipped

`plumb reference show NAME` prints the figures and comparable points.

| name | figures of | date | figures | comparable |
| --- | --- | --- | --- | --- |
";

/// The bar and line breaks of a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn the_references_are_those_of_the_code() {
    let mut text = String::from(REFERENCES);
    for (name, file) in plumb_reference::SHIPPED {
        let reference = plumb_reference::Reference::parse(file).unwrap();
        let comparable =
            reference.figures.iter().filter(|figure| figure.not_comparable.is_empty()).count();
        writeln!(
            text,
            "| `{name}` | {} | {} | {} | {comparable} |",
            cell(&reference.summary),
            cell(&reference.date),
            reference.figures.len(),
        )
        .unwrap();
    }
    text += &microarchitectures();
    is_committed("references.md", &text);
}

/// The cores with known figures, a row each.
fn microarchitectures() -> String {
    let mut text = String::from(HARDWARE);
    for known in plumb_reference::microarchitectures().unwrap() {
        let figures: Vec<&str> = known.figures.iter().map(|figure| figure.name.as_str()).collect();
        let figures = figures.join(", ");
        let figures = figures.replace("first-level cache, second-level cache", "caches");
        writeln!(text, "| {} | {figures} |", known.name).unwrap();
    }
    text
}

const DOCTOR: &str = "\
# How good is this machine for measuring?

Generated from the code; tests check it.

`plumb doctor` inspects the machine for a second without changing it, and grades it. It lists each symptom with its
evidence, its effect and a fix. It does not need root and runs in containers and virtual machines. The exit code is 0
(3 if it can read neither /proc nor /sys). `--json` prints `plumb.doctor/1`.

## The grade

| grade | sum of points: notes 0, minor symptoms 1, major 3, grave 6 |
| --- | --- |
| A | 0 |
| B | 1 to 2 |
| C | 3 to 5 |
| D | 6 to 8 |
| E | 9 to 11 |
| F | 12 or more |

The grade rates how hard it is to get precise results, not the speed of the machine. Intervals are correct even at grade F, just wider. `plumb doctor --audit` (ten minutes) measures how much identical programs differ in each kind of
work. `plumb run --prepare lab` fixes some of the symptoms for one run ([preparations.md](preparations.md)).

## The symptoms

| symptom | severity | why it matters | disturbs |
| --- | --- | --- | --- |
";

#[test]
fn the_symptoms_are_those_of_the_code() {
    let mut text = String::from(DOCTOR);
    for kind in SYMPTOMS {
        let work = match kind.disturbs {
            [] => "–".to_owned(),
            all if all.len() == 6 => "all".to_owned(),
            some => some.join(", "),
        };
        let cells = [kind.name, kind.effects, kind.why, &work].map(cell);
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    is_committed("doctor.md", &text);
}

const MACHINE: &str = "\
# The facts about a machine

Generated from the code; tests check it.

plumb records the machine and its environment with every run. `plumb show --machine [RUN]` prints them;
`plumb show --machine RUN RUN` prints the differences between two runs. *Relevant* differences may explain different
figures, and split a history; *harmless* ones are only listed.

- The **machine** is a kind of machine: a fixed list of facts, identified by a hash (`fp1:`). A run on another kind
  never continues a series of this one.
- The **host** is one machine of that kind.
- The **environment** is everything that may change between runs. Monitors read constantly changing values, such
  as loads, temperatures and frequencies.

A fact that plumb cannot read never counts as a difference. Reading facts starts no programs and uses no network.

## Hosts

Machines of one kind are not equally fast, so series, histories, baselines and audits belong to one host. Its name is

- the name that you give with `--host NAME` or `PLUMB_HOST`;
- otherwise a hash of its machine id (`/etc/machine-id`), such as `id1:94ad9ae31a054e90`;
- otherwise unknown: its runs count for every host of its kind.

`history`, `check`, `baseline set` and `compare` mix hosts only with `--by kind` (`compare --by kernel,kind`;
`compare --by run,kind` compares run by run with the noise of all hosts).

| hosts | problem | remedy |
| --- | --- | --- |
| CI guests | each has a new id | `--by kind`, or one name for all |
| renamed | a new series begins | `PLUMB_HOST=OLD`; `id1:…` is also a valid name |
| containers | no machine id, or that of the image | name the host, or mount its `/etc/machine-id` |
| cloned disks | equal machine ids | name them, or run `systemd-machine-id-setup` on each |

**Privacy.** plumb stores neither the machine id nor the hostname, only the first 16 digits of HMAC-SHA256 with the id
as the key (`systemd-id128 machine-id --app-specific=7f0d5b5e24c14c539d3c5a1e8f2b6c47`). They show only that two
results come from the same host. Names are stored, exported and published as you give them.

## Facts

Each fact, and why a difference matters. Facts in **bold** define the machine, all others its environment. A difference
is relevant unless it is marked as *harmless*.

";

#[test]
fn the_facts_are_those_of_the_code() {
    let mut text = String::from(MACHINE);
    let facts: Vec<_> = FACTS.iter().filter(|fact| fact.theme != Theme::Run).collect();
    for alike in facts.chunk_by(|one, next| one.impact == next.impact && one.why == next.why) {
        let names = alike.iter().map(|fact| {
            let mark = if IDENTITY.contains(&fact.name) { "**" } else { "" };
            format!("{mark}{}{mark}", fact.name)
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let harmless = if alike[0].impact == Impact::Harmless { " (*harmless*)" } else { "" };
        writeln!(text, "- {names}{harmless}: {}", alike[0].why).unwrap();
    }
    is_committed("machine.md", &text);
}

/// The cells of the rows of docs/conventions.md that have a factor.
fn conventions() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conventions.md");
    let page = fs::read_to_string(path).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(" | `"));
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

#[test]
fn the_conventions_name_workloads_parameters_and_metrics_that_exist() {
    let rows = conventions();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let [_, _, ours, factor, inverse, _] = row.as_slice() else { panic!("{row:?}") };
        let (point, metric) = ours.trim_start_matches('`').split_once("`, ").unwrap();
        let (id, settings) = point.split_once(':').unwrap_or((point, ""));
        let described = plumb_workloads::find(id).unwrap_or_else(|| panic!("{id}")).describe();
        assert!(described.metric(metric).is_some(), "{id} has no {metric}");
        for (name, value) in settings.split(',').filter_map(|setting| setting.split_once('=')) {
            let parameter = described.parameter(name).unwrap_or_else(|| panic!("{id}: {name}"));
            let known = parameter.allowed.contains(&Value::Text(value.to_owned()));
            assert!(known || value.parse::<u64>().is_ok(), "{id}: {name}={value}");
        }
        let there_and_back = factor.parse::<f64>().unwrap() * inverse.parse::<f64>().unwrap();
        assert!((there_and_back - 1.0).abs() < 2e-3, "{row:?}");
    }
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

/// A knob's row: what its manual says after each of these words in bold. A dash stands for nothing.
fn row(knob: &Knob) -> String {
    let said = |part: &str| {
        let (_, rest) = knob.manual.split_once(&format!("\n**{part}** ")).unwrap();
        let said = rest.lines().next().unwrap().trim_end_matches('.').replace('|', "\\|");
        if ["nothing", "none known"].contains(&said.as_str()) { "–".to_owned() } else { said }
    };
    let said = ["Sets", "Needs", "Risk"].map(said);
    format!("| `{}` | {} | {} |\n", knob.name, knob.values, said.join(" | "))
}

#[test]
fn the_table_of_the_knobs_is_what_their_manuals_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/preparations.md");
    let page = fs::read_to_string(path).unwrap();
    let head = "| knob | values | sets | needs | risk, and what to know |\n";
    let (before, rest) = page.split_once(head).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let rows: String = KNOBS.iter().map(|knob| row(knob)).collect();
    let text = format!("{before}{head}| --- | --- | --- | --- | --- |\n{rows}\n{after}");
    is_committed("preparations.md", &text);
}

#[test]
fn the_table_of_the_layers_is_what_their_manuals_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/media.md");
    let page = fs::read_to_string(path).unwrap();
    let head = "| layer | description | after a colon | needs |\n";
    let (before, rest) = page.split_once(head).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let row = |layer: &&plumb_media::MediumLayer| {
        let (_, needs) = layer.manual.split_once("\n**Needs** ").unwrap();
        let needs = needs.lines().next().unwrap().trim_end_matches('.');
        // The page says once that all but one need root.
        let beyond_root = ["root, and ", "root and ", "root, ", "root"];
        let needs = beyond_root.iter().find_map(|root| needs.strip_prefix(*root)).unwrap_or(needs);
        let name = layer.name;
        let summary = layer.summary;
        let takes = layer.takes.words();
        format!("| `{name}` | {summary} | {takes} | {needs} |\n")
    };
    let rows: String = plumb_media::LAYERS.iter().map(row).collect();
    let text = format!("{before}{head}| --- | --- | --- | --- |\n{rows}\n{after}");
    is_committed("media.md", &text);
}
