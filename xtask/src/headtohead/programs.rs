//! Real programs, of 30 and of 3 ms, whose work is counted in rounds, so that how much slower B is than A is known.
//!
//! A side is a number of rounds. Start-up is not a round: if it takes a share of the time, B gets as many
//! more rounds as make the *whole* slower by the effect. That share is measured once, from the fastest of
//! several starts, which other processes disturb least.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use plumb_relink::{CompiledProgram, Layout};
use plumb_stats::rng::Rng;

use super::results::Calibrated;

/// By how many percent B is slower; the first is A/A.
pub const EFFECTS: [u32; 4] = [0, 1, 2, 5];

/// Starts of each number of rounds that calibration takes the fastest of.
const STARTS: usize = 40;

/// The programs in C, which can be linked again.
const SOURCES: [(&str, &str); 2] =
    [("integer", include_str!("assets/integer.c")), ("memory", include_str!("assets/memory.c"))];

/// Folders of the copies that are compared. Their names are of one length, because the length of `argv[0]` moves the
/// stack.
const FIXED: &str = "fixed";
const AGAIN: &str = "again";

/// How far the instructions of copies may differ: the loader takes other paths, the program none.
const INSTRUCTIONS_DIFFER: f64 = 1e-3;

/// Bytes of text in a round of `gzip`.
const ROUND_OF_TEXT: usize = 16;

/// A program that takes its rounds as an argument or a file.
pub struct RoundsProgram {
    pub name: &'static str,
    /// The word for a round.
    pub round: &'static str,
    /// How long side A should take, in seconds.
    pub aim_s: f64,
    /// Rounds of roughly 30 ms, to calibrate with.
    trial: u64,
    /// Its source in C, one of [`SOURCES`].
    source: Option<&'static str>,
    words: fn(&Shelf, u64) -> Vec<String>,
}

/// All programs; those that need over 3 ms to start up at all are of 30 ms only.
pub const PROGRAMS: [RoundsProgram; 8] = [
    integer("integer", 0.03),
    RoundsProgram {
        name: "memory",
        round: "C: 64 dependent loads through 8 MiB",
        aim_s: 0.03,
        trial: 20_000,
        source: Some("memory"),
        words: |shelf, rounds| vec![shelf.fixed("memory"), digits(rounds)],
    },
    gzip("gzip", 0.03),
    sqlite("sqlite3", 0.03),
    RoundsProgram {
        name: "python3",
        round: "`python3 -I -S`: a call, a dictionary, text",
        aim_s: 0.03,
        trial: 50_000,
        source: None,
        words: |shelf, rounds| {
            let script = shelf.file("interpreter.py");
            words(&[&shelf.python, "-I", "-S", &script, &digits(rounds)])
        },
    },
    integer("integer, short", 0.003),
    gzip("gzip, short", 0.003),
    sqlite("sqlite3, short", 0.003),
];

const fn integer(name: &'static str, aim_s: f64) -> RoundsProgram {
    RoundsProgram {
        name,
        round: "C: 256 steps of xorshift in registers",
        aim_s,
        trial: 48_000,
        source: Some("integer"),
        words: |shelf, rounds| vec![shelf.fixed("integer"), digits(rounds)],
    }
}

const fn gzip(name: &'static str, aim_s: f64) -> RoundsProgram {
    RoundsProgram {
        name,
        round: "`gzip -c` of 16 more bytes of text",
        aim_s,
        trial: 40_000,
        source: None,
        words: |shelf, rounds| words(&["gzip", "-c", &shelf.file(&digits(rounds))]),
    }
}

const fn sqlite(name: &'static str, aim_s: f64) -> RoundsProgram {
    RoundsProgram {
        name,
        round: "`sqlite3 :memory:`: a row of a recursive query",
        aim_s,
        trial: 60_000,
        source: None,
        words: |_, rounds| words(&["sqlite3", ":memory:", &query(rounds)]),
    }
}

impl RoundsProgram {
    /// Whether it can be linked again.
    pub fn is_linked(&self) -> bool {
        self.source.is_some()
    }
}

/// The folder with what the programs need.
pub struct Shelf {
    folder: PathBuf,
    /// Programs in C, by the names of their sources.
    compiled: BTreeMap<&'static str, CompiledProgram>,
    /// The interpreter itself: a script that looks for one would be measured with it.
    python: String,
}

impl Shelf {
    /// Compiles and writes what is started.
    ///
    /// # Errors
    /// When a compiler or an interpreter is missing.
    pub fn set_up(folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        write(&folder.join("interpreter.py"), include_str!("assets/interpreter.py"))?;
        for copies in [FIXED, AGAIN] {
            let copies = folder.join(copies);
            fs::create_dir_all(&copies)
                .map_err(|error| format!("{}: {error}", copies.display()))?;
        }
        let mut compiled = BTreeMap::new();
        for source in SOURCES {
            let (name, _) = source;
            let program = CompiledProgram::compile(&folder.join("objects").join(name), &[source])
                .map_err(|error| error.to_string())?;
            program
                .link(Layout::AsGiven, &folder.join(FIXED).join(name))
                .map_err(|error| error.to_string())?;
            compiled.insert(name, program);
        }
        let interpreter =
            output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
        Ok(Self { folder, compiled, python: interpreter.trim().to_owned() })
    }

    /// The words of a side's command; its file is written if there is none.
    ///
    /// # Errors
    /// When its text can't be written.
    pub fn command(&self, program: &RoundsProgram, rounds: u64) -> Result<Vec<String>, String> {
        if program.name.starts_with("gzip") {
            let file = self.folder.join(digits(rounds));
            if !file.exists() {
                write(&file, &text(rounds as usize * ROUND_OF_TEXT))?;
            }
        }
        Ok((program.words)(self, rounds))
    }

    /// The words of a command that starts a copy which is linked again with this seed.
    ///
    /// # Errors
    /// When the program is not one in C, or can't be linked.
    pub fn relinked(
        &self,
        program: &RoundsProgram,
        rounds: u64,
        seed: u64,
    ) -> Result<Vec<String>, String> {
        let named = program.source.and_then(|source| Some((source, self.compiled.get(source)?)));
        let (source, compiled) =
            named.ok_or_else(|| format!("{} cannot be linked again", program.name))?;
        let copy = self.folder.join(AGAIN).join(source);
        compiled.link(Layout::Seeded(seed), &copy).map_err(|error| error.to_string())?;
        let mut words = self.command(program, rounds)?;
        words[0] = copy.display().to_string();
        Ok(words)
    }

    /// Settles the rounds of every effect.
    ///
    /// # Errors
    /// When the program can't be started, or rounds take no time.
    pub fn calibrate(&self, program: &RoundsProgram) -> Result<Calibrated, String> {
        let sides = [self.command(program, 0)?, self.command(program, program.trial)?];
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..STARTS {
            // In turns, so that a slow phase of the machine does not hit one length alone.
            for (fastest, words) in fastest.iter_mut().zip(&sides) {
                *fastest = fastest.min(time(words)?);
            }
        }
        let [start_up_s, trial_s] = fastest;
        let round_s = (trial_s - start_up_s) / program.trial as f64;
        let rounds = rounds(program.aim_s, start_up_s, round_s)
            .ok_or_else(|| format!("{}: rounds take no measurable time", program.name))?;
        let total_s = start_up_s + rounds[0] as f64 * round_s;
        let instructions = self.instructions(program, rounds)?;
        let relinked_instructions = match instructions {
            Some([fixed, ..]) if program.is_linked() => {
                Some(self.relinked_instructions(program, rounds[0], fixed)?)
            }
            _ => None,
        };
        Ok(Calibrated {
            name: program.name.into(),
            start_up_s,
            total_s,
            rounds,
            instructions,
            relinked_instructions,
        })
    }

    /// The instructions of a copy that is linked again, which are those of the fixed copy.
    fn relinked_instructions(
        &self,
        program: &RoundsProgram,
        rounds: u64,
        fixed: u64,
    ) -> Result<u64, String> {
        let words = self.relinked(program, rounds, 1)?;
        let count = counted(&words)
            .ok_or_else(|| format!("{}: instructions of one copy only", program.name))?;
        if agree(fixed, count) {
            return Ok(count);
        }
        Err(format!("{}: {fixed} instructions, and {count} linked again", program.name))
    }

    fn instructions(
        &self,
        program: &RoundsProgram,
        rounds: [u64; 4],
    ) -> Result<Option<[u64; 4]>, String> {
        let mut counts = [0; 4];
        for (count, rounds) in counts.iter_mut().zip(rounds) {
            let words = self.command(program, rounds)?;
            let Some(found) = counted(&words) else { return Ok(None) };
            *count = found;
        }
        Ok(Some(counts))
    }

    /// The copy of a C program that is never linked again.
    fn fixed(&self, source: &str) -> String {
        self.folder.join(FIXED).join(source).display().to_string()
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// Rounds of each effect, or nothing if a round takes no time.
fn rounds(aim_s: f64, start_up_s: f64, round_s: f64) -> Option<[u64; 4]> {
    // A start-up beyond the aim still gets rounds, or nothing could be made slower.
    let base = ((aim_s - start_up_s).max(aim_s / 2.0) / round_s).round();
    let total_s = start_up_s + base * round_s;
    let plausible = round_s > 0.0 && (1000.0..1e8).contains(&base);
    if !plausible {
        return None;
    }
    Some(EFFECTS.map(|effect| {
        let more = (total_s * f64::from(effect) / 100.0 / round_s).round();
        (base + more) as u64
    }))
}

/// Instructions in user space that a command takes, if the machine counts them.
fn counted(words: &[String]) -> Option<u64> {
    let perf = ["stat", "-x", ",", "-e", "instructions:u", "--"];
    let output = Command::new("perf").args(perf).args(words).stdin(Stdio::null()).output().ok()?;
    count_of(&String::from_utf8_lossy(&output.stderr))
}

/// Whether counts of two copies are of one and the same work.
fn agree(fixed: u64, again: u64) -> bool {
    fixed.abs_diff(again) as f64 <= INSTRUCTIONS_DIFFER * fixed as f64
}

/// The count that `perf stat -x,` printed, if the machine has counters.
fn count_of(told: &str) -> Option<u64> {
    let line = told.lines().find(|line| line.contains("instructions"))?;
    line.split(',').next()?.parse().ok()
}

/// Always as many digits, so that the arguments of both sides take equal room.
fn digits(rounds: u64) -> String {
    format!("{rounds:08}")
}

fn query(rounds: u64) -> String {
    format!(
        "WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < {}) \
         SELECT sum(n * 7 % 13), max(length(n)) FROM row",
        digits(rounds)
    )
}

/// Text of words in which some are frequent; a longer one begins with a shorter one.
fn text(bytes: usize) -> String {
    let mut rng = Rng::new(1);
    let syllables = ["ka", "lo", "min", "ter", "u", "sa", "ver", "do", "ni", "pel", "est", "ra"];
    let vocabulary: Vec<String> = (0..4000)
        .map(|_| (0..2 + rng.below(3)).map(|_| syllables[rng.below(syllables.len())]).collect())
        .collect();
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        let rank = rng.uniform().powi(3) * vocabulary.len() as f64;
        text.push_str(&vocabulary[rank as usize]);
        text.push(if rng.below(12) == 0 { '\n' } else { ' ' });
    }
    text.truncate(bytes);
    text
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn time(words: &[String]) -> Result<f64, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    match command.status() {
        Ok(status) if status.success() => Ok(begun.elapsed().as_secs_f64()),
        Ok(status) => Err(format!("{words:?}: {status}")),
        Err(error) => Err(format!("{words:?}: {error}")),
    }
}

/// The standard output of a command.
///
/// # Errors
/// When it can't be started or fails, with what it says.
pub fn output(command: &mut Command) -> Result<String, String> {
    output_of(command, &[0])
}

/// The standard output of a command that may end with one of these exit codes.
///
/// # Errors
/// When it can't be started or ends otherwise, with what it says.
pub fn output_of(command: &mut Command, codes: &[i32]) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} can't be started: {error}"))?;
    if output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{program} ended with {}: {said}", output.status))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::{EFFECTS, PROGRAMS, Shelf, agree, count_of, counted, rounds, text};

    /// Addresses in a program, by the names of the symbols.
    fn addresses(program: &str) -> BTreeMap<String, String> {
        let output = Command::new("nm").arg(program).output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let symbols = listed.lines().filter_map(|line| line.split_once(' '));
        let named = symbols.filter_map(|(address, rest)| Some((rest.get(2..)?, address)));
        named.map(|(name, address)| (name.to_owned(), address.to_owned())).collect()
    }

    #[test]
    fn copies_that_are_linked_again_have_their_loops_and_data_elsewhere() {
        let folder = std::env::temp_dir().join(format!("relinked-{}", std::process::id()));
        let shelf = Shelf::set_up(folder.clone()).unwrap();
        for (name, symbols) in [("integer", &["main"][..]), ("memory", &["main", "table"])] {
            let program = PROGRAMS.iter().find(|program| program.name == name).unwrap();
            let fixed = shelf.command(program, 100).unwrap();
            let at_fixed = addresses(&fixed[0]);
            for seed in 0..10 {
                let again = shelf.relinked(program, 100, seed).unwrap();
                assert_eq!(fixed[0].len(), again[0].len());
                assert_eq!(fixed[1..], again[1..]);
                let at_again = addresses(&again[0]);
                for symbol in symbols {
                    assert_ne!(at_fixed[*symbol], at_again[*symbol], "{name}: {symbol}, {seed}");
                }
                // Without counters, the tests of `plumb-relink` compare the machine code instead.
                if let (Some(one), Some(other)) = (counted(&fixed), counted(&again)) {
                    assert!(agree(one, other), "{name}: {one} and {other} instructions");
                }
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_c_programs_are_linked_again() {
        let linked: Vec<&str> = PROGRAMS
            .iter()
            .filter(|program| program.is_linked())
            .map(|program| program.name)
            .collect();
        assert_eq!(linked, ["integer", "memory", "integer, short"]);
        assert!(agree(1_000_000, 1_000_900) && !agree(1_000_000, 1_010_000));
    }

    #[test]
    fn more_rounds_make_the_whole_slower_by_the_effect() {
        for (start_up, round) in [(0.0005, 2e-5), (0.006, 5e-7), (0.04, 1e-6)] {
            let counts = rounds(0.03, start_up, round).unwrap();
            let time = |rounds: u64| start_up + rounds as f64 * round;
            for (effect, count) in EFFECTS.iter().zip(counts) {
                let slower = time(count) / time(counts[0]) - 1.0;
                let wanted = f64::from(*effect) / 100.0;
                assert!((slower - wanted).abs() < 4e-4, "{start_up}: {slower} for {wanted}");
            }
        }
        assert_eq!(rounds(0.03, 0.01, 0.0), None);
        assert_eq!(rounds(0.03, 0.01, -1e-6), None);
    }

    #[test]
    fn a_machine_without_counters_counts_nothing() {
        assert_eq!(count_of("<not supported>,,instructions:u,0,100.00,,\n"), None);
        let counted = "# note\n123456789,,instructions:u,30012345,100.00,1.2,insn per cycle\n";
        assert_eq!(count_of(counted), Some(123_456_789));
    }

    #[test]
    fn longer_text_begins_with_the_shorter() {
        let short = text(64_000);
        let long = text(64_640);
        assert_eq!((short.len(), long.len()), (64_000, 64_640));
        assert!(long.starts_with(&short));
    }
}
