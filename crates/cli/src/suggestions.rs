//! Commands in messages use the store of the command that was typed: `plumb show`, suggested after
//! `plumb run --store a.db`, would read another store.

/// What stands before a command that the user can type; elsewhere `plumb run` is prose.
const BEFORE_COMMANDS: [&str; 5] = ["`", "(", "; ", ": ", "\n"];

/// The store for the commands that messages suggest.
#[derive(Debug, Clone)]
pub struct SuggestedStore {
    /// ` --store FILE`, or nothing if commands without it use the same store.
    pub option: String,
    /// Whether people can name a store after a command that begins with these words.
    pub takes_store: fn(&[&str]) -> bool,
}

impl SuggestedStore {
    /// The store that commands use without an option.
    pub fn usual() -> Self {
        Self { option: String::new(), takes_store: |_| false }
    }

    /// The text with the option in every command of plumb that takes a store.
    pub fn complete(&self, text: &str) -> String {
        if self.option.is_empty() {
            return text.to_owned();
        }
        let name = "plumb";
        let mut complete = String::with_capacity(text.len() + self.option.len());
        let mut rest = text;
        while let Some(start) = rest.find("plumb ") {
            let (before, command) = rest.split_at(start);
            let is_first = complete.is_empty() && before.is_empty();
            let is_typed = is_first || BEFORE_COMMANDS.iter().any(|mark| before.ends_with(mark));
            complete.push_str(before);
            complete.push_str(name);
            rest = &command[name.len()..];
            let end = rest.find(['`', ')', ';', '\n']).unwrap_or(rest.len());
            let arguments: Vec<&str> = rest[..end].split_whitespace().collect();
            let has_store = arguments.iter().any(|argument| argument.starts_with("--store"));
            if is_typed && (self.takes_store)(&arguments) && !has_store {
                complete.push_str(&self.option);
            }
        }
        complete + rest
    }
}

#[cfg(test)]
mod tests {
    use super::SuggestedStore;
    use crate::help;

    #[test]
    fn suggested_commands_use_the_store_of_the_command_that_was_typed() {
        let store =
            SuggestedStore { option: " --store a".to_owned(), takes_store: help::takes_store };
        for (text, expected) in [
            ("plumb show --runs    lists them", "plumb --store a show --runs    lists them"),
            ("see `plumb show 01ab`", "see `plumb --store a show 01ab`"),
            ("lost; plumb run --resume continues", "lost; plumb --store a run --resume continues"),
            (
                "`plumb show` or `plumb list --store b`",
                "`plumb --store a show` or `plumb list --store b`",
            ),
            ("`plumb list` or `plumb run`", "`plumb --store a list` or `plumb --store a run`"),
            ("another plumb run is busy", "another plumb run is busy"),
            ("plumb needs root", "plumb needs root"),
            ("plumb explain cpu.sieve", "plumb explain cpu.sieve"),
            ("plumb reference list    lists all", "plumb reference list    lists all"),
            ("`plumb suite new` opens menus", "`plumb suite new` opens menus"),
            ("plumb show --store b", "plumb show --store b"),
        ] {
            assert_eq!(store.complete(text), expected);
            assert_eq!(SuggestedStore::usual().complete(text), text);
        }
    }
}
