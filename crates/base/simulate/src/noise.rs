//! The kinds of noise that benchmarks meet, stylised, with the exact quantiles of what they produce.

use plumb_stats::distribution::normal_cdf;
use plumb_stats::rng::Rng;

/// The undisturbed time, in nanoseconds: off the grid of the quantised timer, so that rounding can bias.
const BASE_NS: f64 = 1010.0;
/// The slow mode of bimodal noise, in log time, and its share.
const MODE: (f64, f64) = (0.08, 0.3);
/// How often a Markov regime stays what it is beyond chance.
const REGIME_MEMORY: f64 = 0.9;
/// Log time added by a burst, the share of time that bursts take, and their mean length in samples.
pub(super) const BURST: (f64, f64, f64) = (0.131, 0.05, 20.0);
/// Share of Pareto outliers and their tail index.
const OUTLIERS: (f64, f64) = (0.05, 1.5);
/// Octaves of 1/f noise.
const OCTAVES: usize = 8;

/// The distribution of one sample around its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseDistribution {
    /// Normal in log time.
    Lognormal,
    /// Lognormal, of which 5 % are multiplied by a Pareto variable of index 1.5.
    Pareto,
    /// 1 + sd times an exponential variable.
    Exponential,
}

/// How samples of a process depend on their neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Memory {
    /// Not at all.
    Independent,
    /// First-order autoregression with this coefficient.
    Autoregressive(f64),
    /// About 1/f, from eight autoregressions an octave apart.
    Pink,
}

/// The rule that switches between the fast and the slow mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Modes {
    /// There is one mode.
    One,
    /// Every sample by itself.
    BySample,
    /// A Markov chain inside the process.
    Markov,
    /// Every process once.
    ByProcess,
}

/// A kind of noise: the sum, in log time, of everything in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The name that reports use.
    pub name: &'static str,
    /// The distribution of a sample.
    pub shape: NoiseDistribution,
    /// Its standard deviation (scale for the exponential), relative.
    pub sd: f64,
    /// Dependence inside a process.
    pub memory: Memory,
    /// Fast and slow modes, 70 to 30, 8 % apart.
    pub modes: Modes,
    /// Standard deviation of the levels of processes, relative.
    pub process_sd: f64,
    /// Change of level from process to process, relative.
    pub drift: f64,
    /// Standard deviation of the steps of a random walk from process to process, relative.
    pub walk: f64,
    /// Bursts of interference: 5 % of the time, 14 % slower, 20 samples long on average.
    pub bursts: bool,
    /// The tick of the timer in nanoseconds, 0 for a perfect one.
    pub tick_ns: f64,
}

impl Noise {
    /// Independent lognormal noise.
    pub const fn lognormal(name: &'static str, sd: f64) -> Self {
        Self {
            name,
            shape: NoiseDistribution::Lognormal,
            sd,
            memory: Memory::Independent,
            modes: Modes::One,
            process_sd: 0.0,
            drift: 0.0,
            walk: 0.0,
            bursts: false,
            tick_ns: 0.0,
        }
    }

    /// Lognormal noise of 5 % with first-order autoregression.
    pub const fn autoregressive(name: &'static str, rho: f64) -> Self {
        Self { memory: Memory::Autoregressive(rho), ..Self::lognormal(name, 0.05) }
    }

    /// Two modes, each with lognormal noise of 2 %.
    pub const fn bimodal(name: &'static str, modes: Modes) -> Self {
        Self { modes, ..Self::lognormal(name, 0.02) }
    }

    /// Every kind that the bars are run on.
    pub const ALL: [Self; 22] = [
        Self::lognormal("lognormal 1 %", 0.01),
        Self::lognormal("lognormal 3 %", 0.03),
        Self::lognormal("lognormal 5 %", 0.05),
        Self::lognormal("lognormal 20 %", 0.2),
        Self::bimodal("bimodal by sample", Modes::BySample),
        Self::bimodal("bimodal Markov", Modes::Markov),
        Self::bimodal("bimodal by process", Modes::ByProcess),
        Self::autoregressive("AR(.7)", 0.7),
        Self::autoregressive("AR(.9)", 0.9),
        Self::autoregressive("AR(.98)", 0.98),
        Self { memory: Memory::Pink, ..Self::lognormal("1/f", 0.03) },
        Self { shape: NoiseDistribution::Pareto, ..Self::lognormal("Pareto outliers", 0.02) },
        Self {
            shape: NoiseDistribution::Exponential,
            ..Self::lognormal("shifted exponential", 0.2)
        },
        Self { drift: 0.03 / 40.0, ..Self::lognormal("drift 3 % over 40 processes", 0.03) },
        Self { walk: 0.003, ..Self::lognormal("random walk of processes", 0.03) },
        Self { bursts: true, ..Self::lognormal("bursts", 0.03) },
        Self { process_sd: 0.005, ..Self::lognormal("process sd .5 %", 0.03) },
        Self { process_sd: 0.01, ..Self::lognormal("process sd 1 %", 0.03) },
        Self { process_sd: 0.02, ..Self::lognormal("process sd 2 %", 0.03) },
        Self { tick_ns: 25.0, ..Self::lognormal("timer of 25 ns", 0.03) },
        Self {
            tick_ns: 25.0,
            process_sd: 0.01,
            ..Self::lognormal("timer of 25 ns, process sd 1 %", 0.01)
        },
        Self {
            process_sd: 0.01,
            bursts: true,
            modes: Modes::Markov,
            ..Self::autoregressive("all together", 0.7)
        },
    ];

    /// Whether the level of the series moves from process to process.
    pub fn moves(&self) -> bool {
        self.drift != 0.0 || self.walk != 0.0
    }
}

/// An endless supply of processes of one kind of noise.
#[derive(Debug, Clone)]
pub struct NoiseSource {
    noise: Noise,
    rng: Rng,
    /// The level of the run, moved by drift and walk.
    run_level: f64,
    /// The levels that processes started from, kept where they move.
    levels: Vec<f64>,
    process_level: f64,
    slow: bool,
    burst: bool,
    /// Whether processes follow each other at once, so that a burst goes on into the next.
    back_to_back: bool,
    octaves: [f64; OCTAVES],
}

impl NoiseSource {
    /// The supply with this seed, at the start of its first process.
    pub fn new(noise: Noise, seed: u64) -> Self {
        let rng = Rng::new(seed);
        let mut source = Self {
            noise,
            rng,
            run_level: 0.0,
            levels: Vec::new(),
            process_level: 0.0,
            slow: false,
            burst: false,
            back_to_back: false,
            octaves: [0.0; OCTAVES],
        };
        source.start_process();
        source
    }

    /// The same if nothing lies between two processes. Otherwise a spawn, a warm-up and other points do, which
    /// outlast a burst.
    pub fn back_to_back(self) -> Self {
        Self { back_to_back: true, ..self }
    }

    /// Ends the present process and starts a fresh one.
    pub fn start_process(&mut self) {
        self.run_level += self.noise.drift + self.noise.walk * self.rng.normal();
        if self.noise.moves() || self.levels.is_empty() {
            self.levels.push(self.run_level);
        }
        self.process_level = self.noise.process_sd * self.rng.normal();
        self.slow = self.noise.modes != Modes::One && self.rng.uniform() < MODE.1;
        // Drawn from their stationary law: from 0 on, the first samples of each process would be too calm.
        self.octaves = std::array::from_fn(|_| self.rng.normal());
        // A spawn and a warm-up outlast a burst: the next process meets another one, or none.
        if !self.back_to_back {
            self.burst = self.rng.uniform() < BURST.1;
        }
    }

    /// The next samples of the present process, in nanoseconds.
    pub fn samples(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.sample()).collect()
    }

    /// A fresh process of `count` samples, in nanoseconds.
    pub fn process(&mut self, count: usize) -> Vec<f64> {
        self.start_process();
        self.samples(count)
    }

    fn sample(&mut self) -> f64 {
        let score = self.score();
        let shaped = match self.noise.shape {
            NoiseDistribution::Lognormal => self.noise.sd * score,
            NoiseDistribution::Pareto => self.noise.sd * score + self.outlier(),
            NoiseDistribution::Exponential => (self.noise.sd * self.rng.exponential()).ln_1p(),
        };
        let disturbed = shaped + self.mode() + self.interference();
        self.read_clock(BASE_NS * (self.run_level + self.process_level + disturbed).exp())
    }

    /// A standard normal score with the memory of the process.
    fn score(&mut self) -> f64 {
        match self.noise.memory {
            Memory::Independent => self.rng.normal(),
            Memory::Autoregressive(rho) => {
                let last = self.octaves[0];
                self.octaves[0] = rho * last + (1.0 - rho * rho).sqrt() * self.rng.normal();
                last
            }
            Memory::Pink => {
                let sum: f64 = self.octaves.iter().sum();
                for (octave, value) in self.octaves.iter_mut().enumerate() {
                    let rho = (-(0.5f64.powi(octave as i32))).exp();
                    *value = rho * *value + (1.0 - rho * rho).sqrt() * self.rng.normal();
                }
                sum / (OCTAVES as f64).sqrt()
            }
        }
    }

    fn outlier(&mut self) -> f64 {
        if self.rng.uniform() < OUTLIERS.0 { self.rng.exponential() / OUTLIERS.1 } else { 0.0 }
    }

    fn mode(&mut self) -> f64 {
        let redraw = match self.noise.modes {
            Modes::One | Modes::ByProcess => false,
            Modes::BySample => true,
            Modes::Markov => self.rng.uniform() > REGIME_MEMORY,
        };
        if redraw {
            self.slow = self.rng.uniform() < MODE.1;
        }
        if self.slow { MODE.0 } else { 0.0 }
    }

    fn interference(&mut self) -> f64 {
        if !self.noise.bursts {
            return 0.0;
        }
        let (size, share, length) = BURST;
        // Entering this often makes bursts take their share of the time.
        let leave = if self.burst { 1.0 / length } else { share / (1.0 - share) / length };
        self.burst ^= self.rng.uniform() < leave;
        if self.burst { size } else { 0.0 }
    }

    fn read_clock(&self, time: f64) -> f64 {
        let tick = self.noise.tick_ns;
        if tick > 0.0 { (time / tick).round() * tick } else { time }
    }

    /// The true `q`-quantile in nanoseconds: over all processes that there could be, or, if the level of the run
    /// moves, over those that there were.
    pub fn truth(&self, q: f64) -> f64 {
        let mut low = -3.0;
        let mut high = 13.0;
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if self.cdf(middle) < q { low = middle } else { high = middle }
        }
        self.read_clock(BASE_NS * (0.5 * (low + high)).exp())
    }

    /// The share of samples below `BASE_NS` times exp(`u`), before the clock rounds.
    fn cdf(&self, u: f64) -> f64 {
        let slow = if self.noise.modes == Modes::One { 0.0 } else { MODE.1 };
        let burst = if self.noise.bursts { BURST.1 } else { 0.0 };
        let parts = [(1.0 - slow, 1.0 - burst, 0.0), (slow, 1.0 - burst, MODE.0)]
            .into_iter()
            .chain([(1.0 - slow, burst, BURST.0), (slow, burst, MODE.0 + BURST.0)])
            .filter(|part| part.0 * part.1 > 0.0);
        let below = |level: &f64| -> f64 {
            parts
                .clone()
                .map(|(mode, calm, shift)| mode * calm * self.shape_cdf(u - level - shift))
                .sum()
        };
        self.levels.iter().map(below).sum::<f64>() / self.levels.len() as f64
    }

    fn shape_cdf(&self, u: f64) -> f64 {
        let sd = self.noise.sd.hypot(self.noise.process_sd);
        let normal = normal_cdf(u / sd);
        match self.noise.shape {
            NoiseDistribution::Lognormal => normal,
            NoiseDistribution::Exponential => 1.0 - (-(u.exp_m1().max(0.0)) / self.noise.sd).exp(),
            NoiseDistribution::Pareto => {
                // Normal plus exponential: the exponentially modified normal.
                let (share, rate) = OUTLIERS;
                let shifted =
                    (rate * (0.5 * rate * sd * sd - u)).exp() * normal_cdf(u / sd - rate * sd);
                (1.0 - share) * normal + share * (normal - shifted)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Noise, NoiseSource};
    use plumb_stats::describe::quantile;

    #[test]
    fn every_noise_has_the_quantiles_that_it_claims() {
        for noise in Noise::ALL {
            let mut source = NoiseSource::new(noise, 7);
            let pool: Vec<f64> = (0..if noise.moves() { 40 } else { 20_000 })
                .flat_map(|_| source.process(if noise.moves() { 5000 } else { 10 }))
                .collect();
            for q in [0.25, 0.5, 0.9] {
                let found = quantile(&pool, q).unwrap();
                let truth = source.truth(q);
                assert!(
                    (found / truth - 1.0).abs() < 0.006,
                    "{} {q}: {found} against {truth}",
                    noise.name
                );
            }
        }
    }

    #[test]
    fn a_seed_repeats() {
        let draw = || NoiseSource::new(Noise::ALL[21], 3).process(5);
        assert_eq!(draw(), draw());
    }
}
