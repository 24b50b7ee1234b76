//! Which of the known names was meant.

/// The known name with the fewest edits, if it is near enough to be meant.
pub fn nearest<'k>(name: &str, known: &'k [String]) -> Option<&'k String> {
    let near = known.iter().min_by_key(|candidate| strsim::levenshtein(name, candidate))?;
    // A third of the letters: further away, every name is near some other.
    let most_edits = 2.max(name.chars().count() / 3);
    (strsim::levenshtein(name, near) <= most_edits).then_some(near)
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
