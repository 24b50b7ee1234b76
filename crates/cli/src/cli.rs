//! The command line, as it is typed.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use plumb_classics::Format;

mod report;
mod serve;
mod way;

pub use report::{ExportArgs, ExportFormat, ReportArgs};
pub use serve::{LiveArgs, ServeArgs};
pub use way::{GoalArgs, PrepareArgs, WayArgs};

/// How fast should this machine be, how fast is it, and did a change make it slower?
#[derive(Debug, Parser)]
#[command(name = "plumb", version, about, long_about = None, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  plumb run                                   measure this machine in about two minutes
  plumb run memory.copy -p method=libc,nt     measure one workload at two points
  plumb exec 'gzip -k f' 'zstd -k f'          time commands, compared with the first
  plumb show last --in-words                  the last run in sentences

Exit codes: 0 fine · 1 a confirmed regression · 2 usage, unknown name, command not found ·
  3 nothing could be measured · 4 a workload or command failed · 5 inconclusive (--strict) ·
  6 store or file trouble · 70 a bug · 130 interrupted")]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// The store: a file [default: $XDG_DATA_HOME/plumb/plumb.db]
    #[arg(long, global = true, value_name = "FILE", env = "PLUMB_STORE")]
    pub store: Option<PathBuf>,
    /// Print one JSON document on stdout; talk goes to stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no talk
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure: a suite, workloads or plug-ins; the suite `first-look` when nothing is named
    Run(Box<RunArgs>),
    /// Measure commands; several are interleaved and compared with the first
    Exec(Box<ExecArgs>),
    /// Is B slower than A? Pairs of commands or points, until there is a verdict
    Ab(Box<AbArgs>),
    /// Stored runs against the first of them: versions, kernels, machines
    Compare(CompareArgs),
    /// Name sets of runs to check against
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Did this machine become slower than its baseline?
    Check(CheckArgs),
    /// How good is this machine for measuring, and how small a change can it show?
    Doctor(DoctorArgs),
    /// What can be set on this machine before measuring, and what a killed plumb left set
    Tune(TuneArgs),
    /// One series over all its runs: when did it change, and what else did?
    History(HistoryArgs),
    /// List the workloads, suites and plug-ins
    List,
    /// The manual of a workload
    Explain(ExplainArgs),
    /// The scorecard of a run
    Show(ShowArgs),
    /// Pages to look at, or one chart, as files
    Report(ReportArgs),
    /// All runs in a browser: pages, and runs while they go on
    Serve(ServeArgs),
    /// Write runs for other programs
    Export(ExportArgs),
    /// Take over the runs of other stores, and the results of other tools
    Import(ImportArgs),
    /// Work on plug-ins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Look after the store
    #[command(subcommand)]
    Store(StoreCommand),
    /// The process between plumb and everything it starts
    #[command(hide = true)]
    Keeper,
    /// Serve a built-in workload over the line protocol
    #[command(hide = true)]
    Worker {
        /// Its id
        id: String,
    },
    /// End what a worker started whose keeper is gone
    #[command(hide = true)]
    Orphaned,
    /// Swallow and count what ssh brings
    #[command(hide = true)]
    SshSink,
}

impl Command {
    /// Whether plumb starts it, and nobody else.
    fn is_hidden(&self) -> bool {
        matches!(self, Self::Keeper | Self::Worker { .. } | Self::Orphaned | Self::SshSink)
    }

    /// Whether what a killed plumb left set is restored first: `tune` shows it, and restores when told.
    pub fn restores_first(&self) -> bool {
        !self.is_hidden() && !matches!(self, Self::Tune(_))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb run                                        the suite first-look: about two minutes
  plumb run cpu.sieve -p threads=1,all             one workload at two points
  plumb run storage.random --dir /srv --budget 5m  on the filesystem under /srv
  plumb run storage.sequential --with cpu.sieve    with a load in the background
  plumb run my-suite.toml --label kernel=6.12      a suite of your own, labelled
  plumb run network.tcp --expect network.tcp=9Gbit/s   beside what it should give
  plumb run storage.sequential --ceilings          and what the same calls give on a file in memory
  plumb run cpu.sieve --for 4h                     a soak: four hours, whatever the precision
  plumb run --live                                 beside it a page that shows how far it is
  plumb run --every 6h                             files for a timer that does so, and a cron line
  plumb run --resume                               go on with the run that was interrupted last")]
pub struct RunArgs {
    /// Suites (by name or as a TOML file), workloads (`memory.copy`, `memory.copy:method=nt`) or plug-ins
    pub names: Vec<String>,
    /// Set a parameter; several values, separated by commas, give several points
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    pub params: Vec<String>,
    /// Target directory for workloads that use files [default: a fresh folder under the current one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// What a result should be: a series, point or workload, and a figure with its unit
    #[arg(long, value_name = "SERIES=FIGURE")]
    pub expect: Vec<String>,
    /// Measure beside it what nothing in the way would give: the same I/O on a file in memory, copies by
    /// every method
    #[arg(long, conflicts_with = "resume")]
    pub ceilings: bool,
    /// Run this load, monitor or preparation in the background, on purpose
    #[arg(long, value_name = "WORKLOAD")]
    pub with: Vec<String>,
    #[command(flatten)]
    pub goal: GoalArgs,
    /// A soak: round after round for so long, whatever the precision; what it shows meanwhile holds at any time
    #[arg(long = "for", value_name = "TIME", conflicts_with_all =
        ["precision", "min_invocations", "min_time", "max_time", "budget", "resume"])]
    pub soak: Option<String>,
    /// Print what would measure this at fixed times, for systemd and for cron; it measures and installs nothing
    #[arg(long, value_name = "TIME", conflicts_with_all = ["resume", "dry_run"])]
    pub every: Option<String>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Go on with an interrupted run [default: the last one]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last")]
    pub resume: Option<String>,
    /// Say what would be measured, and stop
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb exec 'sleep 0.1'                       until the median is known to 1 %
  plumb exec -n 20 'gzip -k f' 'zstd -k f'     20 runs of each, compared with the first
  plumb exec -- make -j2 all                   one command, word by word
  plumb exec --shell 'sort f | uniq -c'        through /bin/sh (its start-up counts)

A command is split into words as a shell would, but no shell is started. Each run is timed from just \
before posix_spawn to just after wait4. A short command (under 20 ms) is run once more, uncounted, by \
each fresh worker, because the worker's own start has cooled the caches.")]
pub struct ExecArgs {
    /// Commands, each one argument
    #[arg(required_unless_present = "argv")]
    pub commands: Vec<String>,
    /// One command, word by word
    #[arg(last = true, value_name = "CMD ARG…")]
    pub argv: Vec<String>,
    /// Exactly so many counted runs of each command
    #[arg(short = 'n', long, value_name = "N")]
    pub runs: Option<usize>,
    /// Give each command to /bin/sh -c
    #[arg(long)]
    pub shell: bool,
    /// Measure although a command ends with another status than 0
    #[arg(short, long)]
    pub ignore_failure: bool,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub goal: GoalArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb ab ./old ./new                             is ./new slower than ./old, by 1 % or more?
  plumb ab --margin 3% 'gzip -1 f' 'gzip -2 f'     commands with arguments
  plumb ab --metric peak_memory ./old ./new        by another metric than wall time
  plumb ab crypto.aead:cipher=aes-128-gcm crypto.aead:cipher=aes-256-gcm
  plumb ab --fail-on slower ./old ./new            exit code 1 when ./new is slower
  plumb ab --set thp=always --set thp=never memory.chase   what a knob does to the mean and to the spread

Each pair runs A and B back to back in an order that a coin chose, so that whatever disturbs one side \
as likely disturbs the other. After 8, 12, 18, 27 and 40 pairs plumb looks at the interval of the ratio \
of costs; all looks together call equal sides different one time in 20 at most. The verdict is faster, \
slower, equivalent (the whole interval inside the margin) or inconclusive. More than two sides are all \
compared with the first, in the order of a Latin square.")]
pub struct AbArgs {
    /// Two or more commands, each one argument, or points (`memory.copy:method=nt`); one where values of a
    /// knob are compared
    #[arg(required = true)]
    pub sides: Vec<String>,
    /// Smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub margin: String,
    /// What is compared: a metric of the points, `cpu` or `peak_memory` [default: their first metric]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Units of ABBA or BAAB instead of pairs: free of linear drift, at twice the cost
    #[arg(long)]
    pub quad: bool,
    /// The most pairs; more find smaller differences, but each look must be surer
    #[arg(long, value_name = "N", default_value = "40", value_parser = ["40", "90", "200"])]
    pub max_pairs: String,
    /// Exit with 1 when a side is slower by the margin or more, or only when that is certain
    #[arg(long, value_enum, value_name = "WHEN")]
    pub fail_on: Option<FailOn>,
    /// Exit with 5 when a comparison stays inconclusive
    #[arg(long)]
    pub strict: bool,
    /// Start programs where they are; else executables of one's own are copied side by side first
    #[arg(long)]
    pub no_copy: bool,
    /// Give each command to /bin/sh -c
    #[arg(long)]
    pub shell: bool,
    /// Measure although a command ends with another status than 0
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Target directory for workloads that use files [default: a fresh folder under the current one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub way: WayArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb compare last~1 last                 this run and the one before it
  plumb compare kernel=6.1 kernel=6.12      two labelled runs
  plumb compare --by kernel last~3 last~2 last~1 last
  plumb compare --margin 3% web1 web2       by ids or labels, at another margin

Runs are measured at different times, and differ even when nothing has changed. How much is learnt from \
earlier runs of the same series on the same machine; with fewer than six of them there is no verdict, \
but the run-to-run deviation above which the difference could be chance. `plumb ab` needs no history.
With a label `price=19.95` on every run a line tells what each gives for its price.")]
pub struct CompareArgs {
    /// Two or more runs: ids, `last`, `last~2`, or labels `k=v`
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// Group runs by a label, or by a fact of machine or environment (`kernel`, `governor`, …)
    #[arg(long, value_name = "FIELD")]
    pub by: Option<String>,
    /// Smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub margin: String,
    /// The label that holds the price of a run
    #[arg(long, value_name = "LABEL", default_value = "price")]
    pub price: String,
    /// Every metric, not only each workload's first
    #[arg(long)]
    pub all: bool,
    /// Compare although the runs are not of the same thing
    #[arg(long)]
    pub force: bool,
    /// Exit with 5 when a comparison has no verdict
    #[arg(long)]
    pub strict: bool,
    /// How to write it
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: ShowFormat,
}

/// Work on baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Make stored runs, or fresh ones, the runs of a baseline
    #[command(after_help = "Examples:
  plumb baseline set good                            eight fresh runs of first-look, one after the other
  plumb baseline set good --runs 8 --every 10m --of cpu.sieve,memory.copy
  plumb baseline set good last~7 last~6 last~5 last~4 last~3 last~2 last~1 last

A check takes six runs at least; eight or more find smaller changes. The further apart they are, the more \
of what differs between runs they have seen.")]
    Set {
        /// Its name
        name: String,
        /// Stored runs [default: fresh ones]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// Number of fresh runs
        #[arg(long = "runs", value_name = "N", default_value_t = 8)]
        fresh: usize,
        /// Time from the start of one fresh run to that of the next [default: one after the other]
        #[arg(long, value_name = "TIME")]
        every: Option<String>,
        /// What fresh runs measure: suites or workloads
        #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "first-look")]
        of: Vec<String>,
        /// Target directory for workloads that use files [default: a fresh folder under the current one]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        goal: Box<GoalArgs>,
    },
    /// List the baselines
    List,
    /// Forget a baseline; its runs stay
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb check                                  against the baseline that was changed last
  plumb check --baseline good --margin 3%
  plumb check --junit check.xml --markdown check.md

One fresh run of what the baseline measured screens every series; those that differ are measured in \
three more runs, and these alone decide: among all series together at most one check in 16 of an \
unchanged machine fails. Beside them the machine is compared with itself; if that comes out different, \
alerts do not count, nor do those that are smaller than what unchanged work moved meanwhile. Exit codes: \
0 no regression, 1 a confirmed one, 4 a workload failed, 3 one could not be measured, 5 no verdict \
(--strict).")]
pub struct CheckArgs {
    /// The baseline [default: the one that was changed last]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub margin: String,
    /// Check although runs are not of the same thing: other loads, or one that is not complete
    #[arg(long)]
    pub force: bool,
    /// Exit with 5 when there is no verdict
    #[arg(long)]
    pub strict: bool,
    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write Markdown to this file, for a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Target directory for workloads that use files [default: a fresh folder under the current one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Label the fresh runs
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Prepare the machine by a preset [default: as the baseline's newest run did]
    #[arg(long, value_name = "PRESET", value_parser = ["none", "gentle", "lab"])]
    pub prepare: Option<String>,
    /// Set a knob, as `plumb run` does
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    pub set: Vec<String>,
    /// What to do with invocations that something else disturbed
    #[arg(long, value_name = "WHAT", value_parser = ["keep", "retry"], default_value = "keep")]
    pub on_interference: String,
    /// Don't wait for another plumb that measures on this machine
    #[arg(long)]
    pub no_lock: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb doctor                           a grade from A to F, what is wrong, and what mends it
  plumb doctor --dir /srv                with a target directory for workloads that use files
  plumb doctor --audit                   how small a change it can show: ten minutes, nothing else running
  plumb doctor --audit --comparisons 5   a rough one
  plumb doctor --monitors                what the monitors cost here

Without --audit plumb looks at the machine for a second and changes nothing: docs/doctor.md explains all \
that it may find, and the grade. An audit compares programs with themselves, by the same pairs and looks as \
`plumb ab`, so that every difference that it finds is noise; then it slows one down by 1, 2 and 5 % and \
looks whether that is found. `ab` takes no margin below what its last audit saw on this machine, and says so.")]
pub struct DoctorArgs {
    /// Target directory of the runs to come [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Compare programs with themselves, and keep what that shows
    #[arg(long)]
    pub audit: bool,
    /// What the monitors cost: their CPU time, and what they do to a workload; two minutes at most
    #[arg(long, conflicts_with = "audit")]
    pub monitors: bool,
    /// How long the monitors read by themselves, twice; the comparison takes six times as long at most
    #[arg(long = "for", value_name = "TIME", requires = "monitors", default_value = "10s")]
    pub length: String,
    /// Comparisons of each kind of work
    #[arg(long, value_name = "N", default_value_t = 20, requires = "audit")]
    pub comparisons: usize,
    /// Kinds of work: cpu (with slow-downs put in), memory, scheduler, process
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', requires = "audit",
        default_value = "cpu,memory,scheduler,process",
        value_parser = ["cpu", "memory", "scheduler", "process"])]
    pub of: Vec<String>,
    /// Don't wait for another plumb that measures on this machine
    #[arg(long)]
    pub no_lock: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb tune                       every knob: its value now, and what each preset makes of it
  plumb tune --restore             undo what a plumb that was killed left behind
  plumb run --set thp=never        set one for a run

Nothing is set for longer than a run. Old values are written down before anything is changed; whatever is \
killed, the next start of plumb restores what is left, except after a reboot, which has done so already. \
docs/preparations.md says what each knob is for and what it risks.")]
pub struct TuneArgs {
    /// Restore what is left of runs that were killed
    #[arg(long)]
    pub restore: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb history memory.copy:method=libc           its first metric, on this machine
  plumb history storage.random/latency --last 50
  plumb history 'gzip -k f' --label commit        a command, runs named by their label

A line a run with its interval on a common scale. What is recorded to have changed (kernel, versions,
settings) splits the history, and nothing is compared across. Between, steps are looked for: a history
without any has a certain one 1 time in 1000, a suspect 1 time in 100; `plumb ab` settles a suspect. With
runs of enough days plumb also says whether the time of day or the weekday matters.")]
pub struct HistoryArgs {
    /// A series (`cpu.sieve/rate`), a point, a workload, or a command that was measured
    pub series: String,
    /// The label that names runs [default: those that differ]
    #[arg(long, value_name = "KEY")]
    pub label: Option<String>,
    /// Only runs since then: `30d`, `12h`, or a date
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only so many runs, the newest
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// The machine: the beginning of its fingerprint, or `all` [default: that of the newest run]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub margin: String,
    /// How to write it
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: ShowFormat,
}

/// When `ab` ends with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// The verdict is slower and the ratio is beyond the margin
    Slower,
    /// The whole interval is beyond the margin
    Certain,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The workload, suite or monitor (`monitor.stat`)
    pub name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb show                          the scorecard of the last run
  plumb show last~1 --in-words        the one before it, in sentences
  plumb show --plots                  its points as box plots, side by side
  plumb show --machine                this machine as it is now: what is in it, and how it is set
  plumb show --machine last           the machine as the last run found it
  plumb show --machine last~1 last    what changed on it between two runs, and how bad that is

A RUN is the beginning of an id, `last`, `last~2`, or a label `k=v`.")]
pub struct ShowArgs {
    /// The run [default: the last one]; with --machine none or two as well
    #[arg(num_args = 0..=2, value_name = "RUN")]
    pub run: Vec<String>,
    /// The machine and its environment instead of results
    #[arg(long, conflicts_with_all = ["in_words", "all", "runs", "format"])]
    pub machine: bool,
    /// What monitors counted a second beside it instead of results; --all shows every counter
    #[arg(long, conflicts_with_all = ["in_words", "runs", "format", "machine"])]
    pub monitors: bool,
    /// Box plots of every point instead of results; `plumb report --chart` draws all other charts
    #[arg(long, conflicts_with_all = ["in_words", "runs", "format", "machine", "monitors"])]
    pub plots: bool,
    /// In sentences
    #[arg(long, conflicts_with = "format")]
    pub in_words: bool,
    /// How to write it
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: ShowFormat,
    /// Every metric, not only each workload's first
    #[arg(long)]
    pub all: bool,
    /// List the runs instead
    #[arg(long, conflicts_with_all = ["run", "in_words"])]
    pub runs: bool,
}

/// How `show` writes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ShowFormat {
    /// The scorecard
    Terminal,
    /// Tables for a ticket or a pull request
    Markdown,
    /// The document for machines
    Json,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Results are recognised by their content: the CSV of bonnie++ (27, 48 or 50 fields), the
JSON of fio, iperf3 and hyperfine, the text of mbw and sysbench, and `openssl speed -mr`. A file that is
imported twice is there once.

Examples:
  plumb import other.db                         the runs of another store
  plumb import fio.json bonnie.csv              results of other tools, as runs
  plumb import --tool-version 1.2.2 mbw.txt     whose labels are swapped up to 1.3"
)]
pub struct ImportArgs {
    /// Stores of plumb, or results of other tools
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What wrote the results [default: recognised by their content]
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(Format::ALL.map(Format::word)))]
    pub format: Option<String>,
    /// Version of the tool, for results that do not tell it
    #[arg(long, value_name = "VERSION")]
    pub tool_version: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Talk to a plug-in as plumb would, and say what is wrong with it
    Check {
        /// Its folder, its plumb-plugin.toml, or its executable
        path: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Where it is, what it holds, whether it is sound
    Info,
}
