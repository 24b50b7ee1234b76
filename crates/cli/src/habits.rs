//! Options of other tools, which their users type by habit, with the equal of each here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands;

/// The tool whose habits a command line follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherTool {
    Hyperfine,
    Fio,
    Bonnie,
    Iperf3,
}

/// An option of a tool, without what follows it.
struct Habit {
    tool: OtherTool,
    /// Its short and long spelling, with those of options that have the same equal.
    options: &'static [&'static str],
    /// What to type here.
    equal: &'static str,
}

const fn habit(tool: OtherTool, options: &'static [&'static str], equal: &'static str) -> Habit {
    Habit { tool, options, equal }
}

const HABITS: &[Habit] = &[
    habit(
        OtherTool::Hyperfine,
        &["-w", "--warmup"],
        "plumb finds and discards warm-up by itself; leave it out",
    ),
    habit(OtherTool::Hyperfine, &["-r"], "-n N measures exactly N runs"),
    habit(OtherTool::Hyperfine, &["-m", "--min-runs"], "--min-invocations N"),
    habit(OtherTool::Hyperfine, &["-M", "--max-runs"], "--max-invocations N"),
    habit(OtherTool::Hyperfine, &["-L", "--parameter-list"], "-p NAME=VALUE,VALUE"),
    habit(
        OtherTool::Hyperfine,
        &["-P", "-D", "--parameter-scan", "--parameter-step-size"],
        "-p NAME=1..8+1 (a range with a step)",
    ),
    habit(OtherTool::Hyperfine, &["-s"], "--setup COMMAND"),
    habit(OtherTool::Hyperfine, &["-c"], "--cleanup COMMAND"),
    habit(OtherTool::Hyperfine, &["-C"], "--after-each COMMAND"),
    habit(OtherTool::Hyperfine, &["-S"], "--shell runs commands with /bin/sh"),
    habit(
        OtherTool::Hyperfine,
        &["-N"],
        "plumb starts no shell unless you give --shell; leave it out",
    ),
    habit(
        OtherTool::Hyperfine,
        &["--reference"],
        "the first command is what the others are compared with",
    ),
    habit(
        OtherTool::Hyperfine,
        &["--export-json"],
        "plumb export --format hyperfine -o FILE, after the run",
    ),
    habit(
        OtherTool::Hyperfine,
        &["--export-csv"],
        "plumb export --format csv -o FILE, after the run",
    ),
    habit(
        OtherTool::Hyperfine,
        &["--export-markdown"],
        "plumb show --format markdown, after the run",
    ),
    habit(
        OtherTool::Fio,
        &["--rw", "--readwrite"],
        "storage.random or storage.sequential with -p operation=read, write or mixed",
    ),
    habit(OtherTool::Fio, &["--rwmixread"], "-p operation=mixed,mix=PERCENT"),
    habit(OtherTool::Fio, &["--bs", "--blocksize"], "-p block=4KiB"),
    habit(OtherTool::Fio, &["--iodepth"], "-p depth=N"),
    habit(OtherTool::Fio, &["--numjobs"], "-p workers=N"),
    habit(OtherTool::Fio, &["--ioengine"], "-p engine=io_uring or psync"),
    habit(OtherTool::Fio, &["--direct"], "-p direct=yes or no"),
    habit(OtherTool::Fio, &["--size", "--filesize"], "-p size=1GiB"),
    habit(OtherTool::Fio, &["--directory"], "--dir DIR"),
    habit(
        OtherTool::Fio,
        &["--filename"],
        "--dir DIR for a new file, or -p file=PATH to read one of yours",
    ),
    habit(
        OtherTool::Fio,
        &["--runtime"],
        "--budget TIME for the whole run, or --stream TIME for one process",
    ),
    habit(OtherTool::Fio, &["--rate_iops"], "-p rate=1000/s"),
    habit(OtherTool::Fio, &["--output-format"], "--json"),
    habit(OtherTool::Iperf3, &["-c", "--client"], "--to ssh:HOST or --to peer:HOST"),
    habit(
        OtherTool::Iperf3,
        &["-s", "--server"],
        "plumb peer on the other machine, or --to ssh:HOST, which needs no server",
    ),
    habit(OtherTool::Iperf3, &["-R", "--reverse"], "-p direction=down"),
    habit(OtherTool::Iperf3, &["--bidir"], "-p direction=both"),
    habit(OtherTool::Iperf3, &["-P", "--parallel"], "-p streams=N"),
    habit(OtherTool::Iperf3, &["-u", "--udp"], "plumb run network.udp"),
    habit(OtherTool::Iperf3, &["-b", "--bitrate"], "network.udp with -p rate=10k/s"),
    habit(OtherTool::Iperf3, &["-t", "--time"], "--budget TIME"),
    habit(
        OtherTool::Iperf3,
        &["-l", "--length"],
        "-p block=SIZE (network.tcp) or -p bytes=SIZE (network.udp)",
    ),
    habit(OtherTool::Iperf3, &["-w", "--window"], "-p buffer=SIZE"),
    habit(OtherTool::Iperf3, &["-C", "--congestion"], "-p congestion=cubic"),
    habit(OtherTool::Iperf3, &["-J"], "--json"),
    habit(
        OtherTool::Bonnie,
        &["-d", "-s", "-n", "-r", "-b", "-f", "-m", "-x", "-u", "-g", "-c", "-z"],
        "arguments of bonnie++ follow --: plumb run bonnie -- -d /srv -s 2048",
    ),
];

/// Options that plumb has, too, with another meaning: the tool's meaning has this equal. The first part is how clap names
/// the option.
const OTHER_MEANINGS: &[(&str, &str)] = &[
    ("--prepare", "a command before each run is --before-each COMMAND (exec)"),
    (
        "--shell",
        "--shell takes no value: it runs commands with /bin/sh; without it, plumb starts no shell",
    ),
];

/// What to type instead if the command line that clap refused has options of another tool.
pub fn hints_of(error: &clap::Error) -> Vec<String> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand, _) => {
            let typed: Vec<OsString> = std::env::args_os().collect();
            hints(&typed)
        }
        (_, Some(ContextValue::String(option))) => other_meaning(option).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What to type if an option with another meaning in a tool got a value that does not fit, as clap names the option.
fn other_meaning(option: &str) -> Option<String> {
    let known = OTHER_MEANINGS.iter().find(|(name, _)| option.starts_with(name));
    known.map(|(_, equal)| (*equal).to_owned())
}

/// Tools that people name as a subcommand, with what does the same here.
const TOOLS: &[(&str, &str)] = &[
    ("hyperfine", "plumb exec 'COMMAND' 'COMMAND' times commands"),
    ("fio", "plumb run storage.random -p operation=read measures a disk"),
    ("bonnie", "plumb run bonnie -- -d /srv -s 2048 takes the arguments of bonnie++"),
    ("bonnie++", "plumb run bonnie -- -d /srv -s 2048 takes the arguments of bonnie++"),
    ("iperf3", "plumb run network.tcp --to ssh:HOST measures a network"),
    ("iperf", "plumb run network.tcp --to ssh:HOST measures a network"),
];

/// What to type in place of the options of other tools in a command line that was refused: each once, in the order in which
/// they were typed. `typed` begins with the program.
fn hints(typed: &[OsString]) -> Vec<String> {
    let words: Vec<&str> = typed
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .take_while(|word| *word != "--")
        .collect();
    let command = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let is_here = commands::ALL.iter().any(|entry| entry.name == command);
    let tools = likely_tools(if is_here { command } else { "" }, &words);
    let mut found: Vec<String> = Vec::new();
    if let Some((_, equal)) = TOOLS.iter().find(|(tool, _)| *tool == command) {
        found.push((*equal).to_owned());
    }
    if words.starts_with(&["suite", "new"]) {
        found.extend(
            words[2..]
                .iter()
                .filter(|word| is_workload(word))
                .map(|workload| format!("workloads of a suite are options: --workload {workload}")),
        );
    }
    for word in words {
        let known = tools.iter().find_map(|tool| habit_of(*tool, word));
        found.extend(known.filter(|hint| !found.contains(hint)));
    }
    found
}

/// Whether a word looks like a workload or a point, and not like an option or the file of a suite.
fn is_workload(word: &str) -> bool {
    let id = word.split(':').next().unwrap_or_default();
    id.contains('.') && !word.starts_with('-') && !word.ends_with(".toml") && !word.contains('/')
}

/// The hint for a word if it is an option of this tool.
fn habit_of(tool: OtherTool, word: &str) -> Option<String> {
    let option = word.split_once('=').map_or(word, |(option, _)| option);
    let is_meant = |habit: &&Habit| habit.tool == tool && habit.options.contains(&option);
    let known = HABITS.iter().find(is_meant)?;
    Some(match tool {
        OtherTool::Bonnie => known.equal.to_owned(),
        OtherTool::Hyperfine | OtherTool::Fio | OtherTool::Iperf3 => {
            format!("instead of {option}: {}", known.equal)
        }
    })
}

/// The tools whose options may be meant, the likeliest first. Short options mean different things to them.
fn likely_tools(command: &str, words: &[&str]) -> Vec<OtherTool> {
    let names = |part: &str| words.iter().any(|word| word.starts_with(part));
    match command {
        "exec" | "ab" => vec![OtherTool::Hyperfine],
        _ if names("hyperfine") => vec![OtherTool::Hyperfine],
        _ if names("bonnie") => vec![OtherTool::Bonnie],
        _ if names("network") || names("iperf") => vec![OtherTool::Iperf3],
        _ if names("storage") || names("fio") => vec![OtherTool::Fio],
        "run" | "" => vec![OtherTool::Fio, OtherTool::Iperf3],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{HABITS, OtherTool, hints};

    #[test]
    fn workloads_of_a_suite_are_options() {
        assert_eq!(
            of("plumb suite new mine.toml memory.copy:threads=2,16"),
            ["workloads of a suite are options: --workload memory.copy:threads=2,16"]
        );
        assert_eq!(of("plumb suite new mine.toml ./dir.d/x --force"), [""; 0]);
    }

    fn of(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        hints(&words)
    }

    #[test]
    fn each_option_of_another_tool_gets_its_equal_once() {
        assert_eq!(
            of("plumb exec --warmup 3 -L n 1,2 -L m 3 true"),
            [
                "instead of --warmup: plumb finds and discards warm-up by itself; leave it out",
                "instead of -L: -p NAME=VALUE,VALUE"
            ]
        );
        assert_eq!(
            of("plumb run network.tcp -c host -R"),
            ["instead of -c: --to ssh:HOST or --to peer:HOST", "instead of -R: -p direction=down"]
        );
        assert_eq!(of("plumb -c host -R").len(), 2);
        let [rw] = &of("plumb run --rw=randread")[..] else { panic!() };
        assert!(rw.contains("storage.random"), "{rw}");
        let [bonnie] = &of("plumb run bonnie -d /srv -s 2048")[..] else { panic!() };
        assert!(bonnie.contains("run bonnie -- -d"), "{bonnie}");
        assert_eq!(of("plumb hyperfine true").len(), 1);
        assert_eq!(of("plumb exec -- gzip -c f"), [""; 0]);
        assert_eq!(of("plumb show --nonsense -c"), [""; 0]);
        assert!(super::other_meaning("--prepare <PRESET>").unwrap().contains("--before-each"));
    }

    #[test]
    fn no_habit_is_an_option_here() {
        for habit in HABITS {
            let name = if habit.tool == OtherTool::Hyperfine { "exec" } else { "run" };
            let plumb = crate::command_line();
            let command = plumb.find_subcommand(name).unwrap();
            for option in habit.options {
                let is_known = command.get_arguments().any(|argument| {
                    let long = argument.get_long().map(|name| format!("--{name}"));
                    let short = argument.get_short().map(|name| format!("-{name}"));
                    [long, short].contains(&Some((*option).to_owned()))
                });
                assert!(!is_known, "plumb {name} {option} exists");
            }
        }
    }
}
