//! Characters on a grid.

use plumb_text::{Style, Terminal, TextLine};

/// A grid of characters, each with what it is.
pub(super) struct Canvas {
    cells: Vec<Vec<(char, Style)>>,
}

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { cells: vec![vec![(' ', Style::Plain); columns]; rows] }
    }

    pub(super) fn put(&mut self, x: usize, y: usize, sign: char, style: Style) {
        if let Some(cell) = self.cells.get_mut(y).and_then(|row| row.get_mut(x)) {
            *cell = (sign, style);
        }
    }

    /// Puts a sign into a cell that is still empty.
    pub(super) fn put_behind(&mut self, x: usize, y: usize, sign: char, style: Style) {
        let is_free =
            self.cells.get(y).and_then(|row| row.get(x)).is_some_and(|cell| cell.0 == ' ');
        if is_free {
            self.put(x, y, sign, style);
        }
    }

    /// A row after what stands before it.
    pub(super) fn row(&self, y: usize, before: TextLine, terminal: &Terminal) -> String {
        let cells = self.cells.get(y).map_or(&[][..], Vec::as_slice);
        let used = cells.iter().rposition(|cell| cell.0 != ' ').map_or(0, |last| last + 1);
        // Neighbours of one style share one escape sequence: a row of single cells would be ten times as long.
        let parts = cells[..used].chunk_by(|a, b| a.1 == b.1);
        parts
            .fold(before, |line, part| {
                line.and(part[0].1, &part.iter().map(|cell| cell.0).collect::<String>())
            })
            .render(terminal.colour)
            .trim_end()
            .to_owned()
            + "\n"
    }
}
