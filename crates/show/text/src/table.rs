//! A table with aligned columns, of which one may wrap to keep the whole within a width.

use crate::style::{Colour, Style, TextLine};

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Names and words.
    Left,
    /// Numbers, so that their digits line up.
    Right,
}

/// A column: its title, and how its cells are laid out.
#[derive(Debug, Clone)]
pub struct TableColumn {
    title: String,
    align: Align,
    gap: usize,
    wraps: bool,
}

impl TableColumn {
    /// A column of words.
    #[must_use]
    pub fn left(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, gap: 2, wraps: false }
    }

    /// A column of numbers.
    #[must_use]
    pub fn right(title: &str) -> Self {
        Self { align: Align::Right, ..Self::left(title) }
    }

    /// With so many blanks before it.
    #[must_use]
    pub fn gap(mut self, gap: usize) -> Self {
        self.gap = gap;
        self
    }

    /// Whose text is broken when the table is too wide. Several share what is left.
    #[must_use]
    pub fn wrapping(mut self) -> Self {
        self.wraps = true;
        self
    }
}

#[derive(Debug, Clone)]
enum TableRow {
    Cells(Vec<TextLine>),
    Across { indent: usize, lead: TextLine, text: TextLine },
    Heading(TextLine),
    Blank,
}

/// A table; rows may be cells or a line across all columns.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<TableRow>,
    indent: usize,
    titled: bool,
}

/// A wrapping column is never made narrower than this.
const NARROWEST: usize = 10;

impl Table {
    /// A table of these columns, with their titles above unless all are empty.
    #[must_use]
    pub fn new(columns: Vec<TableColumn>) -> Self {
        let titled = columns.iter().any(|column| !column.title.is_empty());
        Self { columns, rows: Vec::new(), indent: 0, titled }
    }

    /// With so many blanks before every row.
    #[must_use]
    pub fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row; missing cells are empty, cells beyond the last column are dropped.
    pub fn row(&mut self, mut cells: Vec<TextLine>) {
        cells.resize(self.columns.len(), TextLine::default());
        self.rows.push(TableRow::Cells(cells));
    }

    /// Adds a line across all columns, indented from the table's edge. `text` is broken to the width
    /// and hangs under its beginning after `lead`. If both are empty there is no line.
    pub fn across(&mut self, indent: usize, lead: TextLine, text: TextLine) {
        if !(lead.is_empty() && text.is_empty()) {
            self.rows.push(TableRow::Across { indent, lead, text });
        }
    }

    /// Adds an empty line and a line at the table's edge, left of the rows' indent.
    pub fn heading(&mut self, text: TextLine) {
        self.rows.push(TableRow::Heading(text));
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.rows.push(TableRow::Blank);
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in at most so many columns, if the columns that do not wrap leave room.
    #[must_use]
    pub fn render(&self, width: usize, colour: Colour) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        if self.titled {
            let titles: Vec<TextLine> =
                self.columns.iter().map(|c| TextLine::new(Style::Muted, &c.title)).collect();
            self.cells(&titles, &widths, colour, &mut out);
        }
        for row in &self.rows {
            match row {
                TableRow::Cells(cells) => self.cells(cells, &widths, colour, &mut out),
                TableRow::Across { indent, lead, text } => {
                    out.push_str(&hanging(self.indent + indent, lead, text, width, colour));
                }
                TableRow::Heading(text) => {
                    out.push('\n');
                    out.push_str(&hanging(0, &TextLine::default(), text, width, colour));
                }
                TableRow::Blank => out.push('\n'),
            }
        }
        out
    }

    /// Width of each column: its widest cell, less if wrapping columns must give way.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|i| self.natural(i)).collect();
        let gaps: usize = self.columns.iter().skip(1).map(|column| column.gap).sum();
        let mut over = (self.indent + gaps + widths.iter().sum::<usize>()).saturating_sub(width);
        // Words are cut only if there is no other way.
        let words: Vec<usize> = (0..widths.len()).map(|i| self.longest_word(i)).collect();
        for least in [words, vec![0; widths.len()]] {
            while over > 0 {
                let may_give =
                    |&i: &usize| self.columns[i].wraps && widths[i] > least[i].max(NARROWEST);
                let wrapping = (0..widths.len()).filter(may_give);
                let Some(widest) = wrapping.max_by_key(|&i| widths[i]) else { break };
                widths[widest] -= 1;
                over -= 1;
            }
        }
        widths
    }

    /// The longest word of a column, with the blanks before it.
    fn longest_word(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            TableRow::Cells(cells) => Some(cells[column].longest_word()),
            TableRow::Across { .. } | TableRow::Heading(_) | TableRow::Blank => None,
        });
        cells.max().unwrap_or(0)
    }

    fn natural(&self, column: usize) -> usize {
        let title = if self.titled { crate::text::width(&self.columns[column].title) } else { 0 };
        let cells = self.rows.iter().filter_map(|row| match row {
            TableRow::Cells(cells) => Some(cells[column].width()),
            TableRow::Across { .. } | TableRow::Heading(_) | TableRow::Blank => None,
        });
        cells.fold(title, usize::max)
    }

    /// One row, on several lines if a cell wraps. Trailing blanks are left out.
    fn cells(&self, cells: &[TextLine], widths: &[usize], colour: Colour, out: &mut String) {
        let broken: Vec<Vec<TextLine>> =
            cells.iter().zip(widths).map(|(cell, &width)| cell.wrapped(width)).collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            // Blanks are only written once a cell follows, so that no line ends with them.
            let mut pending = self.indent;
            for (i, column) in self.columns.iter().enumerate() {
                pending += if i > 0 { column.gap } else { 0 };
                let empty = TextLine::default();
                let cell = broken[i].get(line).unwrap_or(&empty);
                let spare = widths[i].saturating_sub(cell.width());
                let before = if column.align == Align::Right { spare } else { 0 };
                if cell.is_empty() {
                    pending += widths[i];
                    continue;
                }
                out.extend(std::iter::repeat_n(' ', pending + before));
                out.push_str(&cell.render(colour));
                pending = spare - before;
            }
            out.push('\n');
        }
    }
}

/// Text that hangs under its own beginning, after a lead.
pub fn hanging(
    indent: usize,
    lead: &TextLine,
    text: &TextLine,
    width: usize,
    colour: Colour,
) -> String {
    let start = indent + lead.width();
    let mut out = format!("{:indent$}{}", "", lead.render(colour));
    for (i, line) in text.wrapped(width.saturating_sub(start)).iter().enumerate() {
        if i > 0 {
            out.push_str(&format!("\n{:start$}", ""));
        }
        out.push_str(&line.render(colour));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::{any, prop, proptest};

    use super::{Table, TableColumn};
    use crate::style::{Colour, Style, TextLine};

    fn cell(text: &str) -> TextLine {
        TextLine::new(Style::Plain, text)
    }

    #[test]
    fn columns_line_up_under_wide_characters() {
        let mut table = Table::new(vec![TableColumn::left("name"), TableColumn::right("n")]);
        table.row(vec![cell("大小"), cell("1")]);
        table.row(vec![cell("size"), cell("100")]);
        table.across(2, cell("note: "), cell("across all columns"));
        assert_snapshot!(table.render(16, Colour::Plain), @"
        name    n
        大小    1
        size  100
          note: across
                all
                columns
        ");
    }

    #[test]
    fn the_wrapping_column_gives_way() {
        let mut table = Table::new(vec![TableColumn::left("").wrapping(), TableColumn::right("")]);
        table.row(vec![cell("a long name of many words"), cell("12345")]);
        assert_snapshot!(table.render(20, Colour::Plain), @"
        a long name    12345
        of many words
        ");
    }

    #[test]
    fn words_are_cut_only_where_there_is_no_other_way() {
        let column = |title: &str| TableColumn::left(title).wrapping();
        let mut table = Table::new(vec![column(""), column("flags")]);
        table.row(vec![cell("  float independent"), cell("interference, unsteady, noisy")]);
        assert_snapshot!(table.render(32, Colour::Plain), @"
                         flags
          float          interference,
            independent  unsteady, noisy
        ");
        let narrow = table.render(24, Colour::Plain);
        assert!(narrow.lines().all(|line| line.chars().count() <= 24), "{narrow}");
    }

    proptest! {
        #[test]
        fn any_table_renders(
            rows in prop::collection::vec(prop::collection::vec(any::<String>(), 0..5), 0..6),
            width in 0_usize..200,
        ) {
            let mut table = Table::new(vec![
                TableColumn::left("a").wrapping(),
                TableColumn::right("b"),
                TableColumn::left("").wrapping(),
            ]);
            for row in rows {
                table.row(row.iter().map(|text| cell(text)).collect());
            }
            let _ = table.render(width, Colour::Ansi);
        }
    }
}
