//! What the evaluation says, as a section of a page that others write: between two markers, and kept by them.

use std::fmt::Write;

use super::evaluate::{Cell, DESIGNS, EQUALS, LIMIT_S, MISLED, ON_CPU, PROGRAMS, is_honest};

const BEGIN: &str = "<!-- written by `cargo xtask traces evaluate` -->";
const END: &str = "<!-- end of the traces -->";

/// What saves a fifth of the time is worth building.
const WORTH: f64 = 0.8;

/// Why what helps somewhere is not built in.
const REMARKS: &str = "\
What the time off the CPU explains can be taken off where programs wait for a CPU that others have. It is not built in: \
programs also wait for what is their own (files, locks, other processes), and a correction would hide a difference in that. \
The time on a CPU is another quantity, which you ask for by name: `plumb ab --metric cpu`. Beside builds it needs a \
fraction of the time; alone it needs as much. Recordings of host a have no such times, and only one has commands.\n\n\
Several runs in a row share the noise of their moment, and pairs that are longer need as many of them for the first look: \
they help with programs of a few milliseconds and changes of 1 %, and cost where changes are larger. A busy loop \
between runs keeps the CPU awake, but takes it from others.";

/// All that was found.
pub struct Evaluation {
    /// Sessions an effect.
    pub sessions: u64,
    /// What each recording is called, and what it says of itself.
    pub recordings: Vec<(String, String)>,
    /// By program, recording and design.
    pub cells: Vec<Vec<Vec<Option<Cell>>>>,
    /// Equal programs called different under the worst of the simulated noises, by design.
    pub simulated: Vec<(u64, u64)>,
}

/// What stands in a page between the markers, with them; nothing where it has none.
pub fn kept(page: &str) -> &str {
    let from = page.find(BEGIN);
    let to = page.find(END).map(|at| at + END.len());
    from.zip(to).and_then(|(from, to)| page.get(from..to)).unwrap_or_default()
}

/// The page with this section in place of the one that it has, or at its end; as it is where the section is empty.
pub fn put(page: &str, section: &str) -> String {
    if section.is_empty() {
        return page.to_owned();
    }
    let old = kept(page);
    if old.is_empty() {
        return format!("{}\n\n{section}\n", page.trim_end());
    }
    page.replace(old, section)
}

impl Evaluation {
    /// The section with its markers.
    pub fn section(&self) -> String {
        let mut text =
            format!("{BEGIN}\n\n## Ways to compare, on recorded traces\n\n{}", self.head());
        for (at, (name, _)) in PROGRAMS.into_iter().enumerate() {
            text += &self.table(at, name);
        }
        _ = write!(text, "\n{}\n\n{END}", self.conclusion());
        text
    }

    fn head(&self) -> String {
        let mut text = format!(
            "Written by `cargo xtask traces evaluate` on {}. Two programs are replayed on recorded chunks of work of about 1 ms, with 10 ms from one invocation to the next, and \
             a run that does not count before one of under 20 ms, \
             the second slower by 1, 2 or 5 %, {} times each from anywhere in a recording; it is looked when `ab` looks, \
             at its levels. The three times are the mean seconds until they were told apart; what was not in {LIMIT_S} s \
             counts as {LIMIT_S} s, and the share that was found stands behind it where it is under .95. *A/A* is how \
             often equal programs were told apart in {LIMIT_S} s, on the worst of the recordings and under the worst of \
             the simulated noises, of {} each: at most {MISLED} is promised, and the worst of many lies above it by chance. *Of the time* is the geometric mean over the three \
             changes, as a share of that of pairs, or of the row named; the best and the worst recording.\n\n",
            crate::host::today(),
            self.sessions,
            EQUALS * self.sessions,
        );
        for (name, about) in &self.recordings {
            _ = writeln!(text, "- *{name}*: {}", about.replace('\n', "; "));
        }
        text
    }

    /// The cells of a design with a program, of the recordings that have it.
    fn cells(&self, program: usize, design: usize) -> Vec<Option<Cell>> {
        self.cells[program].iter().map(|recording| recording[design]).collect()
    }

    fn table(&self, program: usize, name: &str) -> String {
        let names: Vec<&str> = self.recordings.iter().map(|(name, _)| name.as_str()).collect();
        let mut text = format!(
            "\n### {}\n\n| | A/A | {} | of the time |\n|---|---|{}---|\n",
            name,
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for (at, design) in DESIGNS.iter().enumerate() {
            let cells = self.cells(program, at);
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let times: Vec<String> = cells.iter().map(|it| it.map_or("".into(), times)).collect();
            let row = [self.misled(program, at), times.join(" | "), self.share(program, at)];
            _ = writeln!(text, "| {} | {} |", design.name, row.join(" | "));
        }
        text
    }

    fn misled(&self, program: usize, design: usize) -> String {
        let share = |(hits, trials): (u64, u64)| hits as f64 / trials.max(1) as f64;
        let cells = self.cells(program, design);
        let recorded = cells.iter().flatten().map(|it| share(it.misled)).fold(0.0, f64::max);
        format!("{recorded:.3}, {:.3}", share(self.simulated[design]))
    }

    /// The best and the worst share of the time.
    fn shares(&self, program: usize, design: usize) -> Option<(f64, f64)> {
        let beside = DESIGNS[design].beside;
        let both = self.cells(program, design).into_iter().zip(self.cells(program, beside));
        let shares = both.filter_map(|(mine, its)| Some(mine?.of(&its?)));
        shares.fold(None, |ends: Option<(f64, f64)>, it| {
            let (best, worst) = ends.unwrap_or((it, it));
            Some((best.min(it), worst.max(it)))
        })
    }

    fn share(&self, program: usize, design: usize) -> String {
        let beside = DESIGNS[design].beside;
        if beside == design {
            return String::new();
        }
        let of =
            if beside == 0 { String::new() } else { format!(" of \"{}\"", DESIGNS[beside].name) };
        self.shares(program, design)
            .map_or(String::new(), |(best, worst)| format!("{best:.2} to {worst:.2}{of}"))
    }

    /// Whether it errs no more than is promised, wherever it was tried with this program.
    fn is_honest(&self, program: usize, design: usize) -> bool {
        let mut cells = self.cells(program, design).into_iter().flatten();
        cells.all(|it| it.is_honest()) && is_honest(self.simulated[design])
    }

    fn conclusion(&self) -> String {
        let mut worth = Vec::new();
        for (program, (name, _)) in PROGRAMS.into_iter().enumerate() {
            for (design, it) in DESIGNS.iter().enumerate() {
                let is_another = it.beside != design && design != ON_CPU;
                let saves = self.shares(program, design).is_some_and(|(_, worst)| worst <= WORTH);
                if is_another && saves && self.is_honest(program, design) {
                    worth.push(format!("\"{}\" with {name}", it.name));
                }
            }
        }
        let found = if worth.is_empty() {
            "No other way to compare the same times saves a fifth on every recording, so `ab` goes on with pairs of one run."
                .to_owned()
        } else {
            format!("A fifth of the time is saved on every recording by {}.", worth.join(", by "))
        };
        format!("{found}\n\n{REMARKS}")
    }
}

fn times(cell: Cell) -> String {
    let one = |(seconds, found): (f64, f64)| {
        let share = if found < 0.95 { format!(" ({found:.2})") } else { String::new() };
        format!("{seconds:.1}{share}")
    };
    let all: Vec<String> = cell.seconds.into_iter().zip(cell.found).map(one).collect();
    all.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, kept, put};

    #[test]
    fn the_section_takes_the_place_of_the_last_one() {
        let section = |text: &str| format!("{BEGIN}\n{text}\n{END}");
        let first = put("# Page\n\ntext\n", &section("one"));
        assert_eq!(kept(&first), section("one"));
        let next = put(&first, &section("two"));
        assert_eq!(next, format!("# Page\n\ntext\n\n{}\n", section("two")));
        assert_eq!(kept("# Page\n"), "");
        assert_eq!(put("# Page\n", ""), "# Page\n");
    }
}
