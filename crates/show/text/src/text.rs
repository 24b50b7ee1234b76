//! Text from elsewhere, made safe to show, and the arithmetic of columns.
//!
//! Names, remarks and error texts come from plug-ins, commands and other machines. None of them may
//! move a cursor, change a colour or reverse the reading order: whatever is shown goes through
//! [`clean`] first.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters of one text that are shown; what is longer is cut.
const LONGEST: usize = 4_000;

/// The text on one line, with every character that would act instead of being seen written out as
/// `\u{1b}`. Line breaks and tabs become spaces.
#[must_use]
pub fn clean(text: &str) -> String {
    // Most text is plain, and there is much of it.
    if text.len() <= LONGEST && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars().take(LONGEST) {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if acts(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

/// Whether a character does something to its surroundings: controls, reordering of text, invisible
/// characters that make two texts look the same, line and paragraph separators, tags.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x061C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F)
}

/// Columns that a text takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text that is wider than so many columns, and says so with `…`.
#[must_use]
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (head, _) = split_at_width(text, columns.saturating_sub(1));
    if columns == 0 { String::new() } else { format!("{}…", whole_words(text, head)) }
}

/// The beginning of a text without a part of a word at its end, unless that word is a third of it.
#[must_use]
pub fn whole_words<'t>(text: &str, head: &'t str) -> &'t str {
    let is_between_words = text[head.len()..].starts_with(' ');
    let last_space = head.rfind(' ').filter(|at| 3 * at >= 2 * head.len());
    match last_space {
        Some(at) if !is_between_words => head[..at].trim_end(),
        _ => head.trim_end(),
    }
}

/// Breaks a text into lines of at most so many columns, at spaces if there are any.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in unbroken(text) {
        let mut word = word.as_str();
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        while line.is_empty() && width(word) > columns {
            let (head, tail) = break_word(word, columns);
            lines.push(head.to_owned());
            word = tail;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text; `%` and `·` stay with what they follow.
pub(crate) fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if word.starts_with(['%', '·']) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a word that is too long after a punctuation mark, else anywhere.
fn break_word(word: &str, columns: usize) -> (&str, &str) {
    let (head, tail) = split_at_width(word, columns);
    let mark = head.rfind([',', '/', '=', ':', '-', '_', '@']);
    match mark {
        Some(at) if at * 3 > head.len() => word.split_at(at + 1),
        _ => (head, tail),
    }
}

/// The longest beginning of at most so many columns (at least one character), and the rest.
fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// `one point`, `2 points`.
#[must_use]
pub fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{clean, clip, width, wrap};

    #[test]
    fn escape_sequences_are_seen_and_do_not_act() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}"), r"a\u{1b}[31mred\u{7}");
        assert_eq!(clean("a\r\nb\tc"), "a  b c");
        assert_eq!(clean("evil\u{202e}txt.exe\u{9b}31m"), r"evil\u{202e}txt.exe\u{9b}31m");
        assert_eq!(clean("Größe 大小 ±µ"), "Größe 大小 ±µ");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("大小"), 4);
        assert_eq!(clip("大小大小", 5), "大小…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
        assert_eq!(clip("a label of words", 12), "a label of…");
        assert_eq!(clip("a label of words", 11), "a label of…");
        assert_eq!(clip("an unbreakable_name", 12), "an unbreaka…");
    }

    #[test]
    fn long_words_break_at_marks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(
            wrap("method=non-temporal,size=8MiB", 20),
            ["method=non-temporal,", "size=8MiB"]
        );
        assert_eq!(wrap("", 20), [""]);
    }

    proptest! {
        #[test]
        fn cleaned_text_has_no_control_and_fits(text in any::<String>(), columns in 8_usize..60) {
            let cleaned = clean(&text);
            assert!(!cleaned.chars().any(char::is_control));
            assert!(width(&clip(&cleaned, columns)) <= columns);
            for line in wrap(&cleaned, columns) {
                assert!(width(&line) <= columns + 1, "{line:?}");
            }
        }
    }
}
