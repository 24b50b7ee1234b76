//! `cpu.whetstone`: the synthetic benchmark of Curnow and Wichmann ("A synthetic benchmark", The Computer
//! Journal 19(1), 1976), from its ALGOL 60 definition.
//!
//! Its modules imitate how often scientific ALGOL programs of 1970 executed each instruction of an
//! imagined machine. One pass has the weights of I = 10: a million Whetstone instructions. Procedures are
//! not inlined, because calls are part of what it counts, and what a module needs lives in a struct, where
//! the compiler can't see that nothing changes.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `cpu.whetstone`: its parameters and metrics, and how it starts.
pub(super) struct Whetstone;

/// Whetstone instructions of one pass.
const INSTRUCTIONS: u64 = 1_000_000;

impl Workload for Whetstone {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![declare::threads("threads, each running all modules"), placement()],
            metrics: vec![
                declare::rate(
                    "rate",
                    "WIPS",
                    "Whetstone instructions per second, all threads together (MWIPS × 1000000)",
                ),
                declare::time(
                    "time",
                    "wall time of one pass of a million Whetstone instructions on each \
                                       thread",
                ),
            ],
            audit_class: Some(AuditClass::Cpu),
            // Since 2 the loop is compiled by itself: 5 % less time.
            version: 2,
            ..declare::workload(
                "cpu.whetstone",
                "legacy: Whetstone, floating point as in ALGOL programs of 1970",
            )
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("whetstone.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, |_| Ok(Modules::new()))?;
        let work = declare::work(&[("rate", INSTRUCTIONS * threads as u64)]);
        let mut ready = Ready { work, ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// What each module leaves for I = 10, in their order, as the C translation of R. Painter (1998) prints it
/// in double precision, with five digits.
const PUBLISHED: [[f64; 4]; 8] = [
    [-6.8342e-2, -4.6264e-1, -7.2972e-1, -1.1240],
    [-5.5336e-2, -4.4744e-1, -7.1097e-1, -1.1031],
    [1.0, 1.0, 1.0, 1.0],
    [6.0, 6.0, -7.1097e-1, -1.1031],
    [4.9041e-1, 4.9041e-1, 4.9039e-1, 4.9039e-1],
    [1.0, 1.0, 9.9994e-1, 9.9994e-1],
    [3.0, 2.0, 3.0, -1.1031],
    [8.3467e-1, 8.3467e-1, 8.3467e-1, 8.3467e-1],
];

/// Half a unit of the last of five digits, of a number that begins with 1.
const TOLERANCE: f64 = 5.01e-5;

/// Names of the modules, with the numbers that they have in the paper.
const NAMES: [&str; 8] = [
    "2, array elements",
    "3, array as parameter",
    "4, conditional jumps",
    "6, integer arithmetic",
    "7, trigonometric functions",
    "8, procedure calls",
    "9, array references",
    "11, standard functions",
];

/// What the modules of the program share.
struct Modules {
    /// T, T1 and T2: near a half, near a half, and two.
    t: [f64; 3],
    e1: [f64; 4],
    j: usize,
    k: usize,
    l: usize,
    z: f64,
    results: [[f64; 4]; 8],
}

impl Modules {
    fn new() -> Self {
        let t = [0.499_975, 0.500_25, 2.0];
        Self { t, e1: [0.0; 4], j: 0, k: 0, l: 0, z: 0.0, results: [[0.0; 4]; 8] }
    }

    /// One pass through all modules that have a weight.
    fn pass(&mut self) {
        let i = black_box(10);
        self.t = black_box(self.t);
        self.array_elements(12 * i);
        self.results[0] = self.e1;
        for _ in 0..14 * i {
            mix(&mut self.e1, self.t[0], self.t[2]);
        }
        self.results[1] = self.e1;
        #[expect(clippy::cast_precision_loss, reason = "it is 0 or 1")]
        self.results[2].fill(conditional_jumps(345 * i) as f64);
        self.integer_arithmetic(210 * i);
        self.results[3] = self.e1;
        let (x, y) = self.trigonometric_functions(32 * i);
        self.results[4] = [x, x, y, y];
        for _ in 0..899 * i {
            self.call(1.0, 1.0);
        }
        self.results[5] = [1.0, 1.0, self.z, self.z];
        self.array_references(616 * i);
        self.results[6] = self.e1;
        self.results[7] = [self.standard_functions(93 * i); 4];
    }

    fn array_elements(&mut self, times: u32) {
        let t = self.t[0];
        self.e1 = [1.0, -1.0, -1.0, -1.0];
        let e1 = &mut self.e1;
        for _ in 0..times {
            e1[0] = (e1[0] + e1[1] + e1[2] - e1[3]) * t;
            e1[1] = (e1[0] + e1[1] - e1[2] + e1[3]) * t;
            e1[2] = (e1[0] - e1[1] + e1[2] + e1[3]) * t;
            e1[3] = (-e1[0] + e1[1] + e1[2] + e1[3]) * t;
        }
    }

    /// J, K and L stay 1, 2 and 3.
    fn integer_arithmetic(&mut self, times: u32) {
        let [mut j, mut k, mut l] = black_box([1_i64, 2, 3]);
        for _ in 0..times {
            j = j * (k - j) * (l - k);
            k = l * k - (l - j) * k;
            l = (l - k) * (k + j);
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small positive numbers; a wrong one fails the check of the results"
            )]
            {
                self.e1[(l - 2) as usize & 3] = (j + k + l) as f64;
                self.e1[(k - 2) as usize & 3] = (j * k * l) as f64;
            }
        }
    }

    fn trigonometric_functions(&self, times: u32) -> (f64, f64) {
        let [t, _, t2] = self.t;
        let mut x = 0.5_f64;
        let mut y = 0.5_f64;
        for _ in 0..times {
            let below = |x: f64, y: f64| (x + y).cos() + (x - y).cos() - 1.0;
            x = t * (t2 * x.sin() * x.cos() / below(x, y)).atan();
            y = t * (t2 * y.sin() * y.cos() / below(x, y)).atan();
        }
        (x, y)
    }

    /// Procedure P3 of the published program, for the cost of calls.
    #[inline(never)]
    fn call(&mut self, x: f64, y: f64) {
        let x = self.t[0] * (x + y);
        let y = self.t[0] * (x + y);
        self.z = (x + y) / self.t[2];
    }

    fn array_references(&mut self, times: u32) {
        [self.j, self.k, self.l] = [0, 1, 2];
        self.e1[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
        for _ in 0..times {
            self.rotate();
        }
    }

    /// Procedure P0 of the published program: assignments between array elements.
    #[inline(never)]
    fn rotate(&mut self) {
        self.e1[self.j] = self.e1[self.k];
        self.e1[self.k] = self.e1[self.l];
        self.e1[self.l] = self.e1[self.j];
    }

    fn standard_functions(&self, times: u32) -> f64 {
        (0..times).fold(0.75, |x: f64, _| (x.ln() / self.t[1]).exp().sqrt())
    }

    fn check(&self) -> Result<(), Failure> {
        for ((results, published), name) in self.results.iter().zip(&PUBLISHED).zip(NAMES) {
            let mut pairs = results.iter().zip(published);
            if !pairs.all(|(result, published)| is_near(*result, *published)) {
                return Err(Failure(format!(
                    "cpu.whetstone: module {name} computed {results:.5?}; the published result is {published:?}"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a result is the published one, of which only five digits are known.
fn is_near(result: f64, published: f64) -> bool {
    (result - published).abs() < TOLERANCE * published.abs()
}

/// Procedure PA of the published program: arithmetic on an array that it is given.
#[inline(never)]
fn mix(e: &mut [f64; 4], t: f64, t2: f64) {
    for _ in 0..6 {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / t2;
    }
}

fn conditional_jumps(times: u32) -> i64 {
    let mut j = black_box(1_i64);
    for _ in 0..times {
        j = if j == 1 { 2 } else { 3 };
        j = i64::from(j <= 2);
        j = i64::from(j < 1);
    }
    j
}

impl Member for Modules {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.pass();
            black_box(&self.results);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Modules};

    #[test]
    fn every_module_comes_to_what_was_published() {
        let mut modules = Modules::new();
        for _ in 0..3 {
            modules.run(1).unwrap();
            modules.verify().unwrap();
        }
    }

    #[test]
    fn a_wrong_module_is_named() {
        let mut modules = Modules::new();
        assert!(modules.verify().unwrap_err().0.contains("module 2"), "nothing was done yet");
        modules.t[1] = 0.51;
        modules.run(1).unwrap();
        let why = modules.verify().unwrap_err().0;
        assert!(why.contains("module 11, standard functions computed [1.0"), "{why}");
    }
}
