//! Commands in messages use the store of the command that was typed: `plumb show`, suggested after
//! `plumb run --store a.db`, would read another store.

use crate::help;

/// What stands before a command that the user can type; elsewhere `plumb run` is prose.
const BEFORE_COMMANDS: [&str; 5] = ["`", "(", "; ", ": ", "\n"];

/// The text with `store_option` (` --store FILE`, or nothing) in every command of plumb that takes a store.
pub fn with_store(text: &str, store_option: &str) -> String {
    if store_option.is_empty() {
        return text.to_owned();
    }
    let mut complete = String::with_capacity(text.len() + store_option.len());
    let mut rest = text;
    while let Some(start) = rest.find("plumb ") {
        let (before, command) = rest.split_at(start);
        let name = "plumb";
        let is_first = complete.is_empty() && before.is_empty();
        let is_typed = is_first || BEFORE_COMMANDS.iter().any(|mark| before.ends_with(mark));
        complete.push_str(before);
        complete.push_str(name);
        rest = &command[name.len()..];
        let words: Vec<&str> = rest.split([' ', '`', ')', ';']).skip(1).take(2).collect();
        if is_typed && help::takes_store(&words) && !rest.contains("--store") {
            complete.push_str(store_option);
        }
    }
    complete + rest
}

#[cfg(test)]
mod tests {
    use super::with_store;

    #[test]
    fn suggested_commands_use_the_store_of_the_command_that_was_typed() {
        for (text, expected) in [
            ("plumb show --runs    lists them", "plumb --store a show --runs    lists them"),
            ("see `plumb show 01ab`", "see `plumb --store a show 01ab`"),
            ("lost; plumb run --resume continues", "lost; plumb --store a run --resume continues"),
            ("`plumb list` or `plumb run`", "`plumb --store a list` or `plumb --store a run`"),
            ("another plumb run is busy", "another plumb run is busy"),
            ("plumb needs root", "plumb needs root"),
            ("plumb explain cpu.sieve", "plumb explain cpu.sieve"),
            ("plumb reference list    lists all", "plumb reference list    lists all"),
            ("`plumb suite new` opens menus", "`plumb suite new` opens menus"),
            ("plumb show --store b", "plumb show --store b"),
        ] {
            assert_eq!(with_store(text, " --store a"), expected);
            assert_eq!(with_store(text, ""), text);
        }
    }
}
