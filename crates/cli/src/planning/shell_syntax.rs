//! Shell syntax in commands that run without a shell, which would reach the program as arguments.

use plumb_model::{PlannedPoint, Value};

use crate::planning::command::COMMAND;
use crate::ui::Ui;

/// How `exec` and `ab` start a shell.
pub const OPTION: &str = "--shell runs it with /bin/sh";

/// Words that are redirections or join commands. `;` and `&` are no such words, because `find -exec` needs the first, and
/// URLs and expressions hold the second.
const OPERATORS: [&str; 9] = ["|", "||", "&&", ">", ">>", "<", "2>", "2>&1", "&>"];

/// What a shell would make of a text after a quote or a backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Everything has its meaning.
    None,
    /// Nothing has a meaning until the next single quote.
    Single,
    /// Only `$` and backquotes have their meaning.
    Double,
}

/// Warns if a command contains syntax that only a shell interprets; `remedy` says how to start one.
pub fn warn_of_text(text: &str, remedy: &str, ui: &Ui) {
    if let Some(syntax) = in_text(text) {
        ui.warn(&format!(
            "plumb starts no shell, so nothing interprets `{syntax}` in `{text}`: {remedy}, or quote what is meant literally"
        ));
    }
}

/// The same for a command whose words the user's shell has separated already.
pub fn warn_of_words(words: &[String], remedy: &str, ui: &Ui) {
    if let Some(operator) = in_words(words) {
        let first = words.first().map_or("", String::as_str);
        ui.warn(&format!(
            "plumb starts no shell, so `{first}` gets `{operator}` as an argument: {remedy}"
        ));
    }
}

/// The same for commands among points of workloads.
pub fn warn_of_points(points: &[PlannedPoint], ui: &Ui) {
    for planned in points.iter().filter(|planned| planned.point.workload == COMMAND) {
        let settings = &planned.point.settings;
        if settings.get("shell") == Some(&Value::Switch(true)) {
            continue;
        }
        let Some(Value::Text(command)) = settings.get("command") else { continue };
        match serde_json::from_str::<Vec<String>>(command) {
            Ok(words) => warn_of_words(&words, "shell=yes runs one text with /bin/sh", ui),
            Err(_) => warn_of_text(command, "shell=yes runs it with /bin/sh", ui),
        }
    }
}

/// The first operator among words.
fn in_words(words: &[String]) -> Option<&str> {
    words.iter().map(String::as_str).find(|word| OPERATORS.contains(word))
}

/// The first thing outside quotes that only a shell interprets.
fn in_text(text: &str) -> Option<String> {
    let mut quoting = Quoting::None;
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match (quoting, letter) {
            (Quoting::Single, '\'') | (Quoting::Double, '"') => quoting = Quoting::None,
            (Quoting::Single, _) => {}
            (_, '\\') => {
                rest.next();
                word.push(letter);
            }
            (_, '`') => return Some("`".to_owned()),
            (_, '$') if rest.peek().is_some_and(|next| starts_expansion(*next)) => {
                let name: String =
                    rest.take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                return Some(format!("${name}"));
            }
            (Quoting::None, '\'') => quoting = Quoting::Single,
            (Quoting::None, '"') => quoting = Quoting::Double,
            (Quoting::None, '|' | '>' | '<') => return Some(letter.to_string()),
            // The parts of a URL contain these, and nobody means the shell's.
            (Quoting::None, '&' | ';' | '*' | '?') if !word.contains("://") => {
                let doubled = letter == '&' && rest.peek() == Some(&'&');
                return Some(if doubled { "&&".to_owned() } else { letter.to_string() });
            }
            (Quoting::None, '~' | '(') if word.is_empty() => return Some(letter.to_string()),
            (Quoting::None, letter) if letter.is_whitespace() => word.clear(),
            _ => word.push(letter),
        }
    }
    assignment(text)
}

/// Whether `$` before this letter stands for a value.
fn starts_expansion(letter: char) -> bool {
    letter.is_alphanumeric() || "_{(?@*#$!".contains(letter)
}

/// A first word that sets a variable.
fn assignment(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    let (name, _) = word.split_once('=')?;
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{in_text, in_words};

    #[test]
    fn what_only_a_shell_interprets_is_found() {
        for (text, syntax) in [
            ("echo hi | wc -l", "|"),
            ("a||b", "|"),
            ("make && ./a", "&&"),
            ("sleep 1 &", "&"),
            ("cd x; make", ";"),
            ("sleep 0.1 > /dev/null", ">"),
            ("sleep 0.1 2>/dev/null", ">"),
            ("sort <f", "<"),
            ("ls /etc/*.conf", "*"),
            ("ls file?", "?"),
            ("test -d $HOME", "$HOME"),
            ("echo \"$HOME/x\"", "$HOME"),
            ("echo ${X}", "$"),
            ("echo $(date)", "$"),
            ("echo `date`", "`"),
            ("~/bin/x", "~"),
            ("(make)", "("),
            ("LANG=C sort f", "LANG=C"),
        ] {
            assert_eq!(in_text(text).as_deref(), Some(syntax), "{text}");
        }
    }

    #[test]
    fn quotes_and_placeholders_are_no_syntax() {
        for text in [
            "echo 'a | b; $X *'",
            "awk '{print $1}' f",
            "echo \"a | b > c * ;\"",
            "find . -exec true {} \\;",
            "find . -name '*.c'",
            "echo \\$HOME \\*",
            "curl -s http://localhost/?a=1&b=*",
            "xz -T{threads} -kf data",
            "{out} input~",
            "grep ^a$ f",
            "dd if=/dev/zero of=x",
            "./sum=3 x",
            "python3 -c print(1)",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
    }

    #[test]
    fn words_that_are_operators_are_found() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(in_words(&words("echo hi | wc")), Some("|"));
        assert_eq!(in_words(&words("make 2>&1")), Some("2>&1"));
        assert_eq!(in_words(&words("find . -exec true {} ; $X *")), None);
    }
}
