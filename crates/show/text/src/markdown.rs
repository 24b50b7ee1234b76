//! Text inside Markdown: nothing from elsewhere marks up, links, mentions or ends a cell.

use crate::clean;

/// Text that is shown as it is: nothing in it marks up, links, mentions or ends a table's cell.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    let text = clean(text);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '!' | '&' | '$' => {
                out.push('\\');
                out.push(c);
            }
            // Neither a mention nor a reference to a ticket.
            '@' | '#' if characters.peek().is_some_and(|next| !next.is_whitespace()) => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            c => out.push(c),
        }
    }
    // Nor a link.
    out.replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")
}

/// Text as code, safe inside a table's cell.
#[must_use]
pub fn code(text: &str) -> String {
    let text = clean(text).replace('`', "'").replace('|', "¦");
    if text.trim().is_empty() { String::new() } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::{code, escape};

    #[test]
    fn text_cannot_mark_up_link_or_mention() {
        assert_eq!(escape("a|b*c*"), r"a\|b\*c\*");
        assert_eq!(escape("<img src=x>"), r"\<img src=x\>");
        assert_eq!(
            escape("@all see http://x [y](z) #1"),
            r"@<!-- -->all see http:<!-- -->//x \[y\](z) #<!-- -->1"
        );
        assert_eq!(code("a`b|c\n"), "`a'b¦c `");
    }
}
