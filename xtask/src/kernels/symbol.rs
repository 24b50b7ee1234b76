//! Names of functions as people write them.

/// `plumb_workload_memory::methods::stream::copy` of a symbol, without hash and generic arguments. A symbol that is not
/// Rust's stays as it is.
pub fn demangled(symbol: &str) -> String {
    if let Some(rest) = symbol.strip_prefix("_ZN") {
        return legacy(rest);
    }
    symbol.strip_prefix("_R").map_or_else(|| symbol.to_owned(), first_version)
}

/// A row of names, each after its length; the last is a hash.
fn legacy(mut rest: &str) -> String {
    let mut names = Vec::new();
    while let Some((name, after)) = counted(rest, "") {
        names.push(name);
        rest = after;
    }
    if names.last().is_some_and(|name| is_hash(name)) {
        names.pop();
    }
    let codes = [("$LT$", "<"), ("$GT$", ">"), ("$RF$", "&"), ("$u20$", " "), ("..", "::")];
    codes.iter().fold(names.join("::"), |name, (code, meant)| name.replace(code, meant))
}

fn is_hash(name: &str) -> bool {
    name.len() == 17 && name.starts_with('h') && name[1..].chars().all(|c| c.is_ascii_hexdigit())
}

/// The names of the newer scheme in their order: what says how they belong together is left out.
fn first_version(mut rest: &str) -> String {
    let mut names = Vec::new();
    while let Some(first) = rest.chars().next() {
        if let Some((name, after)) = counted(rest, "_") {
            names.push(name);
            rest = after;
        } else if matches!(first, 's' | 'B') && rest.contains('_') {
            // A number that distinguishes two of one name, or a way back to what was said before.
            rest = rest.split_once('_').map_or("", |(_, after)| after);
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    names.join("::")
}

/// A name after its length and, if there is one, a separator; and what follows.
fn counted<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    rest.strip_prefix(separator).unwrap_or(rest).split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn both_schemes_and_foreign_names() {
        for (symbol, name) in [
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            (
                "_ZN43_$LT$one..Copier$u20$as$u20$two..Member$GT$3run17h0123456789abcdefE",
                "_<one::Copier as two::Member>::run",
            ),
            ("_RNvNtNtCs1234_5plumb7methods6stream4copy", "plumb::methods::stream::copy"),
            ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
            ("memcpy", "memcpy"),
        ] {
            assert_eq!(demangled(symbol), name);
        }
    }
}
