//! How something is drawn on a terminal.

use crate::style::{Colour, TextLine};
use crate::table::{Table, hanging};

/// How something is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Width of the terminal, in columns.
    pub width: usize,
    /// Whether it is coloured.
    pub colour: Colour,
    /// Whether block characters and signs beyond ASCII may be used.
    pub unicode: bool,
    /// Whether metrics other than a workload's first are shown too.
    pub every_metric: bool,
}

impl Terminal {
    /// A plain terminal of so many columns.
    #[must_use]
    pub fn plain(width: usize) -> Self {
        Self { width, colour: Colour::Plain, unicode: true, every_metric: false }
    }

    /// A line, broken at the width; nothing if it is empty.
    #[must_use]
    pub fn lines(&self, indent: usize, line: &TextLine) -> String {
        if line.is_empty() {
            String::new()
        } else {
            self.hanging(indent, &TextLine::default(), line)
        }
    }

    /// Text that hangs under its own beginning, after a lead.
    #[must_use]
    pub fn hanging(&self, indent: usize, lead: &TextLine, text: &TextLine) -> String {
        hanging(indent, lead, text, self.width, self.colour)
    }

    /// A table in the width.
    #[must_use]
    pub fn table(&self, table: &Table) -> String {
        table.render(self.width, self.colour)
    }

    /// The text with this crate's own signs replaced by ASCII ones of the same width, if the
    /// terminal needs that.
    pub fn signs(&self, text: String) -> String {
        if self.unicode {
            return text;
        }
        text.chars().map(ascii_sign).collect()
    }
}

/// An ASCII character for a sign that this crate draws with; any other character stays.
fn ascii_sign(c: char) -> char {
    match c {
        '×' => 'x',
        '·' => '|',
        'µ' => 'u',
        '±' => '~',
        '…' => '.',
        '→' | '›' => '>',
        '‹' => '<',
        '─' => '-',
        '●' => 'o',
        '■' => '=',
        '•' => '*',
        '◆' | '█' | '▒' => '#',
        '○' => '?',
        '□' => '%',
        '◇' => '&',
        '✚' | '┴' => '+',
        '✖' => 'X',
        '▲' => '^',
        '▼' => 'v',
        '├' | '┤' | '│' | '┃' => '|',
        '░' => ':',
        '━' => '=',
        c => c,
    }
}
