//! Command lines as people type them.

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(is_special);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether a shell does something with a character instead of taking it as it is.
fn is_special(c: char) -> bool {
    c.is_whitespace() || "'\"\\$`&|;<>()*?[]{}!#~".contains(c)
}

/// Words as a shell takes them.
pub fn typed<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// `plumb` and its subcommand, the word at `at`, with these options first.
#[must_use]
pub fn with_options(words: &[&str], at: Option<usize>, options: &[&str]) -> String {
    let (before, rest) = words.split_at(at.map_or(words.len(), |at| at + 1));
    let before = before.get(1..).unwrap_or_default().iter();
    typed(["plumb"].iter().chain(before).chain(options).chain(rest).copied())
}

/// A time for an option, rounded up: `90s`, `7m`.
#[must_use]
pub fn budget(seconds: f64) -> String {
    if seconds <= 120.0 {
        format!("{}s", (seconds / 10.0).ceil() * 10.0)
    } else {
        format!("{}m", (seconds / 60.0).ceil())
    }
}

/// The words of a command line without these options and their values.
#[must_use]
pub fn without<'c>(command: &'c [String], options: &[&str]) -> Vec<&'c str> {
    let mut words = command.iter().map(String::as_str);
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            // What follows belongs to another program.
            left.push(word);
            left.extend(words.by_ref());
        } else if options.contains(&word) {
            words.next();
        } else if !options.iter().any(|option| is_joined(word, option)) {
            left.push(word);
        }
    }
    left
}

/// Whether a word is an option and its value: `--budget=10s`.
fn is_joined(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::{budget, with_options, without};

    #[test]
    fn the_command_is_the_same_but_for_what_changes() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = words("/opt/plumb ab --budget 10s --max-pairs=40 --margin 2% ./old ./new");
        let left = without(&command, &["--budget", "--max-pairs"]);
        let again = with_options(&left, Some(1), &["--budget", "7m"]);
        assert_eq!(again, "plumb ab --budget 7m --margin 2% ./old ./new");
        let mut command = words("p ab -- --budget");
        command.push("gzip -1 $f".into());
        let again = with_options(&without(&command, &["--budget"]), Some(1), &[]);
        assert_eq!(again, "plumb ab -- --budget 'gzip -1 $f'");
    }

    #[test]
    fn times_are_rounded_up() {
        assert_eq!((budget(61.0), budget(121.0)), ("70s".to_owned(), "3m".to_owned()));
    }
}
