//! Noise of a whole machine while processes come and go on it, the same for every process that meets it.

use plumb_stats::describe::median_of;
use plumb_stats::rng::Rng;

use super::noise::BURST;

/// Standard deviation of a sample in log time.
const SAMPLE_SD: f64 = 0.03;
/// How far the machine drifts in all, and over how many samples.
const DRIFT: (f64, f64) = (0.03, 640.0);
/// Standard deviation and memory in samples of what changes slowly, such as temperature and neighbours.
const SLOW: (f64, f64) = (0.02, 50.0);
/// Standard deviation of the levels of processes.
const PROCESS_SD: f64 = 0.01;
/// How much slower a process is than the one before it in the same pair or round, as if each warms the machine up.
const LATER: f64 = 0.01;

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedKind {
    /// The name that reports use.
    pub name: &'static str,
    /// It gets slower by 3 % over 40 pairs.
    pub drifts: bool,
    /// Slow changes of 2 %, remembered for 50 samples.
    pub wanders: bool,
    /// 5 % of the time it is 14 % slower.
    pub bursts: bool,
    /// Processes differ by 1 %.
    pub processes: bool,
    /// Who comes later in a pair is 1 % slower.
    pub tires: bool,
    /// The share of slow-downs of 2 % that is to be found.
    pub finds: f64,
}

const CALM: SimulatedKind = SimulatedKind {
    name: "independent samples",
    drifts: false,
    wanders: false,
    bursts: false,
    processes: false,
    tires: false,
    finds: 0.99,
};

/// Every kind of machine, the last but one with everything at once.
pub const ENVIRONMENTS: [SimulatedKind; 7] = [
    CALM,
    SimulatedKind { name: "drift", drifts: true, ..CALM },
    SimulatedKind { name: "slow changes", wanders: true, ..CALM },
    SimulatedKind { name: "bursts", bursts: true, ..CALM },
    SimulatedKind { name: "processes differ", processes: true, ..CALM },
    SimulatedKind {
        name: "all at once",
        drifts: true,
        wanders: true,
        bursts: true,
        processes: true,
        finds: 0.9,
        ..CALM
    },
    SimulatedKind { name: "later positions are slower", tires: true, ..CALM },
];

impl SimulatedKind {
    /// A machine of this kind.
    pub fn machine(self, seed: u64) -> SimulatedMachine {
        let mut rng = Rng::new(seed);
        let wander = rng.normal();
        let burst = rng.uniform() < BURST.1;
        SimulatedMachine { environment: self, rng, samples: 0.0, wander, burst }
    }
}

/// A machine at work.
#[derive(Debug, Clone)]
pub struct SimulatedMachine {
    environment: SimulatedKind,
    rng: Rng,
    samples: f64,
    wander: f64,
    burst: bool,
}

impl SimulatedMachine {
    /// The median log time of a fresh process with so many samples, the `position`-th in its pair or round.
    pub fn process(&mut self, position: usize, samples: usize) -> f64 {
        let own = if self.environment.processes { PROCESS_SD * self.rng.normal() } else { 0.0 };
        let later = if self.environment.tires { LATER * position as f64 } else { 0.0 };
        let logs: Vec<f64> = (0..samples).map(|_| own + later + self.sample()).collect();
        median_of(&logs)
    }

    fn sample(&mut self) -> f64 {
        self.samples += 1.0;
        let drift = if self.environment.drifts { DRIFT.0 * self.samples / DRIFT.1 } else { 0.0 };
        drift + self.slow() + self.interference() + SAMPLE_SD * self.rng.normal()
    }

    fn slow(&mut self) -> f64 {
        if !self.environment.wanders {
            return 0.0;
        }
        let (sd, memory) = SLOW;
        let keep = (-1.0 / memory).exp();
        self.wander = keep * self.wander + (1.0 - keep * keep).sqrt() * self.rng.normal();
        sd * self.wander
    }

    fn interference(&mut self) -> f64 {
        if !self.environment.bursts {
            return 0.0;
        }
        let (size, share, length) = BURST;
        // Entering this often makes bursts take their share of the time.
        let leave = if self.burst { 1.0 / length } else { share / (1.0 - share) / length };
        self.burst ^= self.rng.uniform() < leave;
        if self.burst { size } else { 0.0 }
    }
}
