//! Programs replayed on a recording: a run is so many chunks in a row, from anywhere in it.

use plumb_simulate::environment::Environment;
use plumb_simulate::recording::{Block, CHUNKS, Pattern, Recording};
use plumb_stats::rng::Rng;

use super::record::GAP;

/// Minutes of simulated machines: as many machines, a minute each, whose chunks are samples.
const SIMULATED: usize = 20;
const MINUTE: usize = 60_000;

/// A program of fewer chunks is run once before it counts.
const SHORT: f64 = 20.0;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Program {
    /// So many chunks; a slower one has more of them.
    Chunks(f64),
    /// The recorded command; a slower one takes longer by as much.
    Command,
}

impl Program {
    /// Runs that do not count at the beginning of an invocation, as `ab` has them.
    fn warming(self) -> usize {
        match self {
            Self::Chunks(length) => usize::from(length < SHORT),
            Self::Command => 1,
        }
    }

    /// Chunks, or commands, of a gap of about 10 ms.
    fn gap(self) -> f64 {
        match self {
            Self::Chunks(_) => 10.0,
            Self::Command => 2.0,
        }
    }
}

/// What is known of a run, or of a few.
#[derive(Debug, Clone, Copy, Default)]
pub struct Run {
    /// How long it took.
    pub seconds: f64,
    /// How much of this it was not on a CPU.
    pub off_cpu: f64,
    /// Ticks of steal meanwhile.
    pub steal: f64,
    /// Involuntary switches meanwhile.
    pub switches: f64,
}

impl Run {
    /// Time on a CPU, in seconds.
    pub fn on_cpu(self) -> f64 {
        self.seconds - self.off_cpu
    }

    fn and(self, more: Self) -> Self {
        Self {
            seconds: self.seconds + more.seconds,
            off_cpu: self.off_cpu + more.off_cpu,
            steal: self.steal + more.steal,
            switches: self.switches + more.switches,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            seconds: factor * self.seconds,
            off_cpu: factor * self.off_cpu,
            steal: factor * self.steal,
            switches: factor * self.switches,
        }
    }
}

/// Neighbours in time: what came together before each chunk.
struct Stretch(Vec<Run>);

impl Stretch {
    fn of(chunks: impl Iterator<Item = Run>) -> Self {
        let mut sum = Run::default();
        let mut sums = vec![sum];
        sums.extend(chunks.map(|chunk| {
            sum = sum.and(chunk);
            sum
        }));
        Self(sums)
    }

    fn chunks(&self) -> usize {
        self.0.len() - 1
    }

    /// What came before here, between two chunks in proportion.
    fn until(&self, at: f64) -> Run {
        let below = (at as usize).min(self.chunks() - 1);
        let share = at - below as f64;
        self.0[below].times(1.0 - share).and(self.0[below + 1].times(share))
    }
}

/// What lies between two invocations: some 10 ms, as `ab` takes to start a worker and to store what it said.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gap {
    /// So many chunks, which pass without a run.
    Chunks(f64),
    /// The rest of the block and a recorded gap.
    Recorded,
    /// Time only, which the recording has nothing of.
    Time,
}

/// Where a program is replayed.
pub struct Source {
    stretches: Vec<Stretch>,
    program: Program,
    gap: Gap,
    /// A unit may not reach over a multiple of this, where the CPU changes.
    unit_within: Option<f64>,
}

impl Source {
    /// The stretches with this pattern; none where there are less than `least_s` seconds. Of chunks one after the other
    /// it is the longest, or all but the longest where `in_turn` and there are others.
    pub fn of(
        recording: &Recording,
        pattern: Pattern,
        in_turn: bool,
        program: Program,
        least_s: f64,
    ) -> Option<Self> {
        let longest = recording.longest().as_ptr();
        let is_chosen =
            |blocks: &&[Block]| pattern != Pattern::Stay || (blocks.as_ptr() == longest) != in_turn;
        let of_pattern = || recording.stretches().filter(|it| it[0].pattern == pattern);
        let mut chosen: Vec<&[Block]> = of_pattern().filter(is_chosen).collect();
        if chosen.is_empty() {
            chosen = of_pattern().collect();
        }
        let stretches: Vec<Stretch> = chosen.into_iter().map(stretch).collect();
        let seconds: f64 = stretches.iter().filter_map(|it| it.0.last()).map(|it| it.seconds).sum();
        let gap = match pattern {
            Pattern::Stay if in_turn => Gap::Time,
            Pattern::Stay => Gap::Chunks(program.gap()),
            Pattern::Commands => Gap::Chunks(program.gap()),
            Pattern::Sleep | Pattern::Spin => Gap::Recorded,
            Pattern::Move | Pattern::CommandsSleep | Pattern::CommandsSpin => Gap::Time,
        };
        let unit_within = (pattern == Pattern::Move).then_some(2.0 * CHUNKS as f64);
        (seconds >= least_s).then_some(Self { stretches, program, gap, unit_within })
    }

    /// Whether it was recorded how long chunks were off the CPU.
    pub fn knows_the_cpu(&self) -> bool {
        self.stretches.iter().filter_map(|it| it.0.last()).any(|all| all.off_cpu > 0.0)
    }

    /// Machines with this noise.
    pub fn simulated(environment: Environment, program: Program) -> Self {
        let minute = |seed: usize| {
            let mut machine = environment.machine(seed as u64);
            Stretch::of(
                (0..MINUTE)
                    .map(|_| Run { seconds: 1e-3 * machine.process(0, 1).exp(), ..Run::default() }),
            )
        };
        let stretches = (0..SIMULATED).map(minute).collect();
        Self { stretches, program, gap: Gap::Chunks(program.gap()), unit_within: None }
    }
}

fn stretch(blocks: &[Block]) -> Stretch {
    Stretch::of(blocks.iter().flat_map(|block| {
        let share = |count: u32| f64::from(count) / CHUNKS as f64;
        block.micros.iter().zip(block.off_cpu).map(move |(&micros, off_cpu)| Run {
            seconds: 1e-6 * f64::from(micros),
            off_cpu: 1e-6 * f64::from(off_cpu),
            steal: share(block.steal),
            switches: share(block.switches),
        })
    }))
}

/// Two versions at work, from anywhere in a source on.
pub struct Session<'a> {
    source: &'a Source,
    /// By how much each side is slower.
    slower: [f64; 2],
    /// The coins.
    pub rng: Rng,
    stretch: usize,
    at: f64,
    /// What has passed.
    pub seconds: f64,
}

impl<'a> Session<'a> {
    /// The second side is slower by `effect`.
    pub fn new(source: &'a Source, effect: f64, mut rng: Rng) -> Self {
        let chunks = source.stretches.iter().map(Stretch::chunks);
        let mut place = rng.below(chunks.clone().sum());
        let mut stretch = 0;
        for chunks in chunks {
            if place < chunks {
                break;
            }
            (place, stretch) = (place - chunks, stretch + 1);
        }
        Self { source, slower: [0.0, effect], rng, stretch, at: place as f64, seconds: 0.0 }
    }

    /// Goes where a unit has room: so many invocations of so many runs each, beside some chunks of other work.
    pub fn begin(&mut self, invocations: usize, runs: usize, other: usize) {
        let Source { program, gap, unit_within, .. } = *self.source;
        let length = match program {
            Program::Chunks(length) => length * (1.0 + self.slower[1]),
            Program::Command => 1.0,
        };
        let run = length * (runs + program.warming()) as f64;
        let invocation = match gap {
            Gap::Chunks(gap) => run + gap,
            Gap::Recorded => (run / CHUNKS as f64).ceil() * CHUNKS as f64,
            Gap::Time => run,
        };
        let need = invocation * invocations as f64 + other as f64;
        if let Some(step) = unit_within {
            let left = (self.at / step).floor() * step + step - self.at;
            if left < need.min(step) {
                self.at += left;
            }
        }
        if gap == Gap::Recorded {
            self.skip_to_block();
        }
        while self.at + need > self.source.stretches[self.stretch].chunks() as f64 {
            self.stretch = (self.stretch + 1) % self.source.stretches.len();
            self.at = 0.0;
        }
    }

    /// An invocation of this side: what comes before, and the runs that count.
    pub fn invocation(&mut self, side: usize, runs: usize) -> Vec<Run> {
        self.between();
        for _ in 0..self.source.program.warming() {
            self.run(side);
        }
        (0..runs).map(|_| self.run(side)).collect()
    }

    fn between(&mut self) {
        match self.source.gap {
            Gap::Chunks(gap) => self.seconds += self.pass(gap).seconds,
            Gap::Recorded => {
                self.skip_to_block();
                self.seconds += GAP.as_secs_f64();
            }
            Gap::Time => self.seconds += GAP.as_secs_f64(),
        }
    }

    fn skip_to_block(&mut self) {
        self.at = (self.at / CHUNKS as f64).ceil() * CHUNKS as f64;
    }

    fn run(&mut self, side: usize) -> Run {
        let factor = 1.0 + self.slower[side];
        let run = match self.source.program {
            Program::Chunks(length) => self.pass(length * factor),
            Program::Command => self.pass(1.0).times(factor),
        };
        self.seconds += run.seconds;
        run
    }

    /// The fixed loop of a chunk.
    pub fn fixed_loop(&mut self) -> f64 {
        let run = self.pass(1.0);
        self.seconds += run.seconds;
        run.seconds
    }

    fn pass(&mut self, chunks: f64) -> Run {
        let stretch = &self.source.stretches[self.stretch];
        let before = stretch.until(self.at);
        self.at += chunks;
        stretch.until(self.at).and(before.times(-1.0))
    }
}
