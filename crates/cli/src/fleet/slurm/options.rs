//! The options of sbatch that users give, checked against what plumb needs.

use crate::error::{CommandError, Result};

/// Options that plumb refuses, with the reason.
const REFUSED: [(&str, &str); 19] = [
    ("array", "--any N makes the array"),
    ("clusters", "plumb asks the cluster of this machine only"),
    ("error", "logs are in the folder of the fleet"),
    ("het-group", "each job has one node"),
    ("help", "`sbatch --help` shows it"),
    ("nodefile", "--nodelist names nodes, with --every"),
    ("nodes", "each job has one node"),
    ("ntasks", "each job starts plumb once"),
    ("ntasks-per-node", "each job starts plumb once"),
    ("open-mode", "logs are in the folder of the fleet"),
    ("output", "logs are in the folder of the fleet"),
    ("oversubscribe", "jobs of others on the node would disturb the measurement"),
    ("requeue", "plumb repeats lost jobs itself, as new runs"),
    ("test-only", "`plumb fleet run --dry-run` shows what would be submitted"),
    ("usage", "`sbatch --usage` shows it"),
    ("version", "`sbatch --version` shows it"),
    ("wait", "`plumb fleet collect --wait` waits"),
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
const SHORT_OPTIONS: [(char, &str); 12] = [
    ('a', "array"),
    ('D', "chdir"),
    ('e', "error"),
    ('F', "nodefile"),
    ('J', "job-name"),
    ('M', "clusters"),
    ('N', "nodes"),
    ('n', "ntasks"),
    ('o', "output"),
    ('p', "partition"),
    ('w', "nodelist"),
    ('x', "exclude"),
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
    /// Splits a text as a shell does.
    ///
    /// # Errors
    /// When a quote has no partner, or an option contradicts what plumb needs.
    pub fn read(text: &str, is_every: bool) -> Result<Self> {
        let words = shlex::split(text).ok_or_else(|| {
            CommandError::usage(format!("--slurm: `{text}` has an unmatched quote"))
        })?;
        Self::of_words(words, is_every)
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

    /// The partition: as typed, or as sbatch takes it from the environment.
    pub fn partition(&self) -> Option<String> {
        let typed = self.value("partition").map(str::to_owned);
        typed.or_else(|| std::env::var("SBATCH_PARTITION").ok())
    }

    /// The options as lines of a script, an option and its value per line.
    pub fn for_script(&self) -> Vec<String> {
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
            return Err(CommandError::usage("--slurm: options of sbatch cannot have line breaks"));
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
                .hint("plumb writes the script itself; --slurm has only options, such as '-p main -t 30'"));
            }
        }
    }
    Ok(options)
}

/// The value of an option in the next word.
fn next_value<'w>(option: &str, words: &mut impl Iterator<Item = &'w String>) -> Result<String> {
    let value = words.next().cloned();
    value.ok_or_else(|| CommandError::usage(format!("--slurm: {option} has no value")))
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
    if name == "nodelist" && !is_every {
        return Err(CommandError::usage("--slurm: --nodelist needs --every").hint(
            "a job array cannot give each task its own node; --every submits one job per node",
        ));
    }
    if name == "exclusive" && option.value.is_some() {
        return Err(CommandError::usage(format!(
            "--slurm: --exclusive={} does not apply: jobs of others on the node would disturb the measurement",
            option.value.as_deref().unwrap_or_default()
        )));
    }
    match REFUSED.iter().find(|(refused, _)| stands_for(name, refused)) {
        Some((refused, why)) => {
            Err(CommandError::usage(format!("--slurm: --{refused} does not apply: {why}")))
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
            options.for_script(),
            [
                "--partition=main",
                "--time=30",
                "--hold",
                "--exclude=n[1-3]",
                "--comment=a b",
                "-Adept"
            ]
        );
        assert_eq!(options.value("exclude"), Some("n[1-3]"));
        assert_eq!(options.partition().as_deref(), Some("main"));
        assert!(options.has_any(&["mem", "time"]) && !options.has_any(&["mem"]));
        let named = SbatchOptions::read("-w n1 --exclusive --no-requeue", true).unwrap();
        assert_eq!(named.value("nodelist"), Some("n1"));
        assert_eq!(named.for_script(), ["--exclusive", "--no-requeue"]);
    }

    #[test]
    fn options_that_break_the_design_are_refused_by_name() {
        for (text, why) in [
            ("--array=1-3", "--array does not apply: --any N makes the array"),
            ("-a1-3", "--array does not apply"),
            ("--arr 3", "--array does not apply"),
            ("-N 2", "--nodes does not apply"),
            ("-Hn2", "--ntasks does not apply"),
            ("--requeue", "--requeue does not apply"),
            ("--wrap=true", "--wrap does not apply"),
            ("-o x", "--output does not apply"),
            ("--exclusive=user", "--exclusive=user does not apply"),
            ("-s", "--oversubscribe does not apply"),
            ("-w n1", "--nodelist needs --every"),
            ("job.sh", "`job.sh` is not an option of sbatch"),
            ("-p main : -p big", "`:` is not an option of sbatch"),
            ("--", "`--` is not an option of sbatch"),
            ("-p", "-p has no value"),
            ("-p 'a", "unmatched quote"),
            ("--comment='a\nb'", "line breaks"),
        ] {
            let error = SbatchOptions::read(text, false).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
