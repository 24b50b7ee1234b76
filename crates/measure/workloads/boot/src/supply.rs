//! Samples that were all there before the workload started.

use std::vec::IntoIter;

use plumb_model::{Better, Metric, Ready};
use plumb_protocol::{Batch, Failure, Instance, StartedWorkload, current_cpu, now_ns};
use plumb_workload_kit::declare::reported;

/// A time in seconds that each sample reports.
pub fn seconds(name: &str, summary: &str) -> Metric {
    reported(name, "s", Better::Lower, summary)
}

/// Hands out rows of values, one as each sample.
struct SupplyOfSamples {
    names: &'static [&'static str],
    rows: IntoIter<Vec<f64>>,
}

/// A workload whose samples are `rows`, each with a value or none per metric, in seconds. Metrics of which no row has a
/// value are left out; a row without one of the others has 0.
pub fn of_rows(
    names: &[&'static str],
    rows: &[Vec<Option<f64>>],
    notes: Vec<String>,
) -> StartedWorkload {
    let is_there = |column: usize| rows.iter().any(|row| row[column].is_some());
    let (there, missing): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|column| is_there(*column));
    let values = rows
        .iter()
        .map(|row| there.iter().map(|column| row[*column].unwrap_or(0.0)).collect::<Vec<f64>>());
    let instance = SupplyOfSamples {
        names: there.iter().map(|column| names[*column]).collect::<Vec<_>>().leak(),
        rows: values.collect::<Vec<_>>().into_iter(),
    };
    let ready = Ready {
        supply: Some(rows.len() as u64),
        without: missing.iter().map(|column| names[*column].to_owned()).collect(),
        notes,
        ..Ready::default()
    };
    StartedWorkload { instance: Box::new(instance), ready }
}

impl Instance for SupplyOfSamples {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The time of a sample is the time in which it was handed out: the boot itself was long ago.
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        for _ in iterations {
            let begun_ns = now_ns();
            let Some(row) = self.rows.next() else {
                return Err(Failure("more samples were asked for than there are boots".to_owned()));
            };
            let took_ns = (now_ns() - begun_ns).max(1);
            batch.record(begun_ns, took_ns, 1, current_cpu());
            batch.record_values(&row);
        }
        Ok(())
    }
}
