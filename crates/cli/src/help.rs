//! Help texts: `-h` fits one screen, `--help` has everything, and both list only options that apply to the command.
//!
//! A command declares its complete help. This module derives the short one, and it hides and refuses options that a
//! command inherits from a shared group or from the global options without having a use for them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::commands;

/// Examples in `-h`; `--help` has all of them.
const SHORT_EXAMPLES: usize = 3;
/// The same in the help of plumb itself, whose list of commands is long.
const SHORT_EXAMPLES_OF_PLUMB: usize = 1;

/// A command as people type it, without `plumb`, and the options that it inherits and has no use for.
const NOT_APPLICABLE: &[(&str, &[&str])] = &[
    // A command has no far end: only network workloads start servers.
    ("exec", &["to", "i_own_this_network"]),
    ("why", &["to", "i_own_this_network", "energy"]),
    // Both sides of a row run on this machine, because the classic tool cannot run elsewhere.
    ("crosscheck", &["to", "i_own_this_network"]),
    ("baseline set", &["json"]),
    ("baseline remove", &["json"]),
    ("reference list", &["store"]),
    ("reference show", &["store"]),
    ("reference add", &["store", "json"]),
    ("reference remove", &["store", "json"]),
    ("tune", &["to", "i_own_this_network", "energy"]),
    ("suite new", &["store", "json", "energy"]),
    ("explain", &["store"]),
    ("peer", &["store"]),
    ("plugin check", &["store"]),
    // `export` chooses a format with --format.
    ("export", &["json"]),
    ("completions", &["store", "json", "quiet"]),
    ("man", &["store", "json"]),
];

/// Options that a command inherits and that mean something else there: the command, the option, and its help.
const OTHER_MEANING: &[(&str, &str, &str)] = &[
    ("why", "budget", "Limit the time of the whole search [default: 3m]"),
    ("tune", "budget", "With --advise, limit the time of the whole search [default: 3m]"),
];

/// The command line with short help, and without options that do not apply.
pub fn complete(command: Command) -> Command {
    let commands: Vec<Command> = command.get_subcommands().cloned().collect();
    commands.into_iter().fold(with_short_help(command, "plumb"), |command, below| {
        let name = below.get_name().to_owned();
        command.mut_subcommand(&name, |below| of_command(below, &name))
    })
}

/// The command that people type as these words after `plumb`, and the commands below it.
fn of_command(command: Command, words: &str) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let own = hiding(with_short_help(command, &format!("plumb {words}")), not_applicable(words));
    let own = with_other_meaning(own, words);
    below.iter().fold(own, |command, name| {
        command.mut_subcommand(name, |below| of_command(below, &format!("{words} {name}")))
    })
}

/// The command with its own help for options that it inherits with another meaning.
fn with_other_meaning(command: Command, words: &str) -> Command {
    let of_command = OTHER_MEANING.iter().filter(|(name, ..)| *name == words);
    of_command.fold(command, |command, &(_, option, help)| {
        command.mut_arg(option, |argument| argument.help(help).long_help(help))
    })
}

/// The identifiers of the options that mean nothing to this command.
fn not_applicable(words: &str) -> &'static [&'static str] {
    let listed = NOT_APPLICABLE.iter().find(|(command, _)| *command == words);
    listed.map_or(&[], |(_, options)| options)
}

/// Whether people can name a store after this command, of those that they can type.
///
/// For groups of commands (`reference`), the answer is that of the command below.
pub fn takes_store(words: &[&str]) -> bool {
    let is_public =
        |name: &str| commands::ALL.iter().any(|entry| !entry.internal && entry.name == name);
    let Some((name, rest)) = words.split_first() else { return false };
    let with_subcommand = format!("{name} {}", rest.first().unwrap_or(&""));
    is_public(name)
        && [*name, &with_subcommand]
            .iter()
            .all(|command| !not_applicable(command).contains(&"store"))
}

/// Adds the first examples of the complete help to the short one, and says where the rest is.
fn with_short_help(command: Command, name: &str) -> Command {
    let complete = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let most = if name == "plumb" { SHORT_EXAMPLES_OF_PLUMB } else { SHORT_EXAMPLES };
    let examples = complete.lines().skip_while(|line| *line != "Examples:").skip(1);
    let examples: Vec<&str> =
        examples.take_while(|line| line.starts_with("  ")).take(most).collect();
    let rest = format!("`{name} --help` shows all options, explanations and examples.");
    let shown = match examples.as_slice() {
        // The line of --help among the options says the same.
        [] => return command,
        [example] => format!("Example: {}\n\n{rest}", example.trim()),
        examples => format!("Examples:\n{}\n\n{rest}", examples.join("\n")),
    };
    command.after_help(shown)
}

/// Hides these options in the help, the completions and the manual page of a command.
fn hiding(command: Command, options: &[&'static str]) -> Command {
    options.iter().fold(command, |command, &option| {
        if command.get_arguments().any(|argument| argument.get_id() == option) {
            return command.mut_arg(option, |argument| argument.hide(true));
        }
        // A global option is inherited later, unless the command has an argument with the same identifier.
        let hidden = Arg::new(option).long(option).hide(true).global(true);
        command.arg(match option {
            "store" => hidden.value_parser(clap::value_parser!(std::path::PathBuf)),
            _ => hidden.action(ArgAction::SetTrue),
        })
    })
}

/// Refuses options that mean nothing to the command that was typed, as clap refuses an unknown one.
///
/// # Errors
/// The first such option.
pub fn refuse_not_applicable(
    command_line: &mut Command,
    matches: &ArgMatches,
) -> Result<(), clap::Error> {
    let mut words = Vec::new();
    let mut deepest = matches;
    while let Some((name, below)) = deepest.subcommand() {
        words.push(name);
        deepest = below;
    }
    // A default is no mistake of the user: only a typed option is refused.
    let refused = not_applicable(&words.join(" "))
        .iter()
        .find(|option| deepest.value_source(option) == Some(ValueSource::CommandLine));
    let Some(refused) = refused else { return Ok(()) };
    command_line.build();
    let typed =
        words.iter().try_fold(&*command_line, |command, name| command.find_subcommand(name));
    let mut error = clap::Error::new(ErrorKind::UnknownArgument);
    if let Some(command) = typed {
        error = error.with_cmd(command);
    }
    let flag = format!("--{}", refused.replace('_', "-"));
    error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
    Err(error)
}
