//! The checks of a plug-in as a workload: one invocation at its defaults.

use plumb_launch::{
    InvocationSession, KeeperLauncher, LaunchRefusal, Launcher, MOST_OF_SUPPLY, StartSpec,
    ignore_progress, valid_supply, valid_trial,
};
use plumb_model::{
    ClockKind, ClockSource, Description, QuantityKind, Ready, SampleIs, Samples, trials,
};
use plumb_protocol::{SampleReply, now_ns};
use plumb_stats::batch::{self, batch_floor_ns};
use plumb_stats::describe::median;

use crate::check::checklist::{CheckOutcome, Checklist, Numbers};
use crate::check::outcomes::{ended, note};

/// Wanted length of a sample, in nanoseconds: ten times the usual, so that noise hides little.
const SAMPLE_NS: u64 = 10_000_000;
/// From this length on, in nanoseconds, one sample a batch must do.
const LONG_NS: u64 = 500_000_000;
/// Batches that are asked for.
const BATCHES: usize = 3;
/// How many times as long, and as short, a sample may be as calibration said.
const CALIBRATED_WITHIN: u64 = 3;
/// Time of a request beyond that of its samples that needs no explanation, in nanoseconds.
const REQUEST_NS: u64 = 100_000_000;
/// Twice the iterations take about twice as long.
const TWICE: std::ops::RangeInclusive<f64> = 1.6..=2.5;

/// One invocation: start, calibrate, samples, stop.
pub fn check(
    launcher: &mut KeeperLauncher,
    spec: StartSpec<'_>,
    list: &mut Checklist<'_>,
) -> Result<(), LaunchRefusal> {
    let (mut session, ready) = match launcher.start(spec, &mut ignore_progress) {
        Ok(started) => started,
        Err(refusal) => {
            note(list, "start", &refusal)?;
            list.add("sample", CheckOutcome::Skipped, "it did not start");
            return Ok(());
        }
    };
    if spec.planned.description.searched().is_some() {
        return check_trials(session, spec, list);
    }
    let notes = if ready.notes.is_empty() { "ready".into() } else { ready.notes.join("; ") };
    list.add("start", CheckOutcome::Ok, notes);
    let description = &spec.planned.description;
    clock(&ready, list);
    work(&ready, description, list);
    let mut check = WorkloadCheck { session: session.as_mut(), description, ready: &ready, list };
    match check.sample() {
        Ok(()) => ended(list, "stop", session.stop()),
        Err(refusal) => note(list, "sample", &refusal),
    }
}

/// One invocation that is searched: start, a trial at the least load, at more of it and at most of it, stop.
fn check_trials(
    mut session: Box<dyn InvocationSession + '_>,
    spec: StartSpec<'_>,
    list: &mut Checklist<'_>,
) -> Result<(), LaunchRefusal> {
    let Some(goal) = spec.planned.description.searched() else { return Ok(()) };
    let mut seen = Vec::new();
    // Loads span orders of magnitude: the middle is the geometric one.
    for load in [goal.from, (goal.from * goal.to).sqrt(), goal.to] {
        let duration_ns = goal.initial_trial_ns;
        let reply = session.trial(load, duration_ns, &mut ignore_progress);
        let samples = match reply.and_then(|reply| valid_trial(reply, load, duration_ns)) {
            Ok(reply) => reply.samples,
            Err(refusal) => return note(list, "trial", &refusal),
        };
        let trials = trials(&samples.values, &samples.elapsed_ns).unwrap_or_default();
        for trial in trials {
            let lost = plumb_units::percent_to(trial.loss_ratio(), 1);
            let took = list.numbers().seconds(trial.elapsed_ns);
            seen.push(format!("at {load:.0} per second, {lost} lost in {took}"));
        }
    }
    list.add("trial", CheckOutcome::Ok, seen.join(", "));
    ended(list, "stop", session.stop())
}

fn clock(ready: &Ready, list: &mut Checklist<'_>) {
    let verdict = match &ready.clock {
        None => {
            Err("`ready` names no clock: plumb assumes CLOCK_MONOTONIC with unknown resolution"
                .into())
        }
        Some(clock) if clock.resolution_ns == 0 => {
            Err("its resolution_ns is 0; report its smallest step".into())
        }
        Some(clock) => Ok(format!(
            "{}, resolution {} {unit}, {} {unit} per reading",
            clock.id,
            clock.resolution_ns,
            clock.overhead_ns,
            unit = clock.unit
        )),
    };
    list.advise("clock", verdict);
}

fn work(ready: &Ready, description: &Description, list: &mut Checklist<'_>) {
    let verdict = match ready.work.keys().find(|name| description.metric(name).is_none()) {
        Some(name) => {
            Err(format!("`ready` declares the work of `{name}`, which is not a declared metric"))
        }
        None if ready.work.is_empty() => Ok("1 per iteration (the default)".into()),
        None => {
            let each: Vec<String> = ready.work.iter().map(|(k, v)| format!("{k} {v}")).collect();
            Ok(format!("per iteration: {}", each.join(", ")))
        }
    };
    list.judge("work", verdict);
}

/// Whether its times can be compared with plumb's own clock.
fn is_wall(ready: &Ready) -> bool {
    ready.clock.as_ref().is_none_or(|clock| clock.kind == ClockKind::Wall)
}

fn is_monotonic(ready: &Ready) -> bool {
    is_wall(ready) && ready.clock.as_ref().is_none_or(|clock| clock.id == "monotonic")
}

/// The session with what is known of it.
struct WorkloadCheck<'t, 'l> {
    session: &'t mut (dyn InvocationSession + 't),
    description: &'t Description,
    ready: &'t Ready,
    list: &'t mut Checklist<'l>,
}

/// A batch with plumb's own times around it, in nanoseconds.
struct TimedBatch {
    samples: Samples,
    before_ns: u64,
    after_ns: u64,
}

impl WorkloadCheck<'_, '_> {
    fn sample(&mut self) -> Result<(), LaunchRefusal> {
        if let Some(supply) = self.ready.supply {
            return self.supply(supply);
        }
        let numbers = self.list.numbers();
        let process = self.description.sample_is == SampleIs::Process;
        let (k, sample_ns) = if process { (1, 0) } else { self.calibrate()? };
        let count = if process || sample_ns > LONG_NS { 1 } else { 3 };
        let mut batches = Vec::new();
        for _ in 0..BATCHES {
            batches.push(self.batch(&vec![k; count], sample_ns)?);
        }
        if !process {
            self.list.advise("calibrate", calibrated(k, sample_ns, &batches, numbers));
        }
        self.list.add("sample", CheckOutcome::Ok, self.seen(&batches));
        self.list.judge("histograms", histograms(self.description, &batches));
        if is_wall(self.ready) {
            self.list.judge("times", times(&batches, is_monotonic(self.ready), numbers));
        }
        if process {
            return Ok(());
        }
        // Samples of a fixed shape have other iterations than asked: their times say nothing of those.
        let kept = batches.iter().all(|batch| batch.samples.iterations.iter().all(|&n| n == k));
        if is_wall(self.ready) && kept {
            self.list.advise("back-to-back", back_to_back(&batches, numbers));
        }
        match kept {
            true => self.twice(k, sample_ns),
            false => {
                let why = "its samples do not have the requested numbers of iterations";
                self.list.add("twice", CheckOutcome::Skipped, why);
                Ok(())
            }
        }
    }

    /// Takes a supply once: a second time there is nothing left of it.
    fn supply(&mut self, supply: u64) -> Result<(), LaunchRefusal> {
        let counts = valid_supply(self.description, supply);
        self.list.judge("supply", counts.clone().map(|count| format!("{count} samples")));
        let Ok(count) = counts else { return Ok(()) };
        let batch = self.batch(&vec![1; count.min(MOST_OF_SUPPLY)], 0)?;
        let batches = [batch];
        self.list.add("sample", CheckOutcome::Ok, self.seen(&batches));
        self.list.judge("histograms", histograms(self.description, &batches));
        Ok(())
    }

    /// Iterations of a sample, and about how long it takes.
    fn calibrate(&mut self) -> Result<(u64, u64), LaunchRefusal> {
        let target_ns = SAMPLE_NS.max(self.ready.clock.as_ref().map_or(0, floor_ns));
        self.session.calibrate(target_ns, &mut ignore_progress)
    }

    fn batch(&mut self, iterations: &[u64], sample_ns: u64) -> Result<TimedBatch, LaunchRefusal> {
        let before_ns = now_ns();
        let expected_ns = sample_ns.saturating_mul(iterations.len() as u64);
        let SampleReply { samples, .. } =
            self.session.sample(iterations, expected_ns, &mut ignore_progress)?;
        Ok(TimedBatch { samples, before_ns, after_ns: now_ns() })
    }

    /// The median of each metric, for people.
    fn seen(&self, batches: &[TimedBatch]) -> String {
        let count: usize = batches.iter().map(|batch| batch.samples.len()).sum();
        let mut parts = vec![format!("{count} samples")];
        for metric in &self.description.metrics {
            let work = self.ready.work.get(&metric.name).copied().unwrap_or(1.0);
            let mut values: Vec<f64> = Vec::new();
            for batch in batches {
                values.extend(batch.samples.metric(metric, work).into_iter().flatten());
            }
            if let Some(middle) = median(&values) {
                parts.push(format!(
                    "{} {}",
                    metric.name,
                    self.list.numbers().quantity(middle, &metric.unit)
                ));
            }
        }
        parts.join(", ")
    }

    /// Twice the iterations take about twice the time; drift hits both, because they alternate.
    fn twice(&mut self, k: u64, sample_ns: u64) -> Result<(), LaunchRefusal> {
        let pairs = if sample_ns > LONG_NS { 1 } else { 5 };
        let TimedBatch { samples, .. } = self.batch(&[k, 2 * k].repeat(pairs), sample_ns * 2)?;
        let Some(ratio) = ratio(&samples) else { return Ok(()) };
        let verdict = if TWICE.contains(&ratio) {
            Ok(format!("{} iterations take {ratio:.2} times as long as {k}", 2 * k))
        } else {
            Err(format!(
                "{} iterations take {ratio:.2} times as long as {k}: keep all the work inside the iterations, and all set-up outside",
                2 * k
            ))
        };
        self.list.advise("twice", verdict);
        Ok(())
    }
}

fn floor_ns(clock: &ClockSource) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a clock's step")]
    let clock = batch::ClockCost {
        resolution_ns: clock.resolution_ns as f64,
        overhead_ns: clock.overhead_ns as f64,
    };
    batch_floor_ns(clock)
}

/// Samples of the calibrated length are about as long as it said.
fn calibrated(
    k: u64,
    said_ns: u64,
    batches: &[TimedBatch],
    numbers: Numbers,
) -> Result<String, String> {
    let mut lengths: Vec<u64> =
        batches.iter().flat_map(|batch| batch.samples.elapsed_ns.iter().copied()).collect();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let seen = format!("{k} iterations take {}", numbers.seconds(middle));
    let allowed = said_ns / CALIBRATED_WITHIN..=said_ns.saturating_mul(CALIBRATED_WITHIN);
    if allowed.contains(&middle) {
        return Ok(seen);
    }
    let said = numbers.seconds(said_ns);
    Err(format!("{seen}, but it reported {said}: plumb will take too many samples, or too few"))
}

/// Metrics of the kind histogram come as histograms.
fn histograms(description: &Description, batches: &[TimedBatch]) -> Result<String, String> {
    let mut metrics =
        description.metrics.iter().filter(|m| m.kind == QuantityKind::Histogram).peekable();
    if metrics.peek().is_none() {
        return Ok("none declared".into());
    }
    let missing = metrics.find(|metric| {
        batches.iter().any(|batch| !batch.samples.histograms.contains_key(&metric.name))
    });
    match missing {
        Some(metric) => {
            Err(format!("`{}` is declared as a histogram, but `histograms` lacks it", metric.name))
        }
        None => Ok("as declared".into()),
    }
}

/// Times of samples lie within the request that asked for them.
fn times(batches: &[TimedBatch], monotonic: bool, numbers: Numbers) -> Result<String, String> {
    for TimedBatch { samples, before_ns, after_ns } in batches {
        let together = together(samples);
        let request = after_ns - before_ns;
        if together > request {
            return Err(format!(
                "its samples last {} in total, but the whole request took {}; elapsed_ns must be in nanoseconds",
                numbers.seconds(together),
                numbers.seconds(request)
            ));
        }
        let request_ns = *before_ns..=*after_ns;
        // A clock of the workload's own can't be compared with plumb's.
        let outside = samples.start_ns.iter().find(|start| !request_ns.contains(start));
        if let Some(start) = outside.filter(|_| monotonic) {
            return Err(format!(
                "a start_ns is {start}, but the request lasted from {before_ns} to {after_ns}: use \
                 CLOCK_MONOTONIC, or name another clock in `ready`"
            ));
        }
    }
    Ok("within their requests".into())
}

fn together(samples: &Samples) -> u64 {
    samples.elapsed_ns.iter().sum()
}

fn back_to_back(batches: &[TimedBatch], numbers: Numbers) -> Result<String, String> {
    let samples: u64 = batches.iter().map(|batch| together(&batch.samples)).sum();
    let requests: u64 = batches.iter().map(|batch| batch.after_ns - batch.before_ns).sum();
    if requests > samples * 3 + REQUEST_NS {
        return Err(format!(
            "the requests took {}, their samples only {}: move unmeasured work to `start`",
            numbers.seconds(requests),
            numbers.seconds(samples)
        ));
    }
    Ok(format!("samples took {}, requests {}", numbers.seconds(samples), numbers.seconds(requests)))
}

/// Time of every second sample over that of the one before it: the median.
fn ratio(samples: &Samples) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    let ratios: Vec<f64> =
        samples.elapsed_ns.chunks_exact(2).map(|pair| pair[1] as f64 / pair[0] as f64).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::{Numbers, TimedBatch, back_to_back, ratio, times};
    use plumb_model::Samples;

    fn numbers() -> Numbers {
        Numbers::new(|value, unit| format!("{value} {unit}"))
    }

    fn timed(start_ns: u64, elapsed_ns: &[u64]) -> TimedBatch {
        let n = elapsed_ns.len();
        let samples = Samples {
            start_ns: vec![start_ns; n],
            elapsed_ns: elapsed_ns.to_vec(),
            iterations: vec![1; n],
            cpu: vec![-1; n],
            ..Samples::default()
        };
        TimedBatch { samples, before_ns: 1000, after_ns: 2_001_000 }
    }

    #[test]
    fn times_that_do_not_fit_into_their_request_are_found() {
        assert!(times(&[timed(1500, &[900_000, 900_000])], true, numbers()).is_ok());
        assert!(times(&[timed(1500, &[2_000_000, 900_000])], true, numbers()).is_err());
        assert!(times(&[timed(5, &[900_000])], true, numbers()).is_err());
        assert!(times(&[timed(5, &[900_000])], false, numbers()).is_ok());
    }

    #[test]
    fn a_batch_with_gaps_is_noted() {
        assert!(back_to_back(&[timed(1500, &[900_000, 900_000])], numbers()).is_ok());
        let mut gaps = timed(1500, &[900_000, 900_000]);
        gaps.after_ns = 900_000_000;
        assert!(back_to_back(&[gaps], numbers()).is_err());
    }

    #[test]
    fn the_ratio_is_of_pairs() {
        let samples = timed(1, &[100, 210, 100, 190, 100, 200]).samples;
        assert_eq!(ratio(&samples), Some(2.0));
    }
}
