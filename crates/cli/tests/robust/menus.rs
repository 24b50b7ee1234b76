//! `plumb suite new` on a terminal: a pseudo terminal types what a person would.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::TestEnvironment;
use crate::{PATIENCE, place};

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";
const ENTER: &str = "\r";
const ERASE: &str = "\u{7f}";
const CONTROL_C: &str = "\u{3}";
/// What the terminal gets when the screen of the menus opens and closes.
const OPENS: &str = "\u{1b}[?1049h";
const CLOSES: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// No menu of these tests has more lines.
const MOST_LINES: usize = 60;

/// A program on its own terminal.
struct PseudoTerminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<String>>,
    /// How much of it was waited for.
    read: usize,
}

impl PseudoTerminal {
    fn start(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs =
            OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = Winsize { ws_row: 50, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let own = || Stdio::from(theirs.try_clone().unwrap());
        command.env("TERM", "xterm").env("NO_COLOR", "1").env_remove("COLUMNS");
        let child = command.stdin(own()).stdout(own()).stderr(own()).spawn().unwrap();
        let keys = File::from(ours);
        let mut screen = keys.try_clone().unwrap();
        let seen = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&seen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error once nobody has the other side open.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                sink.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, seen, read: 0 }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn until<T>(&self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let seen = self.seen.lock().unwrap()[self.read..].to_owned();
            if let Some(found) = found(&seen) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "no {what} in {seen:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for a text after the last one.
    fn shows(&mut self, text: &str) {
        self.read += self.until(text, |seen| seen.find(text).map(|at| at + text.len()));
    }

    /// Types Ctrl-C until plumb reads it, and returns the exit code. A menu is drawn before it reads keys, and until then the terminal
    /// takes Ctrl-C for itself: it has no process to interrupt.
    fn interrupts(mut self) -> i32 {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
            // Once plumb has ended, nobody reads it.
            let _ = self.keys.write_all(CONTROL_C.as_bytes());
            thread::sleep(Duration::from_millis(50));
        }
        self.ends("interrupted")
    }

    /// The chosen line of the menu that was drawn last, once it is drawn whole.
    fn chosen(&self) -> String {
        let line = |seen: &str| {
            let (_, last) = seen.rsplit_once("\n> ")?;
            Some(last.split_once('\r')?.0.to_owned())
        };
        self.until("menu", line)
    }

    /// Opens the line of this menu that starts so.
    fn opens(&mut self, title: &str, line: &str) {
        self.shows(title);
        for _ in 0..MOST_LINES {
            let chosen = self.chosen();
            if chosen.starts_with(line) {
                self.read = self.seen.lock().unwrap().len();
                return self.types(ENTER);
            }
            self.read = self.seen.lock().unwrap().len();
            self.types(DOWN);
        }
        panic!("no `{line}` in the menu {title}");
    }

    /// Takes what is there away and types this.
    fn replaces(&mut self, prompt: &str, before: &str, text: &str) {
        self.shows(prompt);
        if !before.is_empty() {
            self.shows(before);
        }
        self.types(&ERASE.repeat(before.chars().count()));
        self.types(text);
        self.types(ENTER);
    }

    /// The exit code, after the menus were closed and this was said.
    fn ends(mut self, saying: &str) -> i32 {
        self.shows(CLOSES);
        self.shows(saying);
        self.child.wait().unwrap().code().unwrap()
    }
}

fn menus(place: &TestEnvironment, arguments: &str) -> PseudoTerminal {
    let mut terminal = PseudoTerminal::start(place.plumb(arguments));
    terminal.shows(OPENS);
    terminal
}

#[test]
fn menus_write_what_options_write() {
    let place = place();
    let mut terminal = menus(&place, "suite new");
    terminal.shows("no points yet");
    terminal.opens("A new suite", "Add a workload");
    terminal.opens("Family", "cpu");
    terminal.opens("Workload", "cpu.sieve");
    terminal.shows("1 point, each ±1 %");
    terminal.opens("cpu.sieve", "limit");
    terminal.replaces("limit:", "", "1..4");
    terminal.shows("3 points");
    terminal.shows("cpu.sieve");
    terminal.types(ESCAPE);
    // Back through a family and its workloads, and forth again.
    terminal.opens("A new suite", "Add a workload");
    terminal.opens("Family", "memory");
    terminal.shows("Workload");
    terminal.types(ESCAPE);
    terminal.opens("Family", "process");
    terminal.opens("Workload", "process.fork");
    terminal.shows("4 points");
    terminal.shows("process.fork");
    terminal.types(ESCAPE);
    terminal.opens("A new suite", "Stopping rules");
    terminal.opens("Stopping rules", "Precision");
    terminal.replaces("Precision:", "", "high");
    terminal.shows("`high`");
    terminal.replaces("Precision:", "high", "2%");
    terminal.opens("Stopping rules", "Maximum time");
    terminal.replaces("Maximum time:", "", "3s");
    terminal.shows("4 points, each ±2 %, at most 3 s per point; at most 12 s");
    terminal.shows("Stopping rules");
    terminal.types(ESCAPE);
    terminal.opens("A new suite", "Budget");
    terminal.replaces("Budget:", "", "8s");
    terminal.shows("at most 8");
    terminal.opens("A new suite", "Monitors");
    terminal.shows("vmstat");
    terminal.replaces("Monitors:", "", "stat=10");
    terminal.opens("A new suite", "Knobs");
    terminal.replaces("Knobs:", "", "nicer=1");
    terminal.shows("did you mean `nice`");
    terminal.replaces("Knobs:", "nicer=1", "nice=1");
    terminal.opens("A new suite", "Labels");
    terminal.replaces("Labels:", "", "purpose=caches, by = me");
    terminal.opens("A new suite", "Preset");
    terminal.opens("Preset", "none");
    terminal.opens("A new suite", "Compare with the first");
    terminal.opens("A new suite", "Save");
    terminal.replaces("File:", "", "mine.txt");
    terminal.shows("ends in .toml");
    terminal.replaces("File:", "mine.txt", "mine.toml");
    assert_eq!(terminal.ends("plumb run mine.toml"), 0);
    let read = |name: &str| fs::read_to_string(place.cwd().join(name)).unwrap();
    let options = "suite new theirs.toml --name mine --workload cpu.sieve:limit=1..4 --workload process.fork \
                   --precision 2% --max-time 3s --budget 8s --monitor stat=10 --set nice=1 --prepare none \
                   --label purpose=caches --label by=me --against-first";
    place.run(options).unwrap().exits(0);
    assert_eq!(read("mine.toml"), read("theirs.toml"));
}

#[test]
fn a_suite_that_is_quit_or_interrupted_is_not_written() {
    let place = place();
    let mut terminal = menus(&place, "suite new my.toml --precision 5%");
    terminal.shows("my.toml");
    terminal.types(ESCAPE);
    assert_eq!(terminal.ends("the suite was not saved"), 0);
    let mut terminal = menus(&place, "suite new my.toml --precision 5%");
    terminal.opens("my.toml", "Add a workload");
    terminal.opens("Family", "cpu");
    terminal.opens("Workload", "cpu.sieve");
    terminal.opens("cpu.sieve", "Remove");
    terminal.shows("no points yet");
    terminal.opens("my.toml", "Add a workload");
    terminal.opens("Family", "cpu");
    terminal.opens("Workload", "cpu.sieve");
    terminal.shows("±5 %");
    terminal.shows("cpu.sieve");
    terminal.types(ESCAPE);
    terminal.opens("my.toml", "Quit");
    terminal.opens("The suite is not saved", "Go back");
    terminal.shows("my.toml");
    assert_eq!(terminal.interrupts(), 130);
    assert!(!place.cwd().join("my.toml").exists());
}

#[test]
fn without_a_terminal_there_are_no_menus() {
    let place = place();
    let ran = place.run("suite new").unwrap().exits(2);
    ran.says(&["has no workload", "on a terminal, `plumb suite new` alone opens menus"]);
}
