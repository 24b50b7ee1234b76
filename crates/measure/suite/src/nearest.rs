//! Which of the known names was meant.

/// The known name with the fewest edits, if it is near enough to be meant.
pub fn nearest<'k>(name: &str, known: &'k [String]) -> Option<&'k String> {
    let edits = |candidate: &&String| strsim::levenshtein(name, candidate);
    let near = known.iter().min_by_key(edits)?;
    (edits(&near) <= 2.max(name.chars().count() / 3)).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_error_finds_its_name() {
        let known = ["memory.copy".to_owned(), "cpu.sieve".to_owned()];
        assert_eq!(nearest("memroy.copy", &known), Some(&known[0]));
        assert_eq!(nearest("something.else", &known), None);
    }
}
