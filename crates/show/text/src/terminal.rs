//! How something is drawn on a terminal.

use crate::style::Colour;

/// How something is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Columns.
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

    /// The text with this crate's own signs replaced by ASCII ones of the same width, where the
    /// terminal needs that.
    pub fn signs(&self, text: String) -> String {
        if self.unicode {
            return text;
        }
        let sign = |c: char| match c {
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
        };
        text.chars().map(sign).collect()
    }
}
