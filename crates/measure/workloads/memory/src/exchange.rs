//! `memory.exchange`: a cache line handed back and forth between two CPUs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_model::{AuditClass, Description, Facts, Parameter, Ready};
use plumb_protocol::{Failure, SplitMix64, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::{Placement, placement_or};
use plumb_workload_kit::threads::{Member, Team};

/// Hand-overs of one iteration, all of one line.
const HANDOVERS: u64 = 1024;

/// Lines of an invocation, used in turn.
const LINES: usize = 4096;

/// The value of `from` and `to` if `placement` chooses.
const PLACED: &str = "placed";

/// The workload `memory.exchange`: its parameters and metrics, and how it starts.
pub(super) struct LineExchange;

impl Workload for LineExchange {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                placement_or("cross-cpu"),
                cpu(
                    "from",
                    "number of the first CPU; set it together with `to`, instead of `placement`",
                ),
                cpu("to", "number of the second CPU; set it together with `from`"),
            ],
            metrics: vec![declare::time(
                "latency",
                "time of one hand-over, from one CPU's write to the other's answer; a round trip is two",
            )],
            audit_class: Some(AuditClass::Memory),
            ..declare::workload("memory.exchange", "two CPUs pass a cache line back and forth")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("exchange.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let pair = pair(start)?;
        let lines = Lines::new(start.seed);
        let shared = Arc::clone(&lines);
        let team = Team::on_cpus(pair.to_vec(), move |index| {
            Ok(Player::new(index == 0, Arc::clone(&shared)))
        })?;
        let ready = Ready {
            work: declare::work(&[("latency", HANDOVERS)]),
            notes: vec![in_words(pair, &start.facts)],
            ..Ready::default()
        };
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

fn cpu(name: &str, summary: &str) -> Parameter {
    declare::text(name, PLACED, summary)
}

/// The two CPUs.
fn pair(start: &Start) -> Result<[usize; 2], StartError> {
    let pair = match (start.text("from"), start.text("to")) {
        (PLACED, PLACED) => placed(start)?,
        (from, to) if from != PLACED && to != PLACED => {
            [allowed("from", from, &start.facts)?, allowed("to", to, &start.facts)?]
        }
        _ => {
            return Err(StartError::Failed("set both `from` and `to`, or neither".into()));
        }
    };
    if pair[0] == pair[1] {
        return Err(StartError::unsupported(
            format!("both threads would use CPU {}; a hand-over needs two CPUs", pair[0]),
            "set another `placement`, or another `to`",
        ));
    }
    Ok(pair)
}

fn placed(start: &Start) -> Result<[usize; 2], StartError> {
    if start.facts.cpus.len() < 2 {
        return Err(StartError::unsupported(
            "plumb is limited to one CPU; memory.exchange needs two",
            "give plumb two CPUs (taskset, cpuset, a larger machine)",
        ));
    }
    match Placement::of(start)?.cpus(2, &start.facts)?.as_deref() {
        Some(&[from, to]) => Ok([from, to]),
        _ => Err(StartError::Failed(
            "memory.exchange pins both threads: set a `placement` other than free".into(),
        )),
    }
}

/// The CPU of this number, if plumb may use it.
fn allowed(name: &str, word: &str, facts: &Facts) -> Result<usize, StartError> {
    let cpu: u32 = word.parse().map_err(|_| {
        StartError::Failed(format!("`{name}` is `{word}`, which is not a CPU number"))
    })?;
    if facts.cpus.contains(&cpu) {
        return Ok(cpu as usize);
    }
    let all: Vec<String> = facts.cpus.iter().map(ToString::to_string).collect();
    Err(StartError::unsupported(
        format!("plumb is not allowed to run on CPU {cpu}"),
        format!("set `{name}` to one of these CPUs: {}", all.join(", ")),
    ))
}

/// Where the two are to each other, as far as the kernel tells.
fn in_words(pair: [usize; 2], facts: &Facts) -> String {
    let places = pair.map(|cpu| facts.places.iter().find(|place| place.cpu as usize == cpu));
    let near = match places {
        [Some(a), Some(b)] if a.node != b.node => ", on two nodes",
        [Some(a), Some(b)] if a.core == b.core => ", two hardware threads of a core",
        [Some(_), Some(_)] => ", two cores of a node",
        _ => "",
    };
    format!("between CPUs {} and {}{near}", pair[0], pair[1])
}

/// A line alone: prefetchers bring lines in pairs, so that each has two.
#[repr(align(128))]
struct PaddedLine(AtomicU64);

/// Lines that nobody used before, and the order in which they are used.
struct Lines {
    lines: Vec<PaddedLine>,
    order: Vec<u32>,
}

impl Lines {
    fn new(seed: u64) -> Arc<Self> {
        let lines = (0..LINES).map(|_| PaddedLine(AtomicU64::new(0))).collect();
        let mut order: Vec<u32> = (0..).take(LINES).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        Arc::new(Self { lines, order })
    }

    /// The line of this turn, and what is written on it then.
    fn at(&self, turn: u64) -> (&PaddedLine, u64) {
        let round = turn / LINES as u64;
        let place = turn % LINES as u64;
        let line = self.order.get(place as usize).copied().unwrap_or(0);
        (&self.lines[line as usize], round * HANDOVERS)
    }
}

/// One of the two threads.
struct Player {
    /// Whether it writes the odd numbers.
    first: bool,
    lines: Arc<Lines>,
    /// Lines so far.
    turn: u64,
}

impl Player {
    fn new(first: bool, lines: Arc<Lines>) -> Self {
        Self { first, lines, turn: 0 }
    }
}

/// Writes the next number whenever the other has written the one before it, as often as half the hand-overs of a line.
#[inline(never)]
fn hand_over(line: &AtomicU64, mut seen: u64) {
    for _ in 0..HANDOVERS / 2 {
        // Without a pause instruction, whose own length (40 to 140 cycles) would be timed as well.
        while line.load(Ordering::Acquire) != seen {}
        line.store(seen + 1, Ordering::Release);
        seen += 2;
    }
}

impl Member for Player {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let (line, written) = self.lines.at(self.turn);
            hand_over(&line.0, if self.first { written } else { written + 1 });
            self.turn += 1;
        }
        Ok(())
    }

    /// On every line stands the number of all its hand-overs.
    fn verify(&mut self) -> Result<(), Failure> {
        for place in 0..LINES as u64 {
            let (line, _) = self.lines.at(place);
            let found = line.0.load(Ordering::Acquire);
            // Turns go round all lines, so those at the front may have had one more than those behind.
            let turns = (self.turn + LINES as u64 - 1 - place) / LINES as u64;
            let expected = turns * HANDOVERS;
            if found != expected {
                return Err(Failure(format!(
                    "memory.exchange: line {place} contains {found}, not {expected}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES, Lines, Member, Player, in_words};
    use plumb_model::{CpuPlace, Facts};
    use std::sync::atomic::Ordering;

    #[test]
    fn every_line_holds_the_number_of_its_hand_overs() {
        let lines = Lines::new(1);
        let mut players = [true, false].map(|first| Player::new(first, lines.clone()));
        let turns = 3;
        std::thread::scope(|scope| {
            for player in &mut players {
                scope.spawn(move || player.run(turns).unwrap());
            }
        });
        players.iter_mut().for_each(|player| player.verify().unwrap());
        // A line later than those that were used.
        let (line, written) = lines.at(LINES as u64 - 1);
        assert_eq!(written, 0);
        line.0.store(7, Ordering::Relaxed);
        let failure = players[0].verify().unwrap_err();
        assert!(failure.0.ends_with("line 4095 contains 7, not 0"), "{failure}");
        line.0.store(0, Ordering::Relaxed);
        players[0].turn += 1;
        assert!(players[0].verify().unwrap_err().0.contains("line 3 contains 0, not 1024"));
    }

    #[test]
    fn readers_learn_how_near_the_two_are() {
        let place = |cpu: u32| CpuPlace { cpu, core: cpu % 4, node: cpu % 4 / 2 };
        let facts = Facts { places: (0..8).map(place).collect(), ..Facts::default() };
        let near = |pair| in_words(pair, &facts);
        assert_eq!(near([0, 4]), "between CPUs 0 and 4, two hardware threads of a core");
        assert_eq!(near([0, 1]), "between CPUs 0 and 1, two cores of a node");
        assert_eq!(near([0, 3]), "between CPUs 0 and 3, on two nodes");
        assert_eq!(in_words([0, 1], &Facts::default()), "between CPUs 0 and 1");
    }
}
