//! Licences as SPDX expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// The licences that all hold, each as those among which one may choose. Enough for what crates write: `OR`
/// (and the old `/`) inside of `AND`.
pub fn terms(expression: &str) -> Vec<Vec<&str>> {
    let bare = |term: &str| term.trim().trim_matches(['(', ')']).trim().len();
    let term = |term| -> Vec<&str> {
        let choices = str::split(term, " OR ").flat_map(|it: &str| it.split('/'));
        choices.map(|it| it.trim().trim_matches(['(', ')']).trim()).collect()
    };
    expression.split(" AND ").filter(|it| bare(it) > 0).map(term).collect()
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
