//! The options of sbatch that users give, checked against what plumb needs.

use crate::error::{CommandError, Result};

/// Options that plumb refuses, with the reason.
const REFUSED: [(&str, &str); 19] = [
    ("array", "use --any N"),
    ("clusters", "plumb supports only the local cluster"),
    ("error", "plumb writes logs to the fleet folder"),
    ("het-group", "each job uses one node"),
    ("help", "`sbatch --help` shows it"),
    ("nodefile", "use --every and --nodelist"),
    ("nodes", "each job uses one node"),
    ("ntasks", "each job starts plumb once"),
    ("ntasks-per-node", "each job starts plumb once"),
    ("open-mode", "plumb writes logs to the fleet folder"),
    ("output", "plumb writes logs to the fleet folder"),
    ("oversubscribe", "other jobs on the node would disturb the measurement"),
    ("requeue", "plumb resubmits lost jobs itself"),
    ("test-only", "`plumb fleet run --dry-run` shows what would be submitted"),
    ("usage", "`sbatch --usage` shows it"),
    ("version", "`sbatch --version` shows it"),
    ("wait", "use `plumb fleet collect --wait`"),
    ("wrap", "plumb writes the script"),
    ("ignore-pbs", "plumb writes the script"),
];

/// Long options without a value in the next word.
const FLAGS: [&str; 24] = [
    "contiguous",
    "exclusive",
    "get-user-env",
    "help",
    "hold",
    "ignore-pbs",
    "nice",
    "no-kill",
    "no-requeue",
    "overcommit",
    "oversubscribe",
    "parsable",
    "propagate",
    "quiet",
    "reboot",
    "requeue",
    "share",
    "spread-job",
    "test-only",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
    "wait",
];

/// Short options without a value, with their long names.
const SHORT_FLAGS: [(char, &str); 9] = [
    ('H', "hold"),
    ('h', "help"),
    ('k', "no-kill"),
    ('O', "overcommit"),
    ('Q', "quiet"),
    ('s', "oversubscribe"),
    ('v', "verbose"),
    ('V', "version"),
    ('W', "wait"),
];

/// Short options with a value that plumb knows by their long names.
const SHORT_OPTIONS: [(char, &str); 16] = [
    ('A', "account"),
    ('a', "array"),
    ('C', "constraint"),
    ('D', "chdir"),
    ('e', "error"),
    ('F', "nodefile"),
    ('J', "job-name"),
    ('M', "clusters"),
    ('N', "nodes"),
    ('n', "ntasks"),
    ('o', "output"),
    ('p', "partition"),
    ('q', "qos"),
    ('t', "time"),
    ('w', "nodelist"),
    ('x', "exclude"),
];

/// Options that plumb reads, which must be written in full: sbatch also takes their beginnings.
const READ: [&str; 9] = [
    "chdir",
    "exclude",
    "exclusive",
    "job-name",
    "mem",
    "mem-per-cpu",
    "mem-per-gpu",
    "nodelist",
    "partition",
];

/// Variables of sbatch that count if their option is not given, with the option.
const VARIABLES: [(&str, &str); 6] = [
    ("SBATCH_ACCOUNT", "account"),
    ("SBATCH_CONSTRAINT", "constraint"),
    ("SBATCH_PARTITION", "partition"),
    ("SBATCH_QOS", "qos"),
    ("SBATCH_RESERVATION", "reservation"),
    ("SBATCH_TIMELIMIT", "time"),
];

/// An option of sbatch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SbatchOption {
    /// Its long name, or the letter if plumb has no use for it.
    name: String,
    value: Option<String>,
}

/// The options of sbatch that a user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbatchOptions {
    /// The words as they were typed.
    pub words: Vec<String>,
    options: Vec<SbatchOption>,
}

impl SbatchOptions {
    /// Splits a text as a shell does, and adds what variables of sbatch say.
    ///
    /// # Errors
    /// When a quote has no partner, or an option contradicts what plumb needs.
    pub fn read(text: &str, is_every: bool) -> Result<Self> {
        let words = shlex::split(text).ok_or_else(|| {
            CommandError::usage(format!("--slurm: `{text}` has an unmatched quote"))
        })?;
        let mut read = Self::of_words(words, is_every)?;
        // They become options, so that later submissions are the same, whoever collects the fleet.
        for (variable, option) in VARIABLES {
            let Ok(value) = std::env::var(variable) else { continue };
            if !value.is_empty() && !read.has_any(&[option]) {
                read.words.push(format!("--{option}={value}"));
            }
        }
        Self::of_words(read.words, is_every)
    }

    /// The options of words that are split already.
    ///
    /// # Errors
    /// When an option contradicts what plumb needs.
    pub fn of_words(words: Vec<String>, is_every: bool) -> Result<Self> {
        let options = parsed(&words)?;
        for option in &options {
            refuse(option, is_every)?;
        }
        Ok(Self { words, options })
    }

    /// The value of the option with this long name; the last one if it is given more than once.
    pub fn value(&self, name: &str) -> Option<&str> {
        let of_name = self.options.iter().rev().find(|option| option.name == name);
        of_name.and_then(|option| option.value.as_deref())
    }

    /// Whether one of these options was given.
    pub fn has_any(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.name.as_str()))
    }

    /// The options as arguments of sbatch, each with its value in one word.
    pub fn for_sbatch(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        // --every gives each job its own node.
        for option in self.options.iter().filter(|option| option.name != "nodelist") {
            let value = option.value.as_deref().unwrap_or_default();
            let mut chars = option.name.chars();
            let is_letter = chars.next().is_some() && chars.next().is_none();
            lines.push(match (is_letter, &option.value) {
                (true, _) => format!("-{}{value}", option.name),
                (false, Some(_)) => format!("--{}={value}", option.name),
                (false, None) => format!("--{}", option.name),
            });
        }
        lines
    }
}

/// The options in these words.
fn parsed(words: &[String]) -> Result<Vec<SbatchOption>> {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.chars().any(char::is_control) {
            return Err(CommandError::usage(
                "--slurm: options must not contain control characters",
            ));
        }
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if FLAGS.contains(&long) => (long, None),
                None => (long, Some(next_value(word, &mut words)?)),
            };
            options.push(SbatchOption { name: name.to_owned(), value });
            continue;
        }
        match word.strip_prefix('-').filter(|letters| !letters.is_empty() && word != "--") {
            Some(letters) => parse_letters(letters, word, &mut words, &mut options)?,
            None => {
                return Err(CommandError::usage(format!(
                    "--slurm: `{word}` is not an option of sbatch"
                ))
                .hint(
                    "plumb writes the script; --slurm takes only options, such as '-p main -t 30'",
                ));
            }
        }
    }
    Ok(options)
}

/// The value of an option in the next word.
fn next_value<'w>(option: &str, words: &mut impl Iterator<Item = &'w String>) -> Result<String> {
    let value = words.next().cloned();
    value.ok_or_else(|| CommandError::usage(format!("--slurm: {option} needs a value")))
}

/// The options in a word of letters: flags, then perhaps an option with its value in this word or in the next one.
fn parse_letters<'w>(
    letters: &str,
    word: &str,
    words: &mut impl Iterator<Item = &'w String>,
    options: &mut Vec<SbatchOption>,
) -> Result<()> {
    for (index, letter) in letters.char_indices() {
        if let Some((_, name)) = SHORT_FLAGS.iter().find(|(flag, _)| *flag == letter) {
            options.push(SbatchOption { name: (*name).to_owned(), value: None });
            continue;
        }
        let known = SHORT_OPTIONS.iter().find(|(option, _)| *option == letter);
        let name = known.map_or_else(|| letter.to_string(), |(_, name)| (*name).to_owned());
        let rest = &letters[index + letter.len_utf8()..];
        let value = if rest.is_empty() { next_value(word, words)? } else { rest.to_owned() };
        options.push(SbatchOption { name, value: Some(value) });
        return Ok(());
    }
    Ok(())
}

/// Refuses an option that contradicts what plumb needs.
fn refuse(option: &SbatchOption, is_every: bool) -> Result<()> {
    let name = option.name.as_str();
    let is_known = READ.contains(&name) || FLAGS.contains(&name);
    if let Some(full) =
        READ.iter().find(|full| !is_known && name.len() > 1 && full.starts_with(name))
    {
        return Err(CommandError::usage(format!("--slurm: write --{full} in full, not --{name}")));
    }
    if name == "nodelist" && !is_every {
        return Err(CommandError::usage("--slurm: --nodelist needs --every").hint(
            "tasks of a job array cannot be assigned to nodes; --every submits one job per node",
        ));
    }
    if name == "exclusive" && option.value.is_some() {
        return Err(CommandError::usage(format!(
            "--slurm: --exclusive={} is not allowed: other jobs on the node would disturb the measurement",
            option.value.as_deref().unwrap_or_default()
        )));
    }
    match REFUSED.iter().find(|(refused, _)| stands_for(name, refused)) {
        Some((refused, why)) => {
            Err(CommandError::usage(format!("--slurm: --{refused} is not allowed: {why}")))
        }
        None => Ok(()),
    }
}

/// Whether sbatch takes a name for this option: it takes the beginning of a long name for the whole.
fn stands_for(name: &str, option: &str) -> bool {
    name == option || (name.len() > 1 && !FLAGS.contains(&name) && option.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::SbatchOptions;

    #[test]
    fn options_are_split_as_a_shell_does() {
        let read =
            SbatchOptions::read("-p main --time 30 -Hx'n[1-3]' --comment='a b' -A dept", false);
        let options = read.unwrap();
        assert_eq!(
            options.for_sbatch(),
            [
                "--partition=main",
                "--time=30",
                "--hold",
                "--exclude=n[1-3]",
                "--comment=a b",
                "--account=dept"
            ]
        );
        assert_eq!(options.value("exclude"), Some("n[1-3]"));
        assert_eq!(options.value("partition"), Some("main"));
        assert!(options.has_any(&["mem", "time"]) && !options.has_any(&["mem"]));
        let named = SbatchOptions::read("-w n1 --exclusive --no-requeue", true).unwrap();
        assert_eq!(named.value("nodelist"), Some("n1"));
        assert_eq!(named.for_sbatch(), ["--exclusive", "--no-requeue"]);
    }

    #[test]
    fn options_that_break_the_design_are_refused_by_name() {
        for (text, why) in [
            ("--array=1-3", "--array is not allowed: use --any N"),
            ("-a1-3", "--array is not allowed"),
            ("--arr 3", "--array is not allowed"),
            ("-N 2", "--nodes is not allowed"),
            ("-Hn2", "--ntasks is not allowed"),
            ("--requeue", "--requeue is not allowed"),
            ("--wrap=true", "--wrap is not allowed"),
            ("-o x", "--output is not allowed"),
            ("--exclusive=user", "--exclusive=user is not allowed"),
            ("-s", "--oversubscribe is not allowed"),
            ("-w n1", "--nodelist needs --every"),
            ("--part=main", "write --partition in full"),
            ("--exclud n1", "write --exclude in full"),
            ("job.sh", "`job.sh` is not an option of sbatch"),
            ("-p main : -p big", "`:` is not an option of sbatch"),
            ("--", "`--` is not an option of sbatch"),
            ("-p", "-p needs a value"),
            ("-p 'a", "unmatched quote"),
            ("--comment='a\nb'", "control characters"),
        ] {
            let error = SbatchOptions::read(text, false).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
