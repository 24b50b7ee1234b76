//! The processes of a tool, one a sample, and the figure in what each prints.

use plumb_classics::ImportedSeries;
use plumb_model::Flag;
use plumb_protocol::{Batch, Failure, Instance};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::spawn::{OutputPipe, SpawnedProgram, VALUES_OF_TOOLS, describe_end};

use crate::named::ToolNames;

/// A tool with its arguments.
pub(crate) struct ToolRun {
    pub program: SpawnedProgram,
    pub output: OutputPipe,
    pub named: ToolNames,
    pub version: String,
    /// Whether a test in the output is the one that was asked for.
    pub is_asked: Box<dyn Fn(&ImportedSeries) -> bool>,
    /// The factor for the figure that it prints.
    pub times: f64,
    /// Which of its passes do not count; None if all do.
    pub settling: Option<Settling>,
    /// The CPUs of this thread before it was kept to one.
    pub before: CpuSet,
    /// The folder of a program that was built.
    pub _folder: Option<Folder>,
}

/// The longest time in which passes may not count, in nanoseconds.
pub(crate) const MOST_SETTLING_NS: usize = 60_000_000_000;

/// A time at the beginning of a process, whose passes do not count: plumb's own workloads leave it out, too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settling {
    seconds: f64,
    bytes_per_pass: f64,
}

impl Settling {
    /// Of passes that move so many bytes each; None if the time is 0.
    #[expect(clippy::cast_precision_loss, reason = "times and sizes stay far below 2^53")]
    pub(crate) fn of(settle_ns: u64, bytes_per_pass: u64) -> Option<Self> {
        (settle_ns > 0).then_some(Self {
            seconds: settle_ns as f64 * 1e-9,
            bytes_per_pass: bytes_per_pass as f64,
        })
    }

    /// The rates of the passes that begin after it, in bytes per second.
    fn steady(self, rates: &[f64]) -> &[f64] {
        let mut began_s = 0.0;
        let early = rates.iter().take_while(|rate| {
            let counts_not = began_s < self.seconds;
            began_s += self.bytes_per_pass / **rate;
            counts_not
        });
        &rates[early.count()..]
    }
}

impl ToolRun {
    fn once(&mut self, batch: Option<&mut Batch>) -> Result<(), Failure> {
        let ended = self.program.run()?;
        let text = self.output.take()?;
        let name = self.named.program;
        if !ended.status.success() {
            let how = describe_end(ended.status);
            let last = last_line(&text);
            return Err(Failure(format!("{name} failed: {how}; its last line: {last}")));
        }
        let (figure, flags) = self.figure(&text)?;
        if let Some(batch) = batch {
            ended.record(batch, VALUES_OF_TOOLS);
            batch.record_values(&[figure * self.times]);
            flags.into_iter().for_each(|flag| batch.flag(flag));
        }
        Ok(())
    }

    /// The median of the tool's passes, if it has several; and reasons to distrust it.
    fn figure(&self, text: &str) -> Result<(f64, Vec<Flag>), Failure> {
        let name = self.named.program;
        let Some(format) = self.named.format else {
            return alone(text).map(|figure| (figure, Vec::new()));
        };
        let file =
            plumb_classics::read(text, Some(format), Some(&self.version)).map_err(|error| {
                Failure(format!(
                    "{name} printed no result: {error}; its last line: {}",
                    last_line(text)
                ))
            })?;
        let metric = self.named.prints;
        let series = file.imports.iter().flat_map(|import| &import.series);
        let invocation = series
            .filter(|series| (self.is_asked)(series))
            .find_map(|series| series.invocations.last());
        let failed = invocation.and_then(|invocation| invocation.failed.as_ref());
        if let Some(why) = failed {
            return Err(Failure(format!("{name}: {why}")));
        }
        let printed =
            invocation.and_then(|invocation| Some((invocation, invocation.values.get(metric)?)));
        let Some((invocation, passes)) = printed else {
            return Err(Failure(format!("{name} printed no {metric} for the requested test")));
        };
        let counted = self.settling.map_or(&passes[..], |settling| settling.steady(passes));
        let figure = median(counted).ok_or_else(|| {
            Failure(format!(
                "all {} passes of {name} began within `settle`; set more `passes`",
                passes.len()
            ))
        })?;
        // A file may report that nothing moved; a run that compares plumb with a tool has no use for it.
        if figure <= 0.0 {
            return Err(Failure(format!("{name} printed a {metric} of {figure}")));
        }
        Ok((figure, invocation.flags.clone()))
    }
}

/// The number that is all of the output, its line ended.
fn alone(text: &str) -> Result<f64, Failure> {
    let number = text.strip_suffix('\n').and_then(|line| line.parse().ok());
    number.filter(|figure: &f64| figure.is_finite() && *figure > 0.0).ok_or_else(|| {
        Failure(format!("no number was printed; the last line: {}", last_line(text)))
    })
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        Some(*upper)
    } else {
        Some(f64::midpoint(sorted[middle - 1], *upper))
    }
}

fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing")
}

impl Instance for ToolRun {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once(None)
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.named.values
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.program.rehearse();
        iterations.iter().try_for_each(|_| self.once(Some(&mut *batch)))
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

impl Drop for ToolRun {
    fn drop(&mut self) {
        // It was this thread's set before.
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use super::{Settling, median};

    #[test]
    fn passes_that_begin_while_the_process_settles_do_not_count() {
        // Passes of a gigabyte: three of 50 ms at half the speed, then seven of 25 ms.
        let mut rates = vec![20e9; 3];
        rates.extend([40e9; 7]);
        let settling = Settling::of(100_000_000, 1_000_000_000).unwrap();
        assert_eq!(settling.steady(&rates), &rates[2..]);
        assert_eq!(median(settling.steady(&rates[..6])), Some(40e9));
        assert_eq!(median(settling.steady(&rates[..2])), None, "all of them began too early");
        assert_eq!(Settling::of(0, 1_000_000_000), None);
    }
}
