//! Licences as SPDX expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// The licences that all hold, each as those among which one may choose. Enough for what crates write: `OR`
/// (and the old `/`) inside of `AND`.
pub fn terms(expression: &str) -> Vec<Vec<&str>> {
    let terms = expression.split(" AND ").filter(|term| !bare(term).is_empty());
    terms.map(choices).collect()
}

/// The licences of a term, of which one is chosen.
fn choices(term: &str) -> Vec<&str> {
    term.split(" OR ").flat_map(|choice| choice.split('/')).map(bare).collect()
}

/// The text without parentheses and blanks around it.
fn bare(text: &str) -> &str {
    text.trim().trim_matches(['(', ')']).trim()
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn an_expression_is_choices_that_all_hold() {
        assert_eq!(terms("MIT"), [["MIT"]]);
        assert_eq!(terms("MIT/Apache-2.0"), [["MIT", "Apache-2.0"]]);
        assert_eq!(terms("Apache-2.0 AND ISC"), [["Apache-2.0"], ["ISC"]]);
        let both = terms("(MIT OR Apache-2.0) AND Unicode-3.0");
        assert_eq!(both, [vec!["MIT", "Apache-2.0"], vec!["Unicode-3.0"]]);
        let exception = terms("Apache-2.0 WITH LLVM-exception OR MIT");
        assert_eq!(exception, [["Apache-2.0 WITH LLVM-exception", "MIT"]]);
        assert!(terms("").is_empty());
    }
}
