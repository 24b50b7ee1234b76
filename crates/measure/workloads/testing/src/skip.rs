//! Tests, or parts of tests, that cannot run on this machine: counted, never silent.

use std::fs::OpenOptions;
use std::io::Write;

/// What a test lacks here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack<'a> {
    /// It needs root.
    Root,
    /// It needs a program.
    Tool(&'a str),
    /// It needs something of the kernel, by the name that `scripts/install-test-needs` has for it if it promises it.
    Kernel(&'a str),
    /// It needs another machine: a CPU with other instructions, for example.
    Hardware(&'a str),
}

/// The file that `cargo xtask test` reads at the end.
const FILE_VARIABLE: &str = "PLUMB_TEST_SKIPS";
/// Set by `.ci/run`: there a skip for want of something that was promised is a failure.
const CI_VARIABLE: &str = "PLUMB_CI";
/// What is there after the script ran: programs in `needs=(…)`, parts of the kernel in `features=(…)`.
const PROMISES: &str = include_str!("../../../../../scripts/install-test-needs");

/// Notes that the test of this thread skips something. The test goes on or returns as it likes.
///
/// # Panics
/// In CI (`PLUMB_CI=1`), if `scripts/install-test-needs` promises what is missing, or root is.
#[track_caller]
pub fn skip(lack: Lack) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    skip_part(&test, lack);
}

/// The same for one of several things that a test tries, such as a workload.
///
/// # Panics
/// As [`skip`].
#[track_caller]
pub fn skip_part(part: &str, lack: Lack) {
    let why = lack.words();
    #[expect(clippy::print_stderr, reason = "`cargo test -- --nocapture` shows it")]
    {
        eprintln!("skipped: {part}: {why}");
    }
    let in_ci = std::env::var_os(CI_VARIABLE).is_some_and(|value| value == "1");
    assert!(
        !in_ci || !lack.is_promised(),
        "{part}: {why}, which CI has: run as root after scripts/install-test-needs"
    );
    let Some(file) = std::env::var_os(FILE_VARIABLE) else { return };
    let line = format!("{} {part}\t{why}\n", binary());
    // One write of one line: several test binaries append at once.
    let appended = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    appended.unwrap_or_else(|error| panic!("{FILE_VARIABLE}: {error}"));
}

impl<'a> Lack<'a> {
    /// What the reason names, for which a workload cannot run here.
    #[must_use]
    pub fn of_reason(why: &'a str) -> Self {
        if why.contains("root") {
            return Self::Root;
        }
        let mut words = why.split(|c: char| c.is_whitespace() || "`',;:".contains(c));
        let is_missing = why.contains("installed") || why.contains("not found");
        let tool = words.find(|word| promised("needs=(").any(|name| name == *word));
        match tool {
            Some(name) if is_missing => Self::Tool(name),
            _ => Self::Hardware(why),
        }
    }

    /// What is missing, for people.
    fn words(self) -> String {
        match self {
            Self::Root => "needs root".to_owned(),
            Self::Tool(name) => format!("needs the program {name}"),
            Self::Kernel(name) => format!("needs {name} of the kernel"),
            Self::Hardware(what) => what.to_owned(),
        }
    }

    /// Whether CI has it.
    fn is_promised(self) -> bool {
        match self {
            Self::Root => true,
            Self::Tool(name) => promised("needs=(").any(|word| word == name),
            Self::Kernel(name) => promised("features=(").any(|word| word == name),
            Self::Hardware(_) => false,
        }
    }
}

/// The names in a list of the script, each of which goes on after a colon.
fn promised(list: &str) -> impl Iterator<Item = &'static str> {
    let after = PROMISES.split_once(list).map_or("", |(_, after)| after);
    let words = after.split_once("\n)").map_or(after, |(words, _)| words);
    words.split_whitespace().filter_map(|word| Some(word.split_once(':')?.0))
}

/// The name of this test binary, without the hash that cargo appends.
fn binary() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Lack, promised};

    #[test]
    fn what_the_script_installs_is_promised_and_nothing_else() {
        assert!(Lack::Root.is_promised());
        assert!(Lack::Tool("fio").is_promised() && Lack::Tool("mkfs.xfs").is_promised());
        assert!(!Lack::Tool("vtune").is_promised());
        assert!(Lack::Kernel("loop").is_promised() && !Lack::Kernel("zram").is_promised());
        assert!(!Lack::Hardware("this CPU has no AVX-512").is_promised());
        assert_eq!(Lack::of_reason("only root may use ping -f"), Lack::Root);
        assert_eq!(Lack::of_reason("`fio` is not installed"), Lack::Tool("fio"));
        let other = "this CPU has no non-temporal stores";
        assert_eq!(Lack::of_reason(other), Lack::Hardware(other));
        assert!(promised("features=(").all(|name| !name.contains('/')));
    }
}
