//! Labels for what a piece of text is; what they look like is decided here alone.

use anstyle::AnsiColor;

use crate::text;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Running text without emphasis.
    Plain,
    /// The name of the whole.
    Title,
    /// A group of rows or a chapter.
    Heading,
    /// The name of a point.
    Name,
    /// An estimated value with its unit.
    Estimate,
    /// The interval that belongs to it.
    Interval,
    /// Less important text: units, counts, column titles.
    Muted,
    /// The sketch of a distribution.
    Sketch,
    /// A reason to distrust.
    Flag,
    /// The good outcome.
    Good,
    /// The failures of the run.
    Bad,
    /// Something to type.
    Command,
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// No escape sequences at all.
    #[default]
    Plain,
    /// ANSI escape sequences.
    Ansi,
}

fn coloured(colour: AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(colour.into()))
}

impl Style {
    fn ansi(self) -> anstyle::Style {
        let style = anstyle::Style::new();
        match self {
            Self::Plain | Self::Name => style,
            Self::Title | Self::Estimate => style.bold(),
            Self::Heading => coloured(AnsiColor::Cyan).bold(),
            Self::Interval => coloured(AnsiColor::Cyan),
            Self::Muted => style.dimmed(),
            Self::Sketch => coloured(AnsiColor::Blue),
            Self::Flag => coloured(AnsiColor::Yellow),
            Self::Good => coloured(AnsiColor::Green),
            Self::Bad => coloured(AnsiColor::Red),
            Self::Command => coloured(AnsiColor::Green).bold(),
        }
    }
}

/// A line of labelled text. What is pushed is cleaned, so that no text can colour itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextLine {
    spans: Vec<(Style, String)>,
}

impl TextLine {
    /// A line with one piece of text.
    #[must_use]
    pub fn new(style: Style, text: &str) -> Self {
        Self::default().and(style, text)
    }

    /// The line with another piece of text.
    #[must_use]
    pub fn and(mut self, style: Style, text: &str) -> Self {
        if !text.is_empty() {
            self.spans.push((style, text::clean(text)));
        }
        self
    }

    /// Whether there is nothing on it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Columns that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text::width(text)).sum()
    }

    /// The text without labels.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text as it is written to a terminal.
    #[must_use]
    pub fn render(&self, colour: Colour) -> String {
        let spans = self.spans.iter();
        spans.map(|(style, text)| paint(*style, text, colour)).collect()
    }

    /// The line broken at so many columns. The beginning's label and blanks hold for every line; what
    /// follows the first hangs two columns further in.
    #[must_use]
    pub fn wrapped(&self, columns: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let style = self.spans.first().map_or(Style::Plain, |(style, _)| *style);
        let (text, blanks, hang) = self.hanging();
        let lines = text::wrap(&text, columns.saturating_sub(hang));
        let indented = lines.iter().enumerate().map(|(i, line)| {
            let indent = if i == 0 { blanks } else { hang };
            Self::new(style, &format!("{:indent$}{line}", ""))
        });
        indented.collect()
    }

    /// The columns of its longest word if it is broken, with the blanks before it.
    pub(crate) fn longest_word(&self) -> usize {
        let (text, blanks, hang) = self.hanging();
        let words = text::unbroken(&text).into_iter().map(|word| text::width(&word));
        words
            .enumerate()
            .map(|(i, word)| word + if i == 0 { blanks } else { hang })
            .max()
            .unwrap_or(0)
    }

    /// The text, the blanks before it, and those before what follows its first line.
    fn hanging(&self) -> (String, usize, usize) {
        let text = self.text();
        let blanks = text.len() - text.trim_start_matches(' ').len();
        (text, blanks, if blanks > 0 { blanks + 2 } else { 0 })
    }
}

fn paint(style: Style, text: &str, colour: Colour) -> String {
    match (style, colour) {
        (Style::Plain | Style::Name, _) | (_, Colour::Plain) => text.to_owned(),
        (style, Colour::Ansi) => {
            let style = style.ansi();
            format!("{style}{text}{style:#}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Colour, Style, TextLine};

    #[test]
    fn colours_only_where_asked_and_never_from_the_text() {
        let line = TextLine::new(Style::Flag, "noisy\u{1b}[0m").and(Style::Plain, " here");
        assert_eq!(line.render(Colour::Plain), r"noisy\u{1b}[0m here");
        let coloured = line.render(Colour::Ansi);
        assert!(coloured.starts_with("\u{1b}[33mnoisy\\u{1b}[0m\u{1b}[0m"), "{coloured:?}");
        assert_eq!(line.width(), line.text().chars().count());
    }
}
