//! The text of a file, whatever program saved it.

use std::borrow::Cow;

use crate::{Format, ImportError};

/// A byte order mark, which Windows programs write at the beginning of a text.
const MARK: char = '\u{feff}';

/// The content of a file as text. UTF-16 is recognised by its byte order mark; other content is UTF-8, in which bytes that are
/// not valid become U+FFFD.
#[must_use]
pub fn decode(content: &[u8]) -> Cow<'_, str> {
    let units: fn([u8; 2]) -> u16 = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(content),
    };
    let (pairs, _) = content.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| units(*pair)).collect();
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// The text without byte order marks, and with `\n` at the end of lines. Files that were appended to each other have a mark in the
/// middle.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(MARK, "").replace("\r\n", "\n"))
}

/// One line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its text without spaces at both ends.
    pub text: &'a str,
    /// Whether nothing but empty lines follows.
    pub is_last: bool,
    /// Whether a line feed ends it.
    pub is_ended: bool,
}

impl Line<'_> {
    /// The error for a line that a reader does not understand: a last one that no line feed ends may be incomplete, any other is of
    /// another form.
    pub(crate) fn wrong(&self, format: Format, why: impl Into<String>) -> ImportError {
        if self.is_last && !self.is_ended {
            return ImportError::damaged(format, why);
        }
        ImportError::Unreadable { format, line: Some(self.number), why: why.into() }
    }

    /// The error for a line whose numbers are not all there.
    pub(crate) fn lacks_numbers(&self, format: Format) -> ImportError {
        let shown: String = self.text.chars().take(80).collect();
        self.wrong(format, format!("numbers are missing in `{shown}`"))
    }
}

/// The lines of a text that are not empty.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let whole = text.split_inclusive('\n').zip(1..);
    let mut lines: Vec<Line<'_>> = whole
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| Line {
            number,
            text: line.trim(),
            is_last: false,
            is_ended: line.ends_with('\n'),
        })
        .collect();
    if let Some(last) = lines.last_mut() {
        last.is_last = true;
    }
    lines
}

/// The parts of a text that begin with such a line. What stands before the first belongs to the first.
pub(crate) fn sections<'l, 'a>(
    lines: &'l [Line<'a>],
    begins: impl Fn(&str) -> bool,
) -> Vec<&'l [Line<'a>]> {
    let mut starts: Vec<usize> =
        (0..lines.len()).filter(|&index| begins(lines[index].text)).collect();
    let Some(first) = starts.first_mut() else { return vec![lines] };
    *first = 0;
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &lines[start..end]).collect()
}

/// Whether a section is the last of its text: then it may have been cut off.
pub(crate) fn is_last(section: &[Line<'_>]) -> bool {
    section.last().is_none_or(|line| line.is_last)
}

/// The error for a section that lacks something: the last one of a text is incomplete, any other was made by another version, or
/// by a test that failed.
pub(crate) fn lacks(section: &[Line<'_>], format: Format, what: &str) -> ImportError {
    let why = format!("no {what}");
    match section.first() {
        Some(first) if !is_last(section) => {
            ImportError::Unreadable { format, line: Some(first.number), why }
        }
        _ => ImportError::damaged(format, why),
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, lines, plain, sections};

    #[test]
    fn marks_and_line_ends_of_other_systems_change_nothing() {
        let utf16: Vec<u8> = [0xfeff, 0x61, 0xd, 0xa, 0x62]
            .iter()
            .flat_map(|unit: &u16| unit.to_le_bytes())
            .collect();
        assert_eq!(plain(&decode(&utf16)), "a\nb");
        assert_eq!(plain(&decode(b"\xfe\xff\0a")), "a");
        assert_eq!(plain("\u{feff}a\r\n\u{feff}b\r\n"), "a\nb\n");
        assert_eq!(plain("1 s\r2 s"), "1 s\r2 s", "a progress meter keeps its marks");
    }

    #[test]
    fn sections_begin_where_a_line_says_so() {
        let text = "noise\nA 1\n\nx\nA 2\ny";
        let lines = lines(text);
        let parts = sections(&lines, |line| line.starts_with("A "));
        let texts: Vec<Vec<&str>> =
            parts.iter().map(|part| part.iter().map(|line| line.text).collect()).collect();
        assert_eq!(texts, [vec!["noise", "A 1", "x"], vec!["A 2", "y"]]);
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
        assert!(lines[4].is_last && !lines[4].is_ended && lines[3].is_ended);
    }
}
