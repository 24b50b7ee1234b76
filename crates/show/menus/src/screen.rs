//! Menus and questions on a terminal, each on its own screen that is gone afterwards: dialoguer draws them on
//! stderr.

use std::io;

use dialoguer::console::Term;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Input, Select};
use plumb_text::{clip, wrap};

/// Switches to the second screen of the terminal, and back with a visible cursor.
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// Columns that a menu needs next to its items.
const MARGIN: usize = 4;
/// Lines that a menu needs next to its head and its items.
const FRAME: usize = 4;
/// Lines that stay for items, however long the head.
const FEWEST_ITEMS: usize = 3;

/// The terminal while it is asked.
pub struct Screen {
    term: Term,
    theme: Box<dyn Theme>,
}

impl Screen {
    /// Takes the terminal over until it is dropped.
    pub fn open(has_colours: bool) -> io::Result<Self> {
        let theme: Box<dyn Theme> = match has_colours {
            true => Box::new(ColorfulTheme::default()),
            false => Box::new(SimpleTheme),
        };
        // Standard output may be a file or a pipe, which gets the finished suite.
        let term = Term::stderr();
        term.write_str(ENTER)?;
        Ok(Self { term, theme })
    }

    /// Lets the user choose one of the items, `at` first; None if they go back.
    pub fn choose(
        &self,
        head: &str,
        title: &str,
        items: &[String],
        at: usize,
    ) -> io::Result<Option<usize>> {
        let used = self.show(head)?;
        let (rows, columns) = self.term.size();
        let room = usize::from(rows).saturating_sub(used + FRAME).max(FEWEST_ITEMS);
        let columns = usize::from(columns).saturating_sub(MARGIN);
        let select =
            Select::with_theme(&*self.theme).with_prompt(clip(title, columns)).report(false);
        let select = select.items(items.iter().map(|item| clip(item, columns)));
        let at = at.min(items.len().saturating_sub(1));
        select.default(at).max_length(room).interact_on_opt(&self.term).map_err(io::Error::from)
    }

    /// Lets the user change a text.
    pub fn ask(&self, head: &str, title: &str, text: &str) -> io::Result<String> {
        self.show(head)?;
        Input::<String>::with_theme(&*self.theme)
            .with_prompt(title)
            .report(false)
            .with_initial_text(text)
            .allow_empty(true)
            .interact_text_on(&self.term)
            .map_err(io::Error::from)
    }

    /// An empty screen but for the head; its lines.
    fn show(&self, head: &str) -> io::Result<usize> {
        let columns = usize::from(self.term.size().1);
        let lines: Vec<String> = head.lines().flat_map(|line| broken(line, columns)).collect();
        self.term.clear_screen()?;
        self.term.write_line(&lines.join("\n"))?;
        Ok(lines.len())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone away needs no screen back.
        let _ = self.term.write_str(LEAVE);
    }
}

/// A line in lines that fit, indented as it is.
fn broken(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start();
    let indent = " ".repeat(line.len() - text.len());
    if plumb_text::width(line) <= columns {
        return vec![line.to_owned()];
    }
    let lines = wrap(text, columns.saturating_sub(indent.len()));
    lines.iter().map(|line| format!("{indent}{line}")).collect()
}
