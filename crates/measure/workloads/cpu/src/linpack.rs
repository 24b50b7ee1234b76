//! `cpu.linpack`: a dense system of linear equations, solved as LINPACK's dgefa and dgesl do it.
//!
//! Columns lie one after the other, the pivot is the largest of its column, and all work is done by adding
//! multiples of one column to another: the algorithm of 1979, which does without blocks and so without
//! what caches have to offer. Matrix and residual are those of Dongarra's benchmark.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `cpu.linpack`: its parameters and metrics, and how it starts.
pub(super) struct Linpack;

/// Smallest and largest number of equations.
const ORDERS: std::ops::RangeInclusive<u64> = 10..=20_000;

/// A normalised residual below this is right: the bound of the High-Performance Linpack. Right solutions
/// lie around 1.
const LARGEST_RESIDUAL: f64 = 16.0;

impl Workload for Linpack {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::integer("order", "equations", 100, "number of equations and unknowns"),
                declare::threads("threads, each solving a separate system"),
                placement(),
            ],
            metrics: vec![
                declare::rate(
                    "rate",
                    "FLOP/s",
                    "floating-point operations per second, 2/3 n³ + 2 n² per \
                system, all threads together",
                ),
                declare::time("time", "wall time to solve one system of equations on each thread"),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload(
                "cpu.linpack",
                "legacy: LINPACK, linear equations by Gaussian elimination",
            )
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("linpack.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let order = order(start)?;
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, move |_| Ok(Solver::new(order)))?;
        let mut ready = Ready::default();
        #[expect(clippy::cast_precision_loss, reason = "numbers of threads are small")]
        ready.work.insert("rate".into(), operations(order) * threads as f64);
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

fn order(start: &Start) -> Result<usize, StartError> {
    let order = start.integer("order");
    if !ORDERS.contains(&order) {
        return Err(StartError::unsupported(
            format!("{order} equations are outside the range of this workload"),
            format!("set `order` between {} and {}", ORDERS.start(), ORDERS.end()),
        ));
    }
    let needed = 2 * 8 * order * order * start.integer("threads").max(1);
    let memory = start.facts.memory_bytes;
    if memory > 0 && needed > memory / 4 * 3 {
        return Err(StartError::unsupported(
            format!(
                "the matrices need {needed} bytes, more than three quarters of the {memory} bytes that plumb may use"
            ),
            "set a smaller `order` or fewer `threads`",
        ));
    }
    Ok(start.size("order"))
}

/// Floating-point operations that a system counts for.
#[expect(clippy::cast_precision_loss, reason = "the order is at most 20000")]
fn operations(order: usize) -> f64 {
    let n = order as f64;
    2.0 / 3.0 * n * n * n + 2.0 * n * n
}

/// One thread's system.
struct Solver {
    order: usize,
    system: Vec<f64>,
    /// Sums of the rows, so that every unknown is 1.
    right: Vec<f64>,
    /// Where the system is solved: first the matrix, then its factors.
    matrix: Vec<f64>,
    /// First the right side, then the solution.
    solution: Vec<f64>,
    pivots: Vec<usize>,
}

impl Solver {
    fn new(order: usize) -> Self {
        let system = generate(order);
        let mut right = vec![0.0; order];
        for column in system.chunks_exact(order) {
            right.iter_mut().zip(column).for_each(|(sum, element)| *sum += element);
        }
        Self {
            order,
            matrix: system.clone(),
            solution: right.clone(),
            system,
            right,
            pivots: vec![0; order],
        }
    }

    fn solve(&mut self) -> Result<(), Failure> {
        self.matrix.copy_from_slice(&self.system);
        self.solution.copy_from_slice(&self.right);
        factor(black_box(&mut self.matrix), self.order, &mut self.pivots)?;
        substitute(&self.matrix, self.order, &self.pivots, &mut self.solution);
        black_box(&mut self.solution);
        Ok(())
    }

    /// The largest error in an equation; not a number when there is none.
    fn largest_error(&self) -> f64 {
        let mut errors: Vec<f64> = self.right.iter().map(|right| -right).collect();
        for (column, &x) in self.system.chunks_exact(self.order).zip(&self.solution) {
            add_multiple(x, column, &mut errors);
        }
        // `f64::max` leaves out what is not a number, so that has to be looked for.
        if errors.iter().any(|error| error.is_nan()) { f64::NAN } else { largest(&errors) }
    }

    /// The largest error over what rounding explains.
    #[expect(clippy::cast_precision_loss, reason = "the order is at most 20000")]
    fn residual(&self) -> f64 {
        let norms = largest(&self.system) * largest(&self.solution);
        self.largest_error() / (self.order as f64 * norms * f64::EPSILON)
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

/// The matrix of Dongarra's benchmark, column by column: a multiplicative generator from 1325, scaled to
/// -2 to 2.
fn generate(order: usize) -> Vec<f64> {
    let mut state = 1325_u32;
    let mut matrix = Vec::with_capacity(order * order);
    for _ in 0..order * order {
        // The state stays below 2^16, so the product fits in 32 bits.
        state = 3125 * state % 65_536;
        matrix.push((f64::from(state) - 32_768.0) / 16_384.0);
    }
    matrix
}

/// dgefa: factors, negated, take the place of the matrix; `pivots` says which row went up in each step.
fn factor(matrix: &mut [f64], order: usize, pivots: &mut [usize]) -> Result<(), Failure> {
    for step in 0..order {
        let (done, rest) = matrix.split_at_mut((step + 1) * order);
        let column = &mut done[step * order..];
        let pivot = step + position_of_largest(&column[step..]);
        pivots[step] = pivot;
        if column[pivot] == 0.0 {
            return Err(Failure(format!("cpu.linpack: column {step} has no pivot")));
        }
        column.swap(pivot, step);
        let factor = -1.0 / column[step];
        let below = &mut column[step + 1..];
        below.iter_mut().for_each(|element| *element *= factor);
        // Column by column, as dgefa works: the elements of a column lie next to each other in memory.
        for other in rest.chunks_exact_mut(order) {
            other.swap(pivot, step);
            add_multiple(other[step], below, &mut other[step + 1..]);
        }
    }
    Ok(())
}

fn position_of_largest(values: &[f64]) -> usize {
    let mut found = (0, values[0].abs());
    for (position, value) in values.iter().enumerate().skip(1) {
        if value.abs() > found.1 {
            found = (position, value.abs());
        }
    }
    found.0
}

/// dgesl: the right side goes through the factors, and becomes the solution.
fn substitute(factors: &[f64], order: usize, pivots: &[usize], right: &mut [f64]) {
    for (step, column) in factors.chunks_exact(order).enumerate() {
        right.swap(pivots[step], step);
        let (known, rest) = right.split_at_mut(step + 1);
        add_multiple(known[step], &column[step + 1..], rest);
    }
    for (step, column) in factors.chunks_exact(order).enumerate().rev() {
        let (rest, known) = right.split_at_mut(step);
        known[0] /= column[step];
        add_multiple(-known[0], &column[..step], rest);
    }
}

/// daxpy: to += factor × from.
#[inline]
fn add_multiple(factor: f64, from: &[f64], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

impl Member for Solver {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (0..iterations).try_for_each(|_| self.solve())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let residual = self.residual();
        if residual < LARGEST_RESIDUAL {
            return Ok(());
        }
        Err(Failure(format!(
            "cpu.linpack: normalised residual {residual:.2} of {} equations; it must be below {LARGEST_RESIDUAL}",
            self.order
        )))
    }

    fn checks_computation(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Solver, operations};

    /// What Dongarra's program prints as resid, x[0]-1 and x[n-1]-1 for 100 equations, on IEEE machines
    /// without fused operations.
    #[test]
    fn residual_and_solution_are_the_published_ones() {
        let mut solver = Solver::new(100);
        solver.run(2).unwrap();
        assert_eq!(format!("{:.8e}", solver.largest_error()), "7.41628980e-14");
        assert_eq!(format!("{:.8e}", solver.solution[0] - 1.0), "-1.49880108e-14");
        assert_eq!(format!("{:.8e}", solver.solution[99] - 1.0), "-1.89848137e-14");
        assert!((1.6..1.7).contains(&solver.residual()), "{}", solver.residual());
        assert!((operations(100) - 686_666.7).abs() < 0.1);
    }

    #[test]
    fn systems_of_every_size_are_solved_again_and_again() {
        for order in [10, 11, 97, 300] {
            let mut solver = Solver::new(order);
            for _ in 0..3 {
                solver.run(1).unwrap();
                solver.verify().unwrap();
            }
        }
    }

    #[test]
    fn a_wrong_solution_and_none_are_found() {
        let mut solver = Solver::new(50);
        solver.run(1).unwrap();
        for wrong in [1.0 + 1e-9, f64::NAN] {
            solver.solution[17] = wrong;
            assert!(solver.verify().unwrap_err().0.contains("normalised residual"));
        }
        solver.system.fill(0.0);
        assert!(solver.run(1).unwrap_err().0.contains("no pivot"));
    }
}
