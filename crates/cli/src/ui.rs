//! The only place that prints.
//!
//! No call here fails: a reader that has gone away (`plumb run 2>&1 | head -1`) and a full disk are no reasons to stop
//! measuring, and the macros of std would panic. What can't be written to stdout is reported once, and plumb then exits
//! with the code for files.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use plumb_text::{Colour, Terminal};

use crate::error::{CommandError, Exit};
use crate::suggestions::SuggestedStore;

/// How plumb talks to this user.
#[derive(Debug, Clone)]
pub struct Ui {
    json: bool,
    quiet: bool,
    colour_out: bool,
    colour_err: bool,
    width: usize,
    live: bool,
    suggested_store: SuggestedStore,
    /// Whether stdout refused output; shared by all clones.
    lost_output: Arc<AtomicBool>,
}

/// Least time between two lines of progress if stderr is no terminal.
pub const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The width if neither COLUMNS nor a terminal gives one, in columns.
const DEFAULT_WIDTH: usize = 100;

impl Ui {
    /// Follows the arguments (`--json`, `--quiet`, `--store`), the terminal and the environment.
    pub fn new(json: bool, quiet: bool, suggested_store: SuggestedStore) -> Self {
        // anstream looks at the terminal and at NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM.
        let colour_out = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let colour_err = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
        Self {
            json,
            quiet,
            colour_out,
            colour_err,
            width: width(),
            live: io::stderr().is_terminal()
                && !quiet
                && std::env::var("TERM").as_deref() != Ok("dumb"),
            suggested_store,
            lost_output: Arc::default(),
        }
    }

    /// Without colour and progress, to report a panic when the state of the real one is unknown.
    pub fn plain() -> Self {
        Self {
            json: false,
            quiet: false,
            colour_out: false,
            colour_err: false,
            width: DEFAULT_WIDTH,
            live: false,
            suggested_store: SuggestedStore::usual(),
            lost_output: Arc::default(),
        }
    }

    /// The same without progress: for one of many short runs.
    pub fn without_progress(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// Whether the user wants one JSON document on stdout.
    pub fn wants_json(&self) -> bool {
        self.json
    }

    /// Whether progress may redraw lines on stderr.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Whether progress is wanted at all.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The width of the terminal, in columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The colours and the width of reports on stdout.
    pub fn terminal(&self) -> Terminal {
        let colour = if self.colour_out { Colour::Ansi } else { Colour::Plain };
        Terminal { colour, ..Terminal::plain(self.width) }
    }

    /// The colours and the width of messages on stderr.
    pub fn talk_terminal(&self) -> Terminal {
        let colour = if self.colour_err { Colour::Ansi } else { Colour::Plain };
        Terminal { colour, ..Terminal::plain(self.width) }
    }

    /// Prints the result of a command on stdout. A closed pipe is not an error.
    pub fn out(&self, text: &str) {
        let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        self.out_bytes(format!("{text}{end}").as_bytes());
    }

    /// Prints the binary result of a command on stdout.
    pub fn out_bytes(&self, content: &[u8]) {
        // After an error, more output would make a file that looks whole except for a gap.
        if self.has_lost_output() {
            return;
        }
        if let Err(error) = to_stdout(content) {
            self.lost_output.store(true, Ordering::Relaxed);
            self.error(&CommandError::file(format!("can't write to stdout: {error}")));
        }
    }

    /// Whether stdout refused output, which is then already reported.
    pub fn has_lost_output(&self) -> bool {
        self.lost_output.load(Ordering::Relaxed)
    }

    /// The exit code of a command that ended with `exit`: if its output was lost, at least that of a failed file.
    pub fn exit_with(&self, exit: Exit) -> ExitCode {
        let worst = if self.has_lost_output() { exit.min(Exit::Store) } else { exit };
        worst.code()
    }

    /// Prints a message on stderr, unless the user wants quiet.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            to_stderr(&format!("{}\n", self.with_store(text)));
        }
    }

    /// Draws on stderr without an end of line.
    pub fn draw(&self, text: &str) {
        to_stderr(text);
    }

    /// Prints a warning on stderr, also for a user who wants quiet.
    pub fn warn(&self, text: &str) {
        let message = self.with_store(text);
        to_stderr(&format!("{} {message}\n", self.label("warning:", AnsiColor::Yellow)));
    }

    /// Prints an error with its hints on stderr.
    pub fn error(&self, error: &CommandError) {
        to_stderr(&self.error_text(error));
    }

    /// The text that [`Self::error`] prints.
    pub fn error_text(&self, error: &CommandError) -> String {
        let label = self.label("error:", AnsiColor::Red);
        let text = self.with_store(&plumb_text::clean(&error.to_string()));
        let hints: Vec<String> = error.hints().iter().map(|hint| self.with_store(hint)).collect();
        format!("{label} {text}\n{}", hint_lines(&hints))
    }

    /// The text whose suggested commands use the store that the user named.
    pub fn with_store(&self, text: &str) -> String {
        self.suggested_store.complete(text)
    }

    /// The word in this colour, if stderr has colours.
    fn label(&self, word: &str, colour: AnsiColor) -> String {
        let style = if self.colour_err { colour.on_default() } else { Style::new() };
        format!("{style}{word}{style:#}")
    }
}

/// A line for each hint below an error.
fn hint_lines(hints: &[String]) -> String {
    hints.iter().map(|hint| format!("  hint: {hint}\n")).collect()
}

/// Writes to stdout. That the reader of a pipe has gone away is no error.
fn to_stdout(content: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(content).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn width() -> usize {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    stated.or_else(terminal_width).filter(|width| *width > 0).unwrap_or(DEFAULT_WIDTH)
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Prints clap's answer: help and version on stdout, errors with hints on stderr and exit code 2.
pub fn usage(error: &clap::Error, hints: &[String]) -> ExitCode {
    if error.use_stderr() {
        to_stderr(&format!("{}{}", error.render(), hint_lines(hints)));
        return Exit::Usage.code();
    }
    let ui = Ui::plain();
    ui.out(&error.render().to_string());
    ui.exit_with(Exit::Fine)
}
